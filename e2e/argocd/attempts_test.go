package argocd

import (
	"testing"
	"time"
)

// waiting is a sync between two attempts: retries have been counted, and the last attempt
// had these results.
func waiting(retries int, tasks ...Task) *Operation {
	op := &Operation{Phase: "Running", FinishedAt: time.Unix(1, 0), RetryCount: retries}
	op.SyncResult.Resources = tasks
	return op
}

func TestCertainFailure(t *testing.T) {
	refused := Task{Kind: "Queue", Name: "orders", Status: "SyncFailed", Message: "no matches for kind"}
	other := Task{Kind: "Queue", Name: "orders", Status: "SyncFailed", Message: "connection refused"}
	applied := Task{Kind: "ConfigMap", Name: "settings", Status: "Synced"}
	for name, c := range map[string]struct {
		attempts []*Operation
		want     bool
	}{
		"one attempt":                    {[]*Operation{waiting(1, refused)}, false},
		"one attempt, seen twice":        {[]*Operation{waiting(1, refused), waiting(1, refused)}, false},
		"two attempts":                   {[]*Operation{waiting(1, refused), waiting(2, refused)}, true},
		"two attempts with other errors": {[]*Operation{waiting(1, other), waiting(2, refused)}, false},
		"the first one applied":          {[]*Operation{waiting(1, refused, applied), waiting(2, refused)}, false},
		"the second one applied":         {[]*Operation{waiting(1, refused), waiting(2, refused, applied)}, false},
		"the last two of three":          {[]*Operation{waiting(1, refused, applied), waiting(2, refused), waiting(3, refused)}, true},
		"one was missed":                 {[]*Operation{waiting(1, refused), waiting(3, refused)}, false},
		"without errors of objects":      {[]*Operation{waiting(1), waiting(2)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var failed attempts
			var out Outcome
			for _, op := range c.attempts {
				failed.note(op)
				out.Status.OperationState = op
			}
			if got := out.ended(true, failed); got != c.want {
				t.Errorf("ended: %v; want %v", got, c.want)
			}
			if c.want && (out.Result != Failed || out.Certain == "" || out.Attempts() != len(c.attempts)) {
				t.Errorf("%s after %d attempts, certain: %q", out.Result, out.Attempts(), out.Certain)
			}
			if out.ended(false, failed) {
				t.Error("ended although all attempts are wanted")
			}
		})
	}
}

func TestCertainlyUnhealthy(t *testing.T) {
	degraded := func(group, kind string, hook bool) Status {
		r := Resource{Group: group, Kind: kind, Namespace: "shop", Name: "migrate", Hook: hook}
		r.Health = &struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		}{Status: "Degraded"}
		return Status{Resources: []Resource{r}, OperationState: &Operation{Phase: "Succeeded"}}
	}
	for name, c := range map[string]struct {
		status Status
		want   bool
	}{
		"a Job":        {degraded("batch", "Job", false), true},
		"a hook":       {degraded("batch", "Job", true), false},
		"a Deployment": {degraded("apps", "Deployment", false), false},
	} {
		t.Run(name, func(t *testing.T) {
			out := Outcome{Status: c.status}
			if got := out.ended(true, nil); got != c.want || got && out.Result != Unhealthy {
				t.Errorf("ended: %v, %s; want %v", got, out.Result, c.want)
			}
			if out.ended(false, nil) {
				t.Error("ended although all patience is wanted")
			}
		})
	}
}
