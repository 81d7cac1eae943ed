package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// TestSeed syncs a chart that generates passwords, certificates, identifiers and the time.
// Without a seed it is out of sync as soon as it is rendered again. With one it stays in
// sync when everything is rendered again, by the same server, by one with an empty cache,
// and by a replica. It restarts what other tests need, so it does not run in parallel.
func TestSeed(t *testing.T) {
	const chart = "cellar"
	restart := func(t *testing.T, seed string) {
		t.Helper()
		if err := here.argo.RestartPlugin(t.Context(), seed); err != nil {
			t.Fatal(err)
		}
	}
	deploy := func(t *testing.T, suite string) (*stage, argocd.Outcome) {
		t.Helper()
		g := raise(t, load(t, suite, chart, filepath.Join(here.root, "testdata", "charts", chart)))
		return g, g.sync(t, shortHangTimeout)
	}
	t.Run("without", func(t *testing.T) {
		g, out := deploy(t, "drawn")
		if op := out.Status.OperationState; op == nil || op.Phase != "Succeeded" {
			t.Fatalf("the sync: %s\n%s", out.Result, here.argo.Explain(out, g.waiting()))
		}
		restart(t, "") // which may remember an answer
		if status := g.compared(t); status.Sync.Status != "OutOfSync" {
			t.Errorf("rendered again without a seed:\n%s", status.Describe())
		}
		results.add(row{"seed", chart + ", without", waves(g.objs), out.Duration, "out of sync when rendered again, as it must"})
	})
	t.Run("with", func(t *testing.T) {
		text, err := program(t.Context(), "", "seed", "new")
		if err != nil {
			t.Fatal(err)
		}
		seed := filepath.Join(t.TempDir(), "seed")
		if err := os.WriteFile(seed, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		restart(t, seed)
		t.Cleanup(func() {
			ctx, cancel := cleanupContext(t)
			defer cancel()
			if err := here.argo.RestartPlugin(ctx, ""); err != nil {
				t.Error(err)
			}
		})
		g, out := deploy(t, "derived")
		if out.Result != argocd.Synced {
			t.Fatalf("the sync: %s\n%s", out.Result, here.argo.Explain(out, g.waiting()))
		}
		g.stays(t)
		restart(t, seed)
		g.stays(t)
		back, err := here.argo.AskReplica(t.Context(), seed)
		if back != nil {
			t.Cleanup(func() {
				ctx, cancel := cleanupContext(t)
				defer cancel()
				if err := back(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		g.stays(t)
		results.add(row{"seed", chart + ", with", waves(g.objs), out.Duration, "synced, also by a replica"})
	})
}
