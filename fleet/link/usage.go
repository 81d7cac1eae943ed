package link

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Used are the objects that something else uses, or that create what something may use. Where
// Applications depend on each other, one dependency has to go, and that of objects which nothing
// else uses, such as a dashboard, is easy to remove: they can move to another Application.
type Used map[holding]bool

// Add adds the used objects of a graph whose parts are Applications.
func (u Used) Add(g *graph.Graph) {
	if g == nil {
		return
	}
	own := func(i int) holding { return holding{g.Nodes[i].Part, g.Nodes[i].Key} }
	for _, r := range g.References {
		isShown := r.Sign > graph.Beside || !g.Nodes[r.To].Kind.Pod.IsZero() // not only that it is there
		if r.From != r.To && isShown {
			u[own(r.To)] = true
		}
	}
	for _, c := range g.Creations {
		u[own(c.From)] = true
	}
	for i, n := range g.Nodes {
		if slices.ContainsFunc(n.Kind.References, func(r knowledge.Reference) bool { return r.Meaning == knowledge.Produces }) {
			u[own(i)] = true
		}
	}
}

// IsUnused reports whether the object of an Application that a reason is about is one that
// nothing else uses.
func (u Used) IsUnused(app int, r Reason) bool {
	return r.From != (object.ID{}) && !u[holding{app, r.From}]
}

// HoldsForNothing reports whether a link exists only for objects that nothing else uses.
func (u Used) HoldsForNothing(l Link) bool {
	return !slices.ContainsFunc(l.Reasons, func(r Reason) bool {
		return r.Strength >= Healthy && !r.Inferred && !u.IsUnused(l.From, r)
	})
}
