package wave

import (
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// arrangement assigns the units of a set of objects to levels. Level 0 is applied
// first. A level ends only where a dependent needs one of its objects healthy, so
// there are as few levels as the gates require.
type arrangement struct {
	unitSet
	// levels holds the level of each unit, and why what decided it.
	levels []int
	why    []Reason
	// waves holds the wave of each level.
	waves []int
}

// unitSet holds the units to arrange, with what decides their levels.
type unitSet struct {
	condensation
	traits []trait
	// awaited marks the units that must be healthy before a dependent is applied:
	// units with a dependent, and their dependencies.
	awaited []bool
}

// trait holds what decides the level of a unit besides its constraints.
type trait struct {
	// passive units have no health: Argo CD does not wait for them.
	passive bool
	// builtin units contain only built-in kinds of Kubernetes; group is the API
	// group of the first object.
	builtin bool
	group   string
	// defines marks units that define kinds for the API server. Nothing waits for
	// them, but programs that look up these kinds at startup find them.
	defines bool
	// runs marks units with Pods, whose programs may have dependencies that no
	// manifest shows.
	runs bool
	// store marks units that keep data for others, and app those with other programs that
	// run permanently and are no controllers.
	store, app bool
	// operated marks units with a custom resource for which an operator runs Pods, and custom
	// those with one that programs may use, such as a network or a class of nodes.
	operated, custom bool
	// everyNode marks units that run a Pod on every node, on which nothing relies.
	everyNode bool
	namespace string
	// starts marks units that start a program, also indirectly, such as an
	// operator's installation; works those with Pods that are no part of an operator.
	starts, works bool
	// early marks configuration that any program may use.
	early bool
	// smoke marks tests of all other units.
	smoke bool
	// gates marks units on a rung for which the user configured a gate.
	gates bool
	// admits marks units that change which objects the API server accepts.
	admits bool
	// hasRole marks units with an object whose rung depends on its role in the
	// component.
	hasRole bool
	// consumed units share the level of their first user, unless all their users
	// are idle.
	consumed bool
	// doubtful is the node that may never become healthy, or -1.
	doubtful int
	// rung is the wave of the highest rung in the unit, and class that of the
	// highest rung in the unit and its dependencies.
	rung, class int
}

// arrange assigns units to levels. With fewest, it ignores the order of the rungs.
func arrange(in input, c condensation, fewest bool) arrangement {
	traits := traitsOf(in, c.units, fewest)
	set := unitSet{c, traits, awaitedUnits(c.units, traits)}
	lowest := set.lowest(fewest)
	latest := set.latest(in.graph, lowest)
	levels := dense(set.moveDoubtfulLast(in, latest))
	waves := set.wavesOf(levels, fewest)
	return arrangement{set, levels, set.reasons(in.graph, levels, waves), waves}
}

// traitsOf reads the traits of units from their objects. With fewest, no rung is a
// gate.
func traitsOf(in input, units []unit, fewest bool) []trait {
	g, base := in.graph, in.base
	traits := make([]trait, len(units))
	workloads, _ := base.Rung(knowledge.Workloads)
	for u := range units {
		t := trait{passive: true, builtin: true, group: g.Nodes[units[u].nodes[0]].ID.Group,
			namespace: g.Nodes[units[u].nodes[0]].Key.Namespace, defines: true, early: true, doubtful: -1}
		for _, i := range units[u].nodes {
			n := &g.Nodes[i]
			t.passive = t.passive && isPassive(n)
			t.defines = t.defines && isCRD(n, base)
			t.builtin = t.builtin && base.Builtin(n.ID.Group)
			t.runs = t.runs || !n.Kind.Pod.IsZero()
			t.store = t.store || n.Store
			t.operated = t.operated || n.Kind.Rung == knowledge.Workloads && n.Kind.Pod.IsZero() && n.HasHealth && !base.Builtin(n.ID.Group)
			t.custom = t.custom || !base.Builtin(n.ID.Group) && in.rungs[i].Wave <= workloads.Wave
			t.everyNode = t.everyNode || n.Kind.EveryNode
			t.app = t.app || n.Serves() && !n.Store && n.Role != knowledge.Controllers
			t.starts = t.starts || !n.Kind.Pod.IsZero() || n.Kind.Operator.Installs()
			t.works = t.works || !n.Kind.Pod.IsZero() && in.rungs[i].Wave >= workloads.Wave
			t.early = t.early && n.Kind.Placement == knowledge.First
			t.smoke = t.smoke || n.Role == knowledge.Smokes
			t.admits = t.admits || !n.Kind.Admits.IsZero()
			t.hasRole = t.hasRole || n.Role != ""
			t.consumed = t.consumed || n.Kind.Placement == knowledge.WithConsumer
			t.rung = max(t.rung, in.rungs[i].Wave)
			t.gates = t.gates || !fewest && in.rungs[i].Gates && n.HasHealth
			if t.doubtful < 0 && (n.Uncertain() != "" || in.doubts[i].last) {
				t.doubtful = i
			}
		}
		t.class = t.rung
		if t.passive {
			t.class = math.MinInt
		}
		for _, e := range units[u].dependencies {
			t.class = max(t.class, traits[e.unit].class)
		}
		traits[u] = t
	}
	return traits
}

// isPassive reports whether Argo CD has nothing to wait for once the object is
// applied. A Service is passive even if it waits for a load balancer. A custom
// resource counts as awaited, since most have a health check.
func isPassive(n *graph.Node) bool {
	return (!n.Kind.IsAwaited() || n.Kind.Placement == knowledge.WithConsumer) && n.Kind.Deploys.IsZero()
}

// isCRD reports whether an object is a CustomResourceDefinition.
func isCRD(n *graph.Node, base *knowledge.Base) bool {
	return n.Kind.Defines != nil && base.Builtin(n.ID.Group)
}

// gatesLater reports whether a later unit waits until this one is healthy: a
// dependent, or a unit on a higher rung than this unit's gate.
func gatesLater(u unit, t trait) bool { return t.gates || u.gated }

// awaitedUnits marks the units that gate a later one, and their dependencies.
func awaitedUnits(units []unit, traits []trait) []bool {
	awaited := make([]bool, len(units))
	for u := len(units) - 1; u >= 0; u-- {
		awaited[u] = gatesLater(units[u], traits[u]) || slices.ContainsFunc(units[u].users, func(e edge) bool { return awaited[e.unit] })
	}
	return awaited
}

// checksAll reports whether a unit comes after all others because it tests them.
func (s *unitSet) checksAll(u int) bool { return s.traits[u].smoke && len(s.units[u].users) == 0 }

// wavesOf assigns each level a wave: the wave of the highest rung among its awaited
// units or, for the last level, among all. With fewest, levels are counted from 0.
func (s *unitSet) wavesOf(levels []int, fewest bool) []int {
	last := 0
	for _, level := range levels {
		last = max(last, level)
	}
	if last == 0 {
		return []int{0}
	}
	highest, passive := make([]int, last+1), make([]int, last+1)
	for u, level := range levels {
		t := s.traits[u]
		switch {
		case s.units[u].gated, !t.passive, level == last:
			highest[level] = max(highest[level], t.rung)
		case t.passive:
			passive[level] = max(passive[level], t.rung)
		}
	}
	for level := range highest {
		if highest[level] == 0 {
			highest[level] = passive[level]
		}
	}
	waves := make([]int, last+1)
	for level := range waves {
		if level > 0 {
			waves[level] = waves[level-1] + 1
		}
		if !fewest {
			waves[level] = max(waves[level], highest[level])
		}
	}
	return waves
}
