package steps_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/steps"
)

// TestSmokesStayBehind what they test, though no manifest names that, and a later place
// that makes no rollout slower is a choice.
func TestSmokesStayBehind(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.App("db", "data", "workloads", 250)
	m.App("temporal", "data", "workloads", 455)
	m.App("keycloak", "platform", "workloads", 350)
	m.App("smoke", "data", "smokes", 499)
	m.App("new", "data", "smokes", -1)
	m.Needs("temporal", "keycloak", fleet.Healthy, false)
	check(t, steps.Compute(m.Fleet, steps.Options{}), `
250 db: equal; first step for workloads in data and data-extended: Thing db
350 keycloak: equal; first step for workloads in platform: Thing keycloak
450 temporal: earlier possible; after keycloak, because Thing temporal needs Thing keycloak
499 new: not set; after temporal, because it tests the domain data (inferred)
499 smoke: equal; after temporal, because it tests the domain data (inferred)
`)
	p := rollout.ComputeSteps(m.Fleet, steps.Options{}, rollout.AssumedDurations())
	if row := p.Steps[1]; row.Verdict() != steps.Intent || row.Computed.Text != "455" || row.Earliest.Text != "450" {
		t.Errorf("temporal is %s at %s, earliest %s; a rollout is not faster with it earlier",
			row.Verdict(), row.Computed.Text, row.Earliest.Text)
	}
	if edits, _ := p.Edits(); len(edits) != 1 || edits[0].Name != "new" {
		t.Errorf("what is to be written is %v, want only the phase of new", edits)
	}
}

// TestEarlierIsFaster: where a rollout is faster with a component earlier, that is said.
func TestEarlierIsFaster(t *testing.T) {
	t.Parallel()
	m := fleettest.WithProfile(t, "bands")
	m.App("db", "data", "workloads", 250)
	m.App("late", "data", "workloads", 260)
	p := rollout.ComputeSteps(m.Fleet, steps.Options{}, rollout.AssumedDurations())
	if row := p.Steps[1]; row.Verdict() != steps.Earlier || row.Computed.Text != "250" {
		t.Errorf("late is %s at %s, and a rollout would be faster with it at 250", row.Verdict(), row.Computed.Text)
	}
}
