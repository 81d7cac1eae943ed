package steps_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/steps"
)

// TestChosenBands: a band, or a place for a purpose, that the owners of a component chose is not
// undone, although another one would accept it earlier. What is needed earlier still moves.
func TestChosenBands(t *testing.T) {
	u := fleettest.WithProfile(t, "bands")
	u.App("postgres", "data", "workloads", 250)
	u.App("temporal", "data", "workloads", 450) // it would be possible after postgres, in 260
	u.App("temporal-smoke", "data", "smokes", 499)
	u.App("registry", "data", "workloads", 450)
	u.App("portal", "platform", "workloads", 350) // needs registry
	u.App("exporter", "foundation", "secrets", 130)
	u.App("reset", "foundation", "workloads", 155)    // a purpose of its step is not workloads
	u.App("dashboards", "platform", "exposure", 350)  // 340 accepts it, too, and is not for it either
	u.App("agent", "observability", "workloads", 540) // a wrong step, not a choice
	u.Needs("temporal", "postgres", fleet.Healthy, false)
	u.Needs("temporal-smoke", "temporal", fleet.Healthy, false)
	u.Needs("portal", "registry", fleet.Healthy, false)
	for _, tt := range []struct {
		keep bool
		want map[string]string
	}{
		{false, map[string]string{"postgres": "250", "temporal": "450 (260)", "temporal-smoke": "499 (299)", "registry": "250",
			"portal": "350", "exporter": "130", "reset": "150", "dashboards": "340", "agent": "550"}},
		{true, map[string]string{"postgres": "250", "temporal": "450 (260)", "temporal-smoke": "499 (299)", "registry": "250",
			"portal": "350", "exporter": "130", "reset": "155 (150)", "dashboards": "350 (340)", "agent": "550"}},
	} {
		p := steps.Compute(u.Fleet, steps.Options{KeepLater: tt.keep})
		for _, row := range p.Steps {
			got := row.Computed.Text
			if row.Earliest.Set {
				got += " (" + row.Earliest.Text + ")"
			}
			if got != tt.want[row.Name] {
				t.Errorf("keeping %v: %s is in %s, want %s: %s", tt.keep, row.Name, got, tt.want[row.Name], row.Why)
			}
		}
	}
}
