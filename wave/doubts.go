package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// doubt says why it is doubtful that an object becomes healthy in a sync.
type doubt struct {
	why string
	// lacking means that the only reason is that somebody else must bring what
	// Pods need to start. It is there in time more often than not.
	lacking bool
	// pods means that Pods wait for what is missing: they do not fail meanwhile.
	pods bool
}

// forbids says why an object must not be awaited for a customer's sake; empty if
// it may. What a person asked for is done. A customer that would fail without an
// object is worth waiting for one that others help to start.
func (d doubt) forbids(need Need) string {
	if d.why == "" || need == Asked || d.lacking && (need.fails() || need == Settles) {
		return ""
	}
	return d.why
}

// doubtsOf finds the objects of which it is doubtful that they become healthy in
// a sync, and those that cannot without them.
func doubtsOf(g *graph.Graph, base *knowledge.Base) []doubt {
	doubts := make([]doubt, len(g.Nodes))
	var work []int
	mark := func(i int, d doubt) {
		old := doubts[i]
		if n := &g.Nodes[i]; d.why == "" || !n.HasHealth || n.Kind.Place == knowledge.WithConsumer || old.why != "" && (!old.lacking || d.lacking) {
			return
		}
		doubts[i] = d
		work = append(work, i)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		mark(i, doubt{why: n.Uncertain()})
		mark(i, doubt{why: n.Passes, lacking: true})
	}
	made := mayMake(g, base)
	for _, a := range g.Absent {
		mark(a.From, doubt{why: g.Nodes[a.From].Key.String() + " " + a.Why + " " + a.ID.String() + ", which nothing in the component creates", lacking: a.Starts && !made, pods: a.Starts})
	}
	for _, i := range withoutController(g) {
		mark(i, doubt{why: "no controller in the component is known to reconcile " + g.Nodes[i].Key.String()})
	}
	users := make([][]*graph.Reference, len(g.Nodes))
	for i := range g.References {
		r := &g.References[i]
		if !r.Optional && (r.Meaning == knowledge.Healthy || r.Meaning == knowledge.With) && g.Nodes[r.From].HasHealth {
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

// mayMake reports whether something in the component may make objects that no manifest
// shows: a custom resource or a controller. Then what is missing is likely to come from
// it, and not from outside, so that nothing may wait for it.
func mayMake(g *graph.Graph, base *knowledge.Base) bool {
	return slices.ContainsFunc(g.Nodes, func(n graph.Node) bool {
		custom := !base.Builtin(n.ID.Group) && n.Kind.Pod.IsZero() && (n.Kind.Rung == knowledge.Workloads || n.Kind.Rung == knowledge.Secrets)
		return n.InSync() && !n.Elsewhere && (custom || n.Role == knowledge.Controllers)
	})
}

// withoutController are the custom resources with health whose kind the component
// defines, so that what reconciles them is likely in it, too, and of which nothing
// shows who that is.
func withoutController(g *graph.Graph) []int {
	const isDefined, isReconciled = 1, 2
	seen := make([]int, len(g.Nodes))
	for i := range g.References {
		if r := &g.References[i]; r.IsAboutKind() {
			if to := &g.Nodes[r.To]; to.Kind.Defines != nil && !to.Elsewhere {
				seen[r.From] |= isDefined
			} else if !to.Kind.Pod.IsZero() {
				seen[r.From] |= isReconciled
			}
		}
	}
	var all []int
	programs := slices.ContainsFunc(g.Nodes, func(n graph.Node) bool { return runsForEver(&n) && n.InSync() && !n.Elsewhere })
	for i, how := range seen {
		if programs && how == isDefined && g.Nodes[i].HasHealth {
			all = append(all, i)
		}
	}
	return all
}
