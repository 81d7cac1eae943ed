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

// WaveGroup is the content of one position in the order: a wave of a phase.
type WaveGroup struct {
	// Title names the group, such as "wave 30". About says what it contains or when
	// it is applied, and may be empty.
	Title, About string
	// Phase is the phase, empty for objects that Argo CD never applies; Wave is the wave
	// in that phase.
	Phase object.Phase
	Wave  int
	// Nodes are in apply order.
	Nodes []int
}

// Waves returns how many groups a sync applies one after the other.
func Waves(groups []WaveGroup) int {
	waves := 0
	for _, g := range groups {
		if g.Phase.RunsInSync() {
			waves++
		}
	}
	return waves
}

// WaveGroups groups the nodes for which isShown returns true by position, in sync order.
// An object that Argo CD applies in several phases is in the group of the first one. Nodes
// that another Application applies are not in the order, so it leaves them out.
func (p *Plan) WaveGroups(isShown func(node int) bool) []WaveGroup {
	var order []int
	for _, i := range p.Order {
		if isShown(i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, p.Compare)
	var groups []WaveGroup
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && p.positions[order[to]] == p.positions[order[from]] {
			to++
		}
		groups = append(groups, p.waveGroup(order[from:to]))
		from = to
	}
	return groups
}

// positionsOf returns the position of each node, also of those outside of a sync. Hooks of
// SyncFail and of a deletion have no waves: Argo CD applies all hooks of such a phase
// without waiting in between (executeSyncFailPhase in gitops-engine
// pkg/sync/sync_context.go, executeHooks in argo-cd controller/hook.go).
func (p *Plan) positionsOf() []moment {
	at := p.schedule(p.base)
	for i := range at {
		if phases := p.Graph.Nodes[i].Phases(); at[i] == never && len(phases) > 0 {
			at[i] = moment{phases[0], 0}
		}
	}
	return at
}

// Compare orders nodes by their positions.
func (p *Plan) Compare(a, b int) int { return p.positions[a].compare(p.positions[b]) }

// Contradicts reports whether the order contradicts a reference: the object is
// applied in an earlier phase or wave than its target, such as a PreSync hook that
// reads a Secret of the Sync phase.
func (p *Plan) Contradicts(r graph.Reference) bool {
	return p.Orders(r) && p.Compare(r.From, r.To) < 0
}

// outsideSync says when the hooks of phases run that are not part of a sync.
var outsideSync = map[object.Phase]string{
	object.SyncFail:   "only if the sync fails",
	object.PreDelete:  "before Argo CD deletes the Application's objects",
	object.PostDelete: "after Argo CD has deleted the Application's objects",
}

// waveGroup returns the group of nodes that share a position.
func (p *Plan) waveGroup(nodes []int) WaveGroup {
	at := p.positions[nodes[0]]
	g := WaveGroup{Title: string(at.phase) + " hooks", About: outsideSync[at.phase], Phase: at.phase, Wave: at.wave, Nodes: nodes}
	switch {
	case at == never:
		return WaveGroup{Title: "never applied", Nodes: nodes}
	case at.phase == object.Sync:
		g.Title, g.About = fmt.Sprintf("wave %d", at.wave), p.rungs(nodes)
	case at.phase.RunsInSync():
		g.About = fmt.Sprintf("wave %d", at.wave)
	}
	return g
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
func IsImplied(g *graph.Graph, r *graph.Reference) bool {
	to := &g.Nodes[r.To]
	return r.IsAboutNamespace() && to.Key.Kind == "Namespace" || r.IsAboutKind() && to.Kind.Defines != nil
}
