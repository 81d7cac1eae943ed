package wave

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// constraint demands that wave(from) >= wave(to) + gap.
type constraint struct {
	from, to int // nodes
	// gap is 1 where to must be healthy first, or needs a wave of its own.
	gap int
	// need is why there is a gap.
	need Need
	// companion means that from may need to at startup in ways that no manifest
	// shows. It yields to all other constraints.
	companion bool
	// dropped means that the constraint yielded in a cycle.
	dropped bool
	ref     *graph.Reference
}

// demands are constraints, together with the references that were not made gates
// and the reasons.
type demands struct {
	rules   []constraint
	yielded map[graph.Reference]string
}

// constraints turns the references between objects of the Sync phase into
// constraints on their waves. Objects that another Application applies exist
// already. holds decides which needs are gates.
func constraints(g *graph.Graph, base *knowledge.Base, holds func(Need) bool) demands {
	doubts := doubtsOf(g, base)
	yielded := map[graph.Reference]string{}
	var rules []constraint
	for i := range g.References {
		r := &g.References[i]
		from, to := &g.Nodes[r.From], &g.Nodes[r.To]
		if !from.InSync() || !to.InSync() || from.External || to.External || r.From == r.To {
			continue
		}
		if r.Meaning == knowledge.NoOrder {
			if c, ok := company(from, to, r); ok && (r.Sign != graph.Companion || doubts[r.To].why == "") {
				rules = append(rules, c)
			}
			continue
		}
		if !orders(g, r) {
			continue
		}
		c := constraint{from: r.From, to: r.To, ref: r}
		if c.need = gate(from, to, r, base); !holds(c.need) {
			c.need = ""
		}
		if c.need != "" {
			if why := doubts[r.To].forbids(c.need); why != "" {
				yielded[*r] = "no wait, since " + why
				c.need = ""
			} else {
				c.gap = 1
			}
		}
		rules = append(rules, c)
	}
	keepApart(g, rules)
	awaited := awaitedNodes(g, rules)
	for i := range rules {
		c := &rules[i]
		if c.gap == 0 && awaited[c.from] && !c.companion && showsHealth(&g.Nodes[c.to]) && isDegradedWithout(&g.Nodes[c.from], c.ref) && doubts[c.to].forbids(Degrades) == "" {
			c.gap, c.need = 1, Degrades
		}
	}
	return demands{rules, yielded}
}

// keepApart separates a webhook configuration from the objects it admits only if it
// comes after its backend. Otherwise both would wait for a backend that may never
// become healthy.
func keepApart(g *graph.Graph, rules []constraint) {
	follows := map[int]bool{}
	for _, c := range rules {
		if c.need == Settles && isLongRunning(&g.Nodes[c.to]) {
			follows[c.from] = true
		}
	}
	for i := range rules {
		if c := &rules[i]; c.need == Settles && !isLongRunning(&g.Nodes[c.to]) && !follows[c.to] {
			c.gap, c.need = 0, ""
		}
	}
}

// showsHealth reports whether Argo CD has a health check for an object, or can get
// one from Ladder.
func showsHealth(n *graph.Node) bool { return n.HasHealth || n.Kind.Status != nil }

// gate says why the target of a reference must be healthy in an earlier wave; empty
// if the two may share one.
func gate(from, to *graph.Node, r *graph.Reference, base *knowledge.Base) Need {
	need := needOf(from, r)
	switch {
	case need == "" && r.Hard && r.Meaning == knowledge.Exists && !appliedBefore(to, from, base) && !retriesPods(from, r):
		return Refused
	case to.HasHealth, r.Explicit, need == Settles, !base.Builtin(to.Key.Group):
		// Others' kinds may get a health check that Ladder does not know.
		return need
	}
	return "" // built-in kinds without health are complete once they exist
}

// retriesPods reports whether a reference is about Pods that a controller recreates
// when they are refused. Bare Pods are not recreated.
func retriesPods(n *graph.Node, r *graph.Reference) bool {
	return !n.Kind.Pod.IsZero() && n.Kind.Pod.String() != "." && strings.HasPrefix(r.Field, n.Kind.Pod.String())
}

// company turns a reference without an order of its own into a demand to share a
// wave: a workload with what it calls or may need, and a custom resource with its
// controller.
func company(from, to *graph.Node, r *graph.Reference) (constraint, bool) {
	switch {
	case from.Part != to.Part:
		return constraint{}, false
	case !from.Kind.Pod.IsZero() && from.Kind.Runs != "later" && isLongRunning(to):
		return constraint{from: r.From, to: r.To, ref: r, companion: true}, true
	case r.IsAboutKind() && isLongRunning(to) && showsHealth(from):
		return constraint{from: r.From, to: r.To, ref: r}, true // from does not become healthy without to
	case r.IsAboutKind() && isLongRunning(to):
		// Operators may exit if the resource that configures them is missing.
		return constraint{from: r.To, to: r.From, ref: r, companion: true}, true
	}
	return constraint{}, false
}

// Orders reports whether a reference demands an order between two objects that Argo
// CD applies. Waves implement it in the Sync phase; elsewhere the phases must.
func (p *Plan) Orders(r graph.Reference) bool { return orders(p.Graph, &r) }

func orders(g *graph.Graph, r *graph.Reference) bool {
	from, to := &g.Nodes[r.From], &g.Nodes[r.To]
	if len(from.Phases()) == 0 || len(to.Phases()) == 0 || runsLater(from, r) {
		return false
	}
	return r.Meaning == knowledge.Exists || r.Meaning == knowledge.Healthy || r.Meaning == knowledge.With
}

// runsLater reports whether a reference is about Pods that are created after this
// sync.
func runsLater(n *graph.Node, r *graph.Reference) bool {
	return (n.Kind.Runs == "later" || n.Idle) && strings.HasPrefix(r.Field, n.Kind.Pod.String())
}

// appliedBefore reports whether Argo CD applies a before b in the same wave.
// Objects of one kind are applied at the same time.
func appliedBefore(a, b *graph.Node, base *knowledge.Base) bool {
	x, y := base.KindOrder(a.Key.Kind), base.KindOrder(b.Key.Kind)
	if x != y {
		return x < y
	}
	return a.Key.Kind != b.Key.Kind && a.Key.Name < b.Key.Name
}

// awaitedNodes marks the nodes that Argo CD waits for: targets of gaps, and their
// dependencies. With a hook or smoke in the last wave, it waits for all.
func awaitedNodes(g *graph.Graph, rules []constraint) []bool {
	if slices.ContainsFunc(g.Nodes, func(n graph.Node) bool {
		return n.InSync() && (n.IsHook() || n.Role == knowledge.Smokes) || slices.Contains(n.Phases(), object.PostSync)
	}) {
		return slices.Repeat([]bool{true}, len(g.Nodes))
	}
	needs := make([][]int, len(g.Nodes))
	var behind []int
	for _, c := range rules {
		needs[c.from] = append(needs[c.from], c.to)
		if c.gap > 0 {
			behind = append(behind, c.to)
		}
	}
	return withNeeds(behind, needs)
}

// withNeeds marks nodes and their transitive dependencies.
func withNeeds(nodes []int, needs [][]int) []bool {
	marked := make([]bool, len(needs))
	for work := slices.Clone(nodes); len(work) > 0; {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		if !marked[i] {
			marked[i] = true
			work = append(work, needs[i]...)
		}
	}
	return marked
}

// isLongRunning reports whether an object is a workload that does not terminate.
func isLongRunning(n *graph.Node) bool {
	return !n.Kind.Pod.IsZero() && n.Kind.Runs == "" && !n.IsHook()
}
