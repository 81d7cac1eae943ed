package fleet

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/internal/deprecated"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
)

// The rules about dependencies between Applications. Where the owners of a fleet accept one of
// their findings, steps are computed and drawn accordingly.
const (
	// LaterStep is the rule about dependencies on a later step.
	LaterStep = "later-step"
	// SameStep is the rule about dependencies within a step.
	SameStep = "same-step"
	// NeedsDisabled is the rule about dependencies on Applications that are not deployed.
	NeedsDisabled = "needs-disabled"
)

// AcceptedEntry returns the entry with which the owners of the fleet accept a finding of a rule
// about an Application, and the one that it depends on; -1 if there is none.
func (f *Fleet) AcceptedEntry(rule, name, dependency string) int {
	return slices.IndexFunc(f.Settings.Accepted, func(a profile.Accepted) bool { return a.Matches(rule, name, dependency) })
}

// withNewRules returns the accepted findings of a fleet by the current names of their rules,
// with a warning for each old name.
func withNewRules(settings profile.Fleet) (accepted []profile.Accepted, warnings []finding.Finding) {
	accepted = slices.Clone(settings.Accepted)
	for i, a := range accepted {
		name, renamed := deprecated.ReplacedRule(a.Rule)
		if !renamed {
			continue
		}
		accepted[i].Rule = name
		warnings = append(warnings, finding.Finding{Severity: finding.Warning, Rule: "deprecated", File: settings.File, Line: a.Line, Field: fmt.Sprintf("fleet.accepted[%d].rule", i),
			Message: "the rule name " + a.Rule + " is deprecated", Remedy: "use " + name})
	}
	return accepted, warnings
}
