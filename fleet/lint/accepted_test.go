package lint_test

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// TestFinalFleets: nothing is wrong with fleets in their final state, but what
// their owners accept.
func TestFinalFleets(t *testing.T) {
	for _, name := range []string{"zerotouch", "layers", "appofapps", "tiers", "bands"} {
		f := load(t, name)
		for _, environment := range append(f.Environments(), "") {
			for _, found := range lint.Findings(f, environment) {
				if found.Severity != finding.Note {
					t.Errorf("%s, environment %q: %s", name, environment, found.Error())
				}
			}
		}
	}
}

// TestAccepted: only the finding that is meant is accepted, and what matches
// none is stale, if all of the fleet is looked at.
func TestAccepted(t *testing.T) {
	f := fleettest.Load(t, "faults")
	accepted := func(a profile.Accepted) (notes, others, stale []finding.Finding) {
		a.Line = 12
		f.Settings.Accepted = []profile.Accepted{a}
		for _, found := range lint.Findings(f, "") {
			switch {
			case strings.HasSuffix(found.Message, "; accepted: so it is"):
				notes = append(notes, found)
			case found.Rule == "stale-accepted":
				stale = append(stale, found)
			case found.Rule == a.Rule:
				others = append(others, found)
			}
		}
		return notes, others, stale
	}
	all, _, _ := accepted(profile.Accepted{Rule: "needs-disabled", Component: "needs-off", Why: "so it is"})
	if len(all) != 1 || all[0].Severity != finding.Note || all[0].Remedy != "" || !strings.Contains(all[0].Message, "off is disabled") {
		t.Errorf("accepted are %v", all)
	}
	for _, test := range []struct {
		entry         profile.Accepted
		notes, others int
		stale         string
	}{
		{profile.Accepted{Rule: "needs-disabled", Component: "needs-off", Needs: "off"}, 1, 1, ""},
		{profile.Accepted{Rule: "needs-disabled", Component: "needs-off", Needs: "only-main"}, 0, 2,
			"no finding of rule needs-disabled for needs-off and only-main, so this entry has no effect; fix: remove the entry"},
		{profile.Accepted{Rule: "later-step", Component: "needs-off"}, 0, 2, "no finding of rule later-step for needs-off"},
		{profile.Accepted{Rule: "object-shared", Component: "shares-b", Needs: "shares-a"}, 1, 0, ""},
		{profile.Accepted{Rule: "no-step", Component: "split-crds"}, 1, 5, ""},
		{profile.Accepted{Rule: "needs-help", Component: "needs-off"}, 0, 0,
			`unknown rule "needs-help", so this entry has no effect; fix: use a rule of cmp fleet lint`},
		{profile.Accepted{Rule: "needs-disabled", Component: "needs-off", Needs: "of"}, 0, 2, `unknown Application "of"`},
		{profile.Accepted{Rule: "needs-disabled"}, 2, 0, ""},
		{profile.Accepted{Rule: "needs-disabled", Component: "needs-*"}, 2, 0, ""},
		{profile.Accepted{Rule: "needs-disabled", Needs: "o*f"}, 1, 1, ""},
		{profile.Accepted{Rule: "needs-disabled", Component: "need-*"}, 0, 2,
			`no Application matches "need-*", so this entry has no effect; fix: correct the pattern`},
		{profile.Accepted{Rule: "same-step"}, 0, 0, "no finding of rule same-step, so this entry has no effect"},
		{profile.Accepted{Rule: "needs-disabled", Needs: "needs-*"}, 0, 2, "no finding of rule needs-disabled about a dependency on needs-*"},
	} {
		test.entry.Why = "so it is"
		notes, others, stale := accepted(test.entry)
		if len(notes) != test.notes || len(others) != test.others {
			t.Errorf("%+v: %d accepted and %d not, want %d and %d", test.entry, len(notes), len(others), test.notes, test.others)
		}
		if got := fleettest.Lines(stale); test.stale == "" && got != "" || !strings.Contains(got, test.stale) {
			t.Errorf("%+v: %q is stale, want %q", test.entry, got, test.stale)
		}
	}
	// What only preview lacks is not stale where main is looked at.
	f.Settings.Accepted = []profile.Accepted{{Rule: "needs-disabled", Component: "needs-main", Why: "so it is"}}
	for environment, want := range map[string]int{"": 1, "preview": 1, "main": 0} {
		if got := fleettest.Lines(lint.Findings(f, environment)); strings.Count(got, "accepted: so it is") != want ||
			strings.Contains(got, "stale-accepted") {
			t.Errorf("in %q: %s", environment, got)
		}
	}
}
