package wave

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// constraint demands that wave(dependent) >= wave(dependency) + gap.
type constraint struct {
	dependent, dependency int // nodes
	// gap is 1 where the dependency must be healthy first, or needs a wave of its own.
	gap int
	// reason is why there is a gap; empty if there is none.
	reason WaitReason
	// companion means that the dependent may need the dependency at startup, although no
	// manifest shows it. It yields to all other constraints.
	companion bool
	// dropped means that the constraint yielded in a cycle.
	dropped bool
	ref     *graph.Reference
}

// together reports whether the two must share a wave.
func (c *constraint) together() bool {
	return sharesWave(c.ref)
}

// sharesWave reports whether the objects of a reference must share a wave.
func sharesWave(r *graph.Reference) bool { return r.Until == graph.Together && !isPlaced(r) }

// constraintSet is the result of the first stage.
type constraintSet struct {
	rules []constraint
	// yielded maps each reference that was not made a gate to a phrase that says why.
	yielded map[graph.Reference]string
	// omitted are the gates that were left out because of doubts.
	omitted []omission
}

// omission is a reference without a gate, because its target may never be healthy.
type omission struct {
	*graph.Reference
	doubt doubt
}

// constraints turns the references between objects of the Sync phase into
// constraints on their waves. Objects that another Application applies exist
// already. isGate decides which reasons to wait are gates, and isFollowed says which objects
// have an author's wave that is not the last.
func constraints(g *graph.Graph, base *knowledge.Base, doubts []doubt, isGate func(WaitReason) bool,
	isFollowed func(int) bool) constraintSet {
	var rules []constraint
	var omitted []omission
	for i := range g.References {
		r := &g.References[i]
		from, to := &g.Nodes[r.From], &g.Nodes[r.To]
		if !from.InSync() || !to.InSync() || from.External || to.External || r.From == r.To {
			continue
		}
		effect := effectOf(g, base, r)
		c := constraint{dependent: r.From, dependency: r.To, ref: r, companion: effect.Yields}
		switch effect.Does {
		case Ignores:
			continue
		case Accompanies:
			if r.Sign == graph.Companion && doubts[r.To].degree != noDoubt {
				continue
			}
		case Follows:
			c.dependent, c.dependency = r.To, r.From
		case Gates:
			if !isGate(effect.Reason) {
				break
			}
			if doubts[r.To].forbids(effect.Reason, from) {
				omitted = append(omitted, omission{r, doubts[r.To]})
				break
			}
			c.gap, c.reason = 1, effect.Reason
		}
		rules = append(rules, c)
	}
	keepApart(g, rules)
	all, awaited := awaitsAll(g), awaitedNodes(rules)
	for i := range rules {
		c := &rules[i]
		isAwaited := all || awaited[c.dependent] || c.ref.Fails == graph.ReportsFailure && isFollowed(c.dependent)
		if c.gap > 0 || !isAwaited || c.companion || !degradesInWaveOf(g, base, c.ref) {
			continue
		}
		if doubts[c.dependency].forbids(Degrades, &g.Nodes[c.dependent]) {
			omitted = append(omitted, omission{c.ref, doubts[c.dependency]})
			continue
		}
		c.gap, c.reason = 1, Degrades
	}
	return constraintSet{rules, map[graph.Reference]string{}, omitted}
}

// noneFollowed is for orders in which no object has an author's wave.
func noneFollowed(int) bool { return false }

// constraints returns the constraints without the waits that are left out.
func (in input) constraints(isGate func(WaitReason) bool, isFollowed func(int) bool) constraintSet {
	d := constraints(in.graph, in.base, in.doubts, isGate, isFollowed)
	for i := range d.rules {
		if c := &d.rules[i]; c.gap > 0 && slices.Contains(in.leftOut, *c.ref) {
			c.gap, c.reason = 0, ""
			d.yielded[*c.ref] = "no wait, since the sync would hang"
		}
	}
	return d
}

// keepApart separates a webhook configuration from the objects it admits only if it
// comes after its backend. Otherwise both would wait for a backend that may never
// become healthy.
func keepApart(g *graph.Graph, rules []constraint) {
	follows := map[int]bool{}
	for _, c := range rules {
		if c.reason == Settles && g.Nodes[c.dependency].Serves() {
			follows[c.dependent] = true
		}
	}
	for i := range rules {
		if c := &rules[i]; c.reason == Settles && !g.Nodes[c.dependency].Serves() && !follows[c.dependency] {
			c.gap, c.reason = 0, ""
		}
	}
}

// showsHealth reports whether Argo CD has a health check for an object, or can get
// one from Ladder.
func showsHealth(n *graph.Node) bool {
	return n.HasHealth || n.Kind.Status != nil || n.Kind.Later != ""
}

// retriesPods reports whether a reference is about Pods that a controller recreates
// when they are refused. Bare Pods are not recreated.
func retriesPods(n *graph.Node, r *graph.Reference) bool {
	return !n.Kind.Pod.IsZero() && n.Kind.Pod.String() != "." && strings.HasPrefix(r.Field, n.Kind.Pod.String())
}

// Orders reports whether a reference demands an order between two objects that Argo
// CD applies. In the Sync phase waves implement it, otherwise the phases must.
func (p *Plan) Orders(r graph.Reference) bool {
	from, to := &p.Graph.Nodes[r.From], &p.Graph.Nodes[r.To]
	if len(from.Phases()) == 0 || len(to.Phases()) == 0 || runsLater(from, &r) {
		return false
	}
	return r.Need != graph.NeedsNot && !isPlaced(&r)
}

// isPlaced reports whether a reference only says where two objects stand: the target must
// be there while the object starts, or may be needed then, and they can share a wave.
func isPlaced(r *graph.Reference) bool {
	return r.Until == graph.Together && (r.Need == graph.MayNeed || r.Inferred() && r.IsAboutKind())
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

// awaitsAll reports whether Argo CD waits for all nodes, because a hook or a smoke test is
// in the last wave.
func awaitsAll(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n graph.Node) bool {
		return n.InSync() && (n.IsHook() || n.Role == knowledge.Smokes) || slices.Contains(n.Phases(), object.PostSync)
	})
}

// awaitedNodes marks the nodes that Argo CD waits for in any case: targets of gaps, and
// their dependencies.
func awaitedNodes(rules []constraint) map[int]bool {
	dependencies := map[int][]int{}
	var targets []int
	for _, c := range rules {
		dependencies[c.dependent] = append(dependencies[c.dependent], c.dependency)
		if c.gap > 0 {
			targets = append(targets, c.dependency)
		}
	}
	return digraph.Reachable(targets, func(i int) []int { return dependencies[i] })
}
