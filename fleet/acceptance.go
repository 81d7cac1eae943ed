package fleet

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// The rules about dependencies between Applications. Where the owners of a fleet accept one of
// their findings, steps are computed and drawn accordingly.
const (
	// LaterStep is the rule about dependencies on a later step.
	LaterStep finding.Rule = "later-step"
	// SameStep is the rule about dependencies within a step.
	SameStep finding.Rule = "same-step"
	// NeedsDisabled is the rule about dependencies on Applications that are not deployed.
	NeedsDisabled = "needs-disabled"
)

// AcceptedEntry returns the entry with which the owners of the fleet accept a finding of a rule
// about an Application, and the one that it depends on; -1 if there is none.
func (f *Fleet) AcceptedEntry(rule finding.Rule, name, dependency string) int {
	return slices.IndexFunc(f.Settings.Accepted, func(a profile.Accepted) bool { return a.Matches(rule, name, dependency) })
}
