package argocd

import (
	"slices"
	"strings"
)

// attempts are the failed attempts of a sync, in order.
type attempts []attempt

type attempt struct {
	number  int      // from 1
	faults  []string // sorted
	applied bool     // whether it changed anything in the cluster
}

// note records an attempt that has failed and will be retried, once.
func (a *attempts) note(op *Operation) {
	if !op.Waiting() || len(*a) > 0 && (*a)[len(*a)-1].number == op.RetryCount {
		return
	}
	*a = append(*a, attempt{op.RetryCount, slices.Sorted(slices.Values(op.faults())), op.applied()})
}

// repeat reports whether the last two attempts failed with the same errors and applied
// nothing. The next one would find the same manifests and the same cluster. A single
// attempt does not show that: the API server may list a kind late.
func (a attempts) repeat() bool {
	if len(a) < 2 {
		return false
	}
	x, y := a[len(a)-2], a[len(a)-1]
	return x.number+1 == y.number && !x.applied && !y.applied && len(y.faults) > 0 && slices.Equal(x.faults, y.faults)
}

// faults are the errors of an attempt, each once.
func (o *Operation) faults() []string {
	if o == nil {
		return nil
	}
	var all []string
	for _, task := range o.SyncResult.Resources {
		if text := task.Kind + "/" + task.Name + ": " + task.Message; task.failed() && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// applied reports whether an attempt changed anything. Argo CD lists an object without an
// error once it has applied it, not in the dry run before.
func (o *Operation) applied() bool {
	return slices.ContainsFunc(o.SyncResult.Resources, func(t Task) bool { return t.Status != "SyncFailed" })
}

// failedJob names a Job that is not a hook and has failed. Its Pods are not started again,
// and after a sync nothing replaces it.
func (s Status) failedJob() string {
	for _, r := range s.Resources {
		if r.Group == "batch" && r.Kind == "Job" && !r.Hook && r.Health != nil && r.Health.Status == "Degraded" {
			return strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
		}
	}
	return ""
}
