package steps

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
)

// tested returns the dependencies of smoke tests that no manifest shows: a smoke test comes
// after all components of its domain that are before it. One without a step comes after what
// it names or, if it names nothing, after its whole domain. given are the known dependencies.
func tested(f *fleet.Fleet, given []Need) []Need {
	var all []Need
	for i, smoke := range f.Applications {
		domain := smoke.Component.DomainOrTier()
		if smoke.Rung != knowledge.Smokes || domain == "" {
			continue
		}
		named := slices.ContainsFunc(given, func(n Need) bool { return n.From == i && n.Later })
		for j, other := range f.Applications {
			before := smoke.Phase.Set && other.Phase.Set && other.Phase.Number < smoke.Phase.Number || !smoke.Phase.Set && !named
			if other.Rung == knowledge.Smokes || other.Component.DomainOrTier() != domain || !before || !f.Meet(smoke, other) {
				continue
			}
			if !slices.ContainsFunc(given, func(n Need) bool { return n.From == i && n.To == j && n.Later }) {
				all = append(all, Need{From: i, To: j, Later: true, reason: fleet.Reason{Inferred: true, Why: "it tests the domain " + domain}, signs: 1})
			}
		}
	}
	slices.SortFunc(all, func(x, y Need) int { return cmp.Or(f.Compare(x.From, y.From), f.Compare(x.To, y.To)) })
	return all
}
