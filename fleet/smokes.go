package fleet

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
)

// tested are the needs of smokes that no manifest shows: a smoke comes after all of its
// domain that stands before it. One without a step comes after what it names, or else
// after all of its domain. given are the needs that are known.
func (f *Fleet) tested(given []Need) []Need {
	var all []Need
	for i, smoke := range f.Applications {
		domain := smoke.Component.Part()
		if smoke.Rung != knowledge.Smokes || domain == "" {
			continue
		}
		named := slices.ContainsFunc(given, func(n Need) bool { return n.From == i && n.Later })
		for j, other := range f.Applications {
			before := smoke.Phase.Set && other.Phase.Set && other.Phase.Number < smoke.Phase.Number || !smoke.Phase.Set && !named
			if other.Rung == knowledge.Smokes || other.Component.Part() != domain || !before || !f.meet(smoke, other) {
				continue
			}
			if !slices.ContainsFunc(given, func(n Need) bool { return n.From == i && n.To == j && n.Later }) {
				all = append(all, Need{From: i, To: j, Later: true, reason: Reason{Inferred: true, Why: "it tests the domain " + domain}, signs: 1})
			}
		}
	}
	slices.SortFunc(all, func(x, y Need) int { return cmp.Or(f.Compare(x.From, y.From), f.Compare(x.To, y.To)) })
	return all
}
