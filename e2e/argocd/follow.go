package argocd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
)

// Result is how a sync ended.
type Result string

const (
	// Synced: the sync succeeded, and then everything became healthy.
	Synced Result = "synced"
	// Failed: Argo CD gave up the sync.
	Failed Result = "failed"
	// Hangs: nothing changed any more.
	Hangs Result = "hangs"
	// Unhealthy: the sync succeeded, but something did not become healthy, or
	// is still out of sync.
	Unhealthy Result = "unhealthy"
)

// Outcome is how a sync ended, and what Argo CD reported then.
type Outcome struct {
	Result   Result
	Status   Status
	Duration time.Duration
	// Errors are those of all attempts, each once, in the order in which they occurred.
	Errors []string
}

// Attempts is how often Argo CD tried.
func (o Outcome) Attempts() int {
	if o.Status.OperationState == nil {
		return 1
	}
	return 1 + o.Status.OperationState.RetryCount
}

// Raced reports whether the only problem was that Argo CD continued a moment too early:
// a webhook did not respond although its Deployment was available, because kube-proxy did
// not route to its Pods yet, or the API server did not list a kind although its CRD was
// established. This can happen in any order in which a custom resource comes next, more
// often on a busy machine, and no order prevents it.
func (o Outcome) Raced() bool {
	return len(o.Errors) > 0 && !slices.ContainsFunc(o.Errors, func(text string) bool {
		webhook := strings.Contains(text, "failed calling webhook") && strings.Contains(text, "connection refused")
		discovery := strings.Contains(text, "no matches for kind")
		return !webhook && !discovery
	})
}

// note records what has gone wrong so far.
func (o *Outcome) note(op *Operation) {
	if op == nil {
		return
	}
	for _, task := range op.SyncResult.Resources {
		if task.failed() {
			if text := fmt.Sprintf("%s/%s: %s", task.Kind, task.Name, task.Message); !slices.Contains(o.Errors, text) {
				o.Errors = append(o.Errors, text)
			}
		}
	}
}

// Follow waits for the end of a sync that was started at or after since, and
// then for the Application to be healthy and in sync. A sync hangs when nothing
// of what Argo CD says of it, and nothing of what moving returns, has changed
// for as long as patience.
func (a *ArgoCD) Follow(ctx context.Context, name string, since time.Time, patience time.Duration, moving func() string) (Outcome, error) {
	var out Outcome
	last, changed := "", time.Now()
	err := poll(ctx, func() (bool, error) {
		s, err := a.Status(ctx, name)
		if err != nil && !errors.IsNotFound(err) { // somebody else may be to make it
			return false, err
		}
		out.Status = s
		op := s.OperationState
		// Argo CD counts seconds.
		started := op != nil && !op.StartedAt.Before(since.Truncate(time.Second))
		if started {
			out.note(op)
		}
		if started && !op.Running() {
			out.Duration = op.FinishedAt.Sub(op.StartedAt)
			switch {
			case op.Phase != "Succeeded":
				out.Result = Failed
				return true, nil
			case s.Health.Status == "Healthy" && s.Sync.Status == "Synced":
				out.Result = Synced
				return true, nil
			}
		}
		now := s.Describe() + moving()
		if now != last {
			last, changed = now, time.Now()
		}
		if time.Since(changed) < patience {
			return false, nil
		}
		out.Result, out.Duration = Hangs, time.Since(since)
		if started && !op.Running() {
			out.Result = Unhealthy
		}
		return true, nil
	})
	return out, err
}

// Explain states why a sync ended as it did: what Argo CD reports, what waits in the
// cluster, and where to find more.
func (a *ArgoCD) Explain(out Outcome, waiting string) string {
	var b strings.Builder
	b.WriteString(out.Status.Describe())
	if waiting != "" {
		fmt.Fprintf(&b, "what waits in the cluster:\n%s\n", waiting)
	}
	b.WriteString("logs:")
	for _, p := range a.procs {
		fmt.Fprintf(&b, " %s", p.Log)
	}
	return b.String()
}
