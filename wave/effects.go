package wave

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Effect is a row of the table that says what references do to waves: the first row that
// fits counts. Gates and places come from this table alone; whether a sync works with
// given waves is for the simulation to say (simulation.go).
type Effect struct {
	// When describes the references of the row, after "object" and "target" for the two.
	When string
	// Does is the effect, and Reason the reason to wait if it is a gate.
	Does   Act
	Reason WaitReason
	// Yields means that the effect gives way first where references form a cycle.
	Yields bool

	fits func(related) bool
}

// Act is what a reference does to the waves of its object and its target.
type Act string

const (
	// Ignores: the reference affects no wave.
	Ignores Act = "nothing"
	// Accompanies: the target is in no later wave, and the reference demands no order
	// otherwise, such as between phases.
	Accompanies Act = "places"
	// Follows: likewise, with the roles exchanged: the object is in no later wave than the
	// target.
	Follows Act = "places the object"
	// Places: the target is in no later wave.
	Places Act = "orders"
	// Shares: both are in the same wave.
	Shares Act = "same wave"
	// Gates: the target is in an earlier wave, and must be healthy.
	Gates Act = "gate"
)

// related is a reference with its two objects.
type related struct {
	from, to *graph.Node
	*graph.Reference
	base *knowledge.Base
}

// hasHealthToAwait reports whether there is something to wait for: built-in kinds without
// health are complete once they exist, and others' kinds may get a health check that
// Ladder does not know.
func (r related) hasHealthToAwait() bool { return r.to.HasHealth || !r.base.Builtin(r.to.Key.Group) }

func (r related) needs(until graph.State) bool { return r.Need == graph.Needs && r.Until == until }

// effects is the table, in order.
var effects = []Effect{
	{When: "is about Pods that start after this sync, such as those of a CronJob", Does: Ignores,
		fits: func(r related) bool { return runsLater(r.from, r.Reference) }},
	{When: "needs not: the object names the target and certainly works without it", Does: Ignores,
		fits: func(r related) bool { return r.Need == graph.NeedsNot }},

	{When: "may need, together: the object runs Pods, or an operator does for it and its spec names the target, " +
		"or a program that may do everything is perhaps that operator; " +
		"and the target runs Pods, too, or is an Ingress or a custom resource of the same component",
		Does: Accompanies, Yields: true,
		fits: func(r related) bool {
			return r.isMerelyTogether() && r.from.Part == r.to.Part && r.mayRun() && r.mayServe()
		}},
	{When: "needs, together: a custom resource that shows whether its controller, of the same component, runs", Does: Accompanies,
		fits: func(r related) bool {
			return r.isMerelyTogether() && r.Need == graph.Needs && r.from.Part == r.to.Part && r.to.Serves()
		}},
	{When: "may need, together: the target is a controller of the same component that may exit without the object",
		Does: Follows, Yields: true,
		fits: func(r related) bool {
			return r.isMerelyTogether() && r.IsAboutKind() && r.from.Part == r.to.Part && r.to.Serves()
		}},
	{When: "may need, together: all others", Does: Ignores,
		fits: func(r related) bool { return r.isMerelyTogether() }},
	{When: "needs, together", Does: Shares,
		fits: func(r related) bool { return r.needs(graph.Together) }},

	{When: "needs, until healthy: a user wrote it", Does: Gates, Reason: Requested,
		fits: func(r related) bool { return r.needs(graph.Healthy) && r.Explicit() }},
	{When: "needs, until healthy: a webhook configuration that is registered after its server, and what it admits",
		Does: Gates, Reason: Settles,
		fits: func(r related) bool { return r.needs(graph.Healthy) && r.Sign == graph.Registration }},
	{When: "needs, until healthy: the API server refuses the object, or the object certainly stops for good", Does: Gates, Reason: Refused,
		fits: func(r related) bool {
			return r.needs(graph.Healthy) && r.hasHealthToAwait() && (r.Fails == graph.Refused || r.Fails == graph.Stops && !r.Inferred())
		}},
	{When: "needs, until healthy: the object uses wrong data", Does: Gates, Reason: WrongData,
		fits: func(r related) bool {
			return r.needs(graph.Healthy) && r.hasHealthToAwait() && r.Fails == graph.WrongData
		}},
	{When: "needs, until it exists or is healthy: the target changes the object's Pods when they are created", Does: Gates, Reason: Unchanged,
		fits: func(r related) bool {
			return r.Need == graph.Needs && r.Fails == graph.Unchanged && (r.Until == graph.Exists || r.hasHealthToAwait())
		}},
	{When: "needs, until healthy: the object runs once, and certainly reads what the target, a store, writes", Does: Gates,
		Reason: RunsOnce, // the Secret of a store exists before it responds
		fits: func(r related) bool {
			return r.needs(graph.Healthy) && r.hasHealthToAwait() && !r.Product.IsZero() && !r.Inferred() && r.from.Kind.Runs == "once" && r.to.Store
		}},
	{When: "needs, until healthy: the object certainly reads what the target writes", Does: Gates, Reason: Reads,
		fits: func(r related) bool {
			return r.needs(graph.Healthy) && r.hasHealthToAwait() && !r.Product.IsZero() && !r.Inferred()
		}},
	{When: "needs, until healthy: the object probably reads what the target writes", Does: Places,
		// the kubelet starts no Pod before its Secret exists
		fits: func(r related) bool { return r.needs(graph.Healthy) && !r.Product.IsZero() }},
	{When: "needs, until healthy: the object runs once, and fails", Does: Gates, Reason: RunsOnce,
		fits: func(r related) bool {
			return r.needs(graph.Healthy) && r.hasHealthToAwait() && r.from.Kind.Runs == "once"
		}},
	{When: "needs, until healthy: the object is an Application, and certainly depends on the target", Does: Gates, Reason: Depends,
		fits: func(r related) bool {
			return r.needs(graph.Healthy) && r.hasHealthToAwait() && !r.from.Kind.Deploys.IsZero() && !r.Inferred()
		}},
	{When: "needs, until it exists: the API server refuses the object, and Argo CD would apply the target after it in one wave",
		Does: Gates, Reason: Refused,
		fits: func(r related) bool {
			return r.needs(graph.Exists) && r.IsHard() && !appliedBefore(r.to, r.from, r.base) && !retriesPods(r.from, r.Reference)
		}},
	{When: "needs, or may need, until it exists or is healthy: all others", Does: Places,
		fits: func(related) bool { return true }},
}

