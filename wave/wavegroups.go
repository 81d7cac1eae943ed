package wave

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// WaveGroup is the content of one wave as users see it. Hooks of other phases have
// groups of their own.
type WaveGroup struct {
	// Title names the group, such as "wave 30". About says what it contains or when
	// it is applied, and may be empty.
	Title, About string
	// Phase is the first phase in which Argo CD applies the group, empty if it never
	// does; Wave is the wave in that phase.
	Phase object.Phase
	Wave  int
	// Nodes are in apply order.
	Nodes []int
}

// WaveGroups groups the nodes for which isShown returns true by phase and wave, in
// sync order. Nodes that another Application applies are not in the order, so it
// leaves them out.
func (p *Plan) WaveGroups(isShown func(node int) bool) []WaveGroup {
	var order []int
	for _, i := range p.Order {
		if isShown(i) {
			order = append(order, i)
		}
	}
	// Argo CD applies a namespace before its first user; its group is still that of
	// its wave.
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(p.Compare(a, b), strings.Compare(p.waveText(a), p.waveText(b))) // separates hooks of one phase from hooks of several
	})
	var groups []WaveGroup
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && p.waveText(order[to]) == p.waveText(order[from]) {
			to++
		}
		groups = append(groups, p.waveGroup(order[from:to]))
		from = to
	}
	return groups
}

// Compare orders nodes by phase and wave.
func (p *Plan) Compare(a, b int) int {
	return cmp.Or(cmp.Compare(p.phase(a), p.phase(b)), cmp.Compare(p.Places[a].Wave, p.Places[b].Wave))
}

// Contradicts reports whether the order contradicts a reference: the object is
// applied in an earlier phase or wave than its target, such as a PreSync hook that
// reads a Secret of the Sync phase.
func (p *Plan) Contradicts(r graph.Reference) bool { return p.Orders(r) && p.Compare(r.From, r.To) < 0 }

// phase ranks a node by the phase of its wave. Objects that are never applied come
// last.
func (p *Plan) phase(i int) int {
	phases := p.Graph.Nodes[i].Phases()
	switch {
	case p.Places[i].Computed:
		return object.Sync.Order()
	case len(phases) == 0:
		return object.PostDelete.Order() + 1
	}
	return phases[0].Order()
}

// waveGroup returns the group of nodes that share a wave.
func (p *Plan) waveGroup(nodes []int) WaveGroup {
	place := p.Places[nodes[0]]
	phases := p.Graph.Nodes[nodes[0]].Phases()
	b := WaveGroup{Wave: place.Wave, Nodes: nodes}
	switch {
	case place.Computed:
		b.Title, b.About, b.Phase = fmt.Sprintf("wave %d", place.Wave), p.rungs(nodes), object.Sync
		return b
	case len(phases) == 0:
		b.Title = "never applied"
		return b
	}
	var names []string
	for _, phase := range phases {
		names = append(names, string(phase))
	}
	b.Title, b.About, b.Phase = strings.Join(names, "+")+" hooks", fmt.Sprintf("wave %d", place.Wave), phases[0]
	return b
}

// rungs lists the rungs of the nodes in order.
func (p *Plan) rungs(nodes []int) string {
	var rungs []knowledge.Rung
	for _, i := range nodes {
		rungs = append(rungs, p.Places[i].Rung)
	}
	slices.SortFunc(rungs, func(a, b knowledge.Rung) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), strings.Compare(a.Name, b.Name))
	})
	var names []string
	for _, r := range rungs {
		names = append(names, r.Name)
	}
	return strings.Join(slices.Compact(names), ", ")
}

// IsGate reports whether the target of a reference must be healthy before the
// referring object is applied.
func (p *Plan) IsGate(r graph.Reference) bool {
	if p.Places[r.From].Computed && p.Places[r.To].Computed {
		return slices.ContainsFunc(p.dependents[r.To], func(c Dependent) bool { return c.Reference == r })
	}
	return r.Until == graph.Healthy && p.Orders(r) // between phases, and for targets in another Application
}

// IsImplied reports whether every object has such a reference: to its
// namespace, or to the CRD of its kind.
func (p *Plan) IsImplied(r graph.Reference) bool { return isImplied(p.Graph, &r) }

func isImplied(g *graph.Graph, r *graph.Reference) bool {
	to := &g.Nodes[r.To]
	return r.IsAboutNamespace() && to.Key.Kind == "Namespace" || r.IsAboutKind() && to.Kind.Defines != nil
}
