package e2e_test

import (
	"fmt"
	"testing"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// retries is how often Argo CD retries an automated sync if the Application does not
// set a limit.
const retries = 5

// TestWithoutWaves deploys the same components without waves, as teams do that write
// none. It prints how many need retries or fail: these are why there are waves.
func TestWithoutWaves(t *testing.T) {
	t.Parallel()
	var troubled counter
	t.Run("components", func(t *testing.T) {
		for name, dir := range components(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := raise(t, load(t, "off", name, dir).with("waves", "off"))
				g.app.Retry = retries
				out := g.sync(t, shortHangTimeout)
				result := string(out.Result)
				if out.Result == argocd.Unhealthy && g.waitsForEver(out.Status) {
					out.Result, result = argocd.Synced, "synced, waits as it must"
				}
				tries := 0
				if op := out.Status.OperationState; op != nil {
					tries = op.RetryCount
				}
				if tries > 0 {
					result += fmt.Sprintf(" after %d retries", tries)
				}
				if tries > 0 || out.Result != argocd.Synced {
					troubled.add()
					t.Logf("%s\n%s", result, here.argo.Explain(out, g.waiting()))
				}
				results.add(row{"without waves", name, waves(g.objs), out.Duration, result})
			})
		}
	})
	if troubled.value() == 0 {
		t.Error("every component syncs at the first attempt without waves, so that waves are for nothing, or the cluster double is too kind")
	}
}
