package steps

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
)

// smokeDependencies returns the dependencies of smoke tests that no manifest shows: a smoke test
// comes after all components of its domain that are before it. One without a step comes after
// the components that it refers to or, if there are none, after its whole domain. known are the
// dependencies from manifests.
func smokeDependencies(f *fleet.Fleet, known []Dependency) []Dependency {
	var all []Dependency
	for i, smoke := range f.Applications {
		domain := smoke.Component.DomainOrTier()
		if smoke.Rung != knowledge.Smokes || domain == "" {
			continue
		}
		hasDependency := slices.ContainsFunc(known, func(n Dependency) bool { return n.From == i && n.Later })
		for j, other := range f.Applications {
			before := smoke.Step.Set && other.Step.Set && other.Step.Number < smoke.Step.Number || !smoke.Step.Set && !hasDependency
			if other.Rung == knowledge.Smokes || other.Component.DomainOrTier() != domain || !before || !f.ShareEnvironment(smoke, other) {
				continue
			}
			if !slices.ContainsFunc(known, func(n Dependency) bool { return n.From == i && n.To == j && n.Later }) {
				all = append(all, Dependency{From: i, To: j, Later: true,
					reason: fleet.Reason{Inferred: true, Why: "it tests the domain " + domain}, reasonCount: 1})
			}
		}
	}
	slices.SortFunc(all, func(x, y Dependency) int { return cmp.Or(f.Compare(x.From, y.From), f.Compare(x.To, y.To)) })
	return all
}
