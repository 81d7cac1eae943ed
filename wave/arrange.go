package wave

import (
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// arrangement says in which order the units of a set of objects come: those on
// level 0 first. A level ends where a customer needs something healthy, so there
// are no more levels than that takes.
type arrangement struct {
	condensation
	traits []trait
	// awaited are the units that must be healthy before a customer comes: those
	// with a customer, and what these need.
	awaited []bool
	levels  []int
	// waves are the numbers of the levels.
	waves []int
	why   []Reason
}

// trait is what the place of a unit depends on besides its constraints.
type trait struct {
	// passive units have no health: nothing is awaited once they are applied.
	passive bool
	// builtin units hold objects of Kubernetes' own only; group is that of their
	// first object.
	builtin bool
	group   string
	// defines means that it defines kinds for the API server itself, which waits for
	// nothing: programs that look for the kinds when they start find them.
	defines bool
	// runs means that Pods run: their programs may need what no manifest shows.
	runs bool
	// starts means that a program starts with it, such as an operator that it installs.
	starts bool
	// early units hold settings that whatever runs may use.
	early bool
	// smoke units check all others.
	smoke bool
	// gates means that a person said that its rung is awaited.
	gates bool
	// admits means that it changes what the API server accepts.
	admits bool
	// placed means that a person put it on its rung.
	placed bool
	// consumed units stand with their first user exactly, unless all are idle.
	consumed bool
	// doubtful is the node whose health may never come, or -1.
	doubtful int
	// rung is the wave of the highest rung in it, and class that of the highest
	// rung among it and what it needs.
	rung, class int
}

// arrange puts units on levels. With the fewest levels, the order of the rungs does
// not count.
func arrange(in input, c condensation, fewest bool) arrangement {
	a := arrangement{condensation: c, traits: traitsOf(in, c.units, fewest)}
	a.awaited = a.awaitedUnits()
	lowest := a.lowest(fewest)
	latest := a.latest(in.graph, lowest)
	a.levels = dense(a.moveDoubtfulLast(in, latest))
	a.waves = a.numbers(fewest)
	a.why = a.reasons(in.graph)
	return a
}

// traitsOf reads the traits of units off their objects. Where the fewest levels are
// asked for, no rung gates.
func traitsOf(in input, units []unit, fewest bool) []trait {
	g, base := in.graph, in.base
	doubts := doubtsOf(g, base)
	traits := make([]trait, len(units))
	for u := range units {
		t := trait{passive: true, builtin: true, group: g.Nodes[units[u].nodes[0]].ID.Group, defines: true, early: true, doubtful: -1}
		for _, i := range units[u].nodes {
			n := &g.Nodes[i]
			t.passive = t.passive && isPassive(n)
			t.defines = t.defines && isDefinition(n, base)
			t.builtin = t.builtin && base.Builtin(n.ID.Group)
			t.runs = t.runs || !n.Kind.Pod.IsZero()
			t.starts = t.starts || !n.Kind.Pod.IsZero() || n.Kind.Operator.Installs()
			t.early = t.early && n.Kind.Place == knowledge.First
			t.smoke = t.smoke || n.Role == knowledge.Smokes
			t.admits = t.admits || !n.Kind.Admits.IsZero()
			t.placed = t.placed || n.Role != ""
			t.consumed = t.consumed || n.Kind.Place == knowledge.WithConsumer
			t.rung = max(t.rung, in.rungs[i].Wave)
			t.gates = t.gates || !fewest && in.rungs[i].Gates && n.HasHealth
			if t.doubtful < 0 && (n.Uncertain() != "" || doubts[i].why != "" && !doubts[i].lacking && !doubts[i].pods) {
				t.doubtful = i
			}
		}
		t.class = t.rung
		if t.passive {
			t.class = math.MinInt
		}
		for _, e := range units[u].needs {
			t.class = max(t.class, traits[e.unit].class)
		}
		traits[u] = t
	}
	return traits
}

// isPassive reports whether nothing is waited for once an object of the kind is
// applied. A Service stays passive when it has a load balancer to wait for.
// A component of its own counts as awaited, since most have a health check for it.
func isPassive(n *graph.Node) bool {
	return (!n.Kind.Waited() || n.Kind.Place == knowledge.WithConsumer) && n.Kind.Deploys.IsZero()
}

// isDefinition reports whether an object is a CustomResourceDefinition.
func isDefinition(n *graph.Node, base *knowledge.Base) bool {
	return n.Kind.Defines != nil && base.Builtin(n.ID.Group)
}

// gatesLater reports whether something comes only when the unit is healthy: a
// customer, or what stands on a higher rung than one that gates.
func (a *arrangement) gatesLater(u int) bool { return a.traits[u].gates || a.units[u].gated }

func (a *arrangement) awaitedUnits() []bool {
	awaited := make([]bool, len(a.units))
	for u := len(a.units) - 1; u >= 0; u-- {
		awaited[u] = a.gatesLater(u) || slices.ContainsFunc(a.units[u].users, func(e edge) bool { return awaited[e.unit] })
	}
	return awaited
}

// checksAll reports whether a unit comes after all others, because it checks them.
func (a *arrangement) checksAll(u int) bool { return a.traits[u].smoke && len(a.units[u].users) == 0 }
