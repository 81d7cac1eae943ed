package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// doubt says why an object may not become healthy during a sync.
type doubt struct {
	why string
	// missingOnly means that the only reason is a dependency that is not in the component,
	// and that usually exists in time, or that the object is Degraded only for a while.
	missingOnly bool
	// last means that the object goes to the last wave if nothing needs it.
	last bool
}

// forbids says why an object must not be awaited by a dependent; empty if it may.
// What the user asked for is done. A dependent that fails without the object
// justifies waiting, even if the object depends on others.
func (d doubt) forbids(reason WaitReason) string {
	if d.why == "" || reason == Requested || d.missingOnly && (reason.fails() || reason == Settles) {
		return ""
	}
	return d.why
}

// doubtsOf finds the objects that may not become healthy during a sync, and those
// that depend on them.
func doubtsOf(g *graph.Graph) []doubt {
	doubts := make([]doubt, len(g.Nodes))
	var work []int
	mark := func(i int, d doubt) {
		old := doubts[i]
		if n := &g.Nodes[i]; d.why == "" || !n.HasHealth || n.Kind.Placement == knowledge.WithConsumer || old.why != "" && (!old.missingOnly || d.missingOnly) {
			return
		}
		doubts[i] = d
		work = append(work, i)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		mark(i, doubt{why: n.Uncertain(), last: true})
		mark(i, doubt{why: n.TemporarilyDegraded, missingOnly: true})
	}
	for _, a := range g.Absent {
		mark(a.From, doubt{why: g.Nodes[a.From].Key.String() + " " + a.Why + " " + a.ID.String() + ", which nothing in the component creates", missingOnly: true, last: !a.Starts})
	}
	for _, i := range withoutController(g) {
		mark(i, doubt{why: "no controller in the component is known to reconcile " + g.Nodes[i].Key.String(), last: true})
	}
	users := make([][]*graph.Reference, len(g.Nodes))
	for i := range g.References {
		r := &g.References[i]
		if r.Need == graph.Needs && r.Until != graph.Exists && !isPlaced(r) && g.Nodes[r.From].HasHealth {
			users[r.To] = append(users[r.To], r)
		}
	}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, r := range users[at] {
			mark(r.From, doubts[at])
		}
	}
	return doubts
}

// withoutController returns custom resources with health whose CRD is in the
// component, so that their controller probably is, too, although no manifest
// identifies it.
func withoutController(g *graph.Graph) []int {
	const isDefined, isReconciled = 1, 2
	seen := make([]int, len(g.Nodes))
	for i := range g.References {
		if r := &g.References[i]; r.IsAboutKind() {
			if to := &g.Nodes[r.To]; to.Kind.Defines != nil && !to.External {
				seen[r.From] |= isDefined
			} else if !to.Kind.Pod.IsZero() {
				seen[r.From] |= isReconciled
			}
		}
	}
	var all []int
	programs := slices.ContainsFunc(g.Nodes, func(n graph.Node) bool { return isLongRunning(&n) && n.InSync() && !n.External })
	for i, how := range seen {
		if programs && how == isDefined && g.Nodes[i].HasHealth {
			all = append(all, i)
		}
	}
	return all
}