// mayRun reports whether Pods run for the object of a reference, now or by an operator that
// reads the name of the target.
func (r related) mayRun() bool {
	if r.from.Kind.Pod.IsZero() {
		return r.Sign == graph.Word && r.from.Kind.Rung == knowledge.Workloads || r.Sign == graph.Permission && !r.IsAboutKind()
	}
	return r.from.Kind.Runs != "later"
}

// mayServe reports whether Pods run for the target of a reference, now or by an operator, or
// whether it leads traffic to some.
func (r related) mayServe() bool {
	return !r.to.Kind.Pod.IsZero() && r.to.Kind.Runs != "later" || !r.base.Builtin(r.to.Key.Group) || r.to.Kind.Rung == knowledge.Exposure
}

// isMerelyTogether reports whether the target must or may be there while the object
// starts, although no certain fact makes them share a wave.
func (r related) isMerelyTogether() bool { return isPlaced(r.Reference) }

// effectOf returns the row of a reference.
func effectOf(g *graph.Graph, base *knowledge.Base, r *graph.Reference) *Effect {
	in := related{&g.Nodes[r.From], &g.Nodes[r.To], r, base}
	return &effects[slices.IndexFunc(effects, func(e Effect) bool { return e.fits(in) })]
}

// EffectsTable returns the table as Markdown, with what each gate does in the compact
// style.
func EffectsTable() string {
	var b strings.Builder
	b.WriteString("| reference | effect |\n| --- | --- |\n")
	for _, e := range effects {
		does := string(e.Does)
		switch e.Does {
		case Accompanies, Places:
			does = "the target is in no later wave"
		case Follows:
			does = "the object is in no later wave than the target"
		case Gates:
			does = "gate"
		}
		if e.Yields {
			does += "; yields first in a cycle"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", e.When, does)
	}
	fmt.Fprintf(&b, "| %s | gate |\n", "in addition, where an awaited custom resource is in the same wave as what it needs healthy, "+
		"or is applied before what it needs, such as a Rollout, and reports Degraded meanwhile")
	return b.String()
}
