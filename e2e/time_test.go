package e2e_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// TestTime measures how long a sync takes with the waves that rungs make, with
// the fewest, and with none, one after the other so that nothing else takes the
// processors. The times are for the table; that all but the last sync is what
// is tested.
func TestTime(t *testing.T) {
	for _, name := range []string{"shop", "migration", "garden-operator"} {
		for _, style := range []string{"rungs", "compact", "off"} {
			t.Run(name+"/"+style, func(t *testing.T) {
				g := raise(t, load(t, "time-"+style, name, components(t)[name]).with("waves", style))
				out := g.sync(t, shortHangTimeout)
				if out.Result != argocd.Synced && style != "off" {
					t.Errorf("the sync: %s\n%s", out.Result, here.argo.Explain(out, g.waiting()))
				}
				results.add(row{"time, waves " + style, name, waves(g.objs), out.Duration, string(out.Result)})
			})
		}
	}
}
