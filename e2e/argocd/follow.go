package argocd

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Certain is why the result was certain before Argo CD gave up, if it was.
	Certain string
}

// Attempts is how often Argo CD tried.
func (o Outcome) Attempts() int {
	op := o.Status.OperationState
	switch {
	case op == nil:
		return 1
	case op.Waiting(): // it has counted the next one
		return op.RetryCount
	}
	return 1 + op.RetryCount
}

// Raced reports whether all errors are of [Race].
func (o Outcome) Raced() bool {
	return len(o.Errors) > 0 && !slices.ContainsFunc(o.Errors, func(text string) bool { return !Race(text) })
}

// Race reports whether an error only shows that Argo CD continued a moment too early: a
// webhook did not respond although its Deployment was available, because kube-proxy did not
// route to its Pods yet, or the API server did not list a kind although its CRD was
// established. This can happen in any order in which a custom resource comes next, more
// often on a busy machine, and no order prevents it.
func Race(text string) bool {
	webhook := strings.Contains(text, "failed calling webhook") && strings.Contains(text, "connection refused")
	return webhook || strings.Contains(text, "no matches for kind")
}

var noMatch = regexp.MustCompile(`no matches for kind "(\w+)" in version "([^"/]+)/`)

// Overlooked reports whether a sync failed only because the API server did not list kinds
// whose definitions had been established for a second or more: the part of [Outcome.Raced]
// that the order is certainly not to blame for.
func (o Outcome) Overlooked(definitions []*unstructured.Unstructured) bool {
	established := map[schema.GroupKind]bool{}
	for _, d := range definitions {
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
		for _, c := range conditions {
			c, _ := c.(map[string]any)
			since, err := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"]))
			if c["type"] == "Established" && c["status"] == "True" && err == nil {
				// Both times are in seconds.
				established[schema.GroupKind{Group: group, Kind: kind}] = o.Status.OperationState.FinishedAt.Sub(since) > time.Second
			}
		}
	}
	for _, text := range o.Errors {
		m := noMatch.FindStringSubmatch(text)
		if m == nil || !established[schema.GroupKind{Group: m[2], Kind: m[1]}] {
			return false
		}
	}
	return o.Result == Failed && len(o.Errors) > 0
}

// note records what has gone wrong so far.
func (o *Outcome) note(op *Operation) {
	for _, text := range op.faults() {
		if !slices.Contains(o.Errors, text) {
			o.Errors = append(o.Errors, text)
		}
	}
}

// Watch says when to stop following a sync that does not end.
type Watch struct {
	// HangTimeout is how long nothing may change before a sync counts as hanging: nothing of
	// what Argo CD says of it, and nothing of what Moving returns, which may be nil. Argo
	// CD's pauses between attempts do not count.
	HangTimeout time.Duration
	Moving      func() string
	// Certain ends a sync as soon as more attempts or time cannot change its result: see
	// [Outcome.Certain].
	Certain bool
}

// Follow waits for the end of a sync that was started at or after since, and
// then for the Application to be healthy and in sync.
func (a *ArgoCD) Follow(ctx context.Context, name string, since time.Time, w Watch) (Outcome, error) {
	var out Outcome
	var failed attempts
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
			failed.note(op)
		}
		if started && out.ended(w.Certain, failed) {
			return true, nil
		}
		now := s.Describe()
		if w.Moving != nil {
			now += w.Moving()
		}
		if now != last || op.Waiting() {
			last, changed = now, time.Now()
		}
		if time.Since(changed) < w.HangTimeout {
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

// ended reports whether a sync has its result, and sets it.
func (o *Outcome) ended(certain bool, failed attempts) bool {
	op := o.Status.OperationState
	switch {
	case op.Waiting():
		if !certain || !failed.repeat() {
			return false
		}
		o.Result, o.Certain = Failed, "two attempts in a row failed with the same errors, and none of them applied anything"
	case op.Running():
		return false
	case op.Phase != "Succeeded":
		o.Result = Failed
	case o.Status.Health.Status == "Healthy" && o.Status.Sync.Status == "Synced":
		o.Result = Synced
	case certain && o.Status.failedJob() != "":
		o.Result, o.Certain = Unhealthy, "the sync has succeeded, and Job "+o.Status.failedJob()+" has failed for good"
	default:
		return false
	}
	o.Duration = op.FinishedAt.Sub(op.StartedAt)
	return true
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
