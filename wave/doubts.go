package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// doubt says why an object may not become healthy during a sync.
type doubt struct {
	degree degree
	// root is the object that the reason is about: the object itself, or one that it needs
	// healthy.
	root int
	// why is a sentence about the root.
	why string
	// entry is what the root needs from outside of the component, as a user writes it in
	// expects; empty if no entry ends the doubt.
	entry string
	// last means that the object goes to the last wave if nothing needs it.
	last bool
}

// degree says how likely it is that the object does not become healthy.
type degree int

const (
	noDoubt degree = iota
	// passing: it needs something outside of the component, which usually exists in time, or
	// is Degraded only for a while.
	passing
	// open: nothing shows whether it becomes healthy.
	open
	// lasting: it does not become healthy by itself on some clusters, or ever.
	lasting
)

// forbids reports whether an object must not be awaited by a dependent. What the user
// asked for is done. A dependent that fails for good, or uses wrong data, justifies
// waiting for everything that can become healthy; one that reads what the object writes
// only does if it runs once, since others start by themselves.
func (d doubt) forbids(reason WaitReason, dependent *graph.Node) bool {
	switch {
	case d.degree == noDoubt || reason == Requested:
		return false
	case d.degree < lasting && (reason == RunsOnce || reason == WrongData):
		return false
	case d.degree == passing && (reason.fails() || reason == Settles || dependent.Kind.Runs == "once"):
		return false
	}
	return true
}

// describe says why a node may not become healthy.
func (d doubt) describe(g *graph.Graph, node int) string {
	may := " may never be healthy: "
	if d.degree == passing && d.entry == "" {
		may = " may not be healthy in time: "
	}
	if d.root != node {
		return g.Nodes[node].Key.String() + " needs " + g.Nodes[d.root].Key.String() + ", which" + may + d.why
	}
	return g.Nodes[node].Key.String() + may + d.why
}

// doubtsOf finds the objects that may not become healthy during a sync, and those
// that depend on them.
func doubtsOf(g *graph.Graph) []doubt {
	doubts := make([]doubt, len(g.Nodes))
	var work []int
	mark := func(i int, d doubt) {
		if n := &g.Nodes[i]; d.why == "" || !n.HasHealth || n.Kind.Placement == knowledge.WithConsumer || doubts[i].degree >= d.degree {
			return
		}
		doubts[i] = d
		work = append(work, i)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		mark(i, doubt{degree: lasting, root: i, why: n.Health.Uncertain(), last: true})
		mark(i, doubt{degree: passing, root: i, why: n.Doubt, entry: n.DoubtEntry, last: true})
		mark(i, doubt{degree: passing, root: i, why: n.TemporarilyDegraded})
	}
	for _, a := range g.Absent {
		mark(a.From, doubt{degree: passing, root: a.From, why: "it " + a.Absence(g),
			entry: a.Entry, last: !a.Starts && !g.Nodes[a.From].Store})
	}
	for _, i := range withoutController(g) {
		mark(i, doubt{degree: open, root: i, why: "no controller in the component is known to reconcile it",
			entry: g.Nodes[i].Key.Group, last: !g.Nodes[i].Store})
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
			inherited := doubts[at]
			inherited.degree = min(inherited.degree, open)
			inherited.last = inherited.last && g.Nodes[r.From].Kind.Pod.IsZero() && !g.Nodes[r.From].Store
			mark(r.From, inherited)
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
	programs := slices.ContainsFunc(g.Nodes, func(n graph.Node) bool { return n.Serves() && n.InSync() && !n.External })
	for i, how := range seen {
		if programs && how == isDefined && !g.Nodes[i].Expected && g.Nodes[i].HasHealth {
			all = append(all, i)
		}
	}
	return all
}
