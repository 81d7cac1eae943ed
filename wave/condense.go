package wave

import (
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// unit is a set of objects that share a wave: a cycle, or a single object.
type unit struct {
	nodes []int
	// dependencies are the edges to earlier units, users those to later ones.
	dependencies, users []edge
	// gated means that a user waits until the unit is healthy.
	gated bool
}

// edge is a constraint between two units, seen from one of them.
type edge struct {
	constraint
	unit int // the other one
}

// isBound reports whether the unit must share the wave of a dependency.
func (u *unit) isBound() bool {
	return slices.ContainsFunc(u.dependencies, func(e edge) bool { return e.together() })
}

// condensation is the set of constraints without its cycles.
type condensation struct {
	// units are sorted: dependencies come first.
	units []unit
	// rules are the constraints; some are dropped or have lost their gap.
	rules []constraint
	// yielded maps each reference that Ladder does not enforce to a phrase that says
	// why.
	yielded  map[graph.Reference]string
	warnings []finding.Finding
}

// condense groups the nodes of each cycle of constraints into a unit. No constraint in
// a cycle can demand a gap, so the weakest ones yield until none does. It fails if the
// API server demands the gap, or if the sync would hang with a gap that a user demands.
func condense(g *graph.Graph, nodes []int, all []constraint) (condensation, error) {
	c := condensation{rules: slices.Clone(all), yielded: map[graph.Reference]string{}}
	for {
		comp := components(len(g.Nodes), c.rules)
		loops := loopsOf(c.rules, comp)
		if len(loops) == 0 {
			c.units = unitsOf(nodes, c.rules, comp)
			return c, nil
		}
		var faults []finding.Finding
		for _, id := range slices.Sorted(maps.Keys(loops)) {
			y := loops[id].resolve(g)
			if y.fault != nil {
				faults = append(faults, *y.fault)
			}
			if y.warning != nil {
				c.warnings = append(c.warnings, *y.warning)
			}
			for _, i := range y.drop {
				if c.rules[i].dropped = true; !c.rules[i].companion {
					c.yielded[*c.rules[i].ref] = "dropped because of a cycle"
				}
			}
			for _, i := range y.weaken {
				c.rules[i].gap, c.rules[i].reason = 0, ""
				c.yielded[*c.rules[i].ref] = "no wait because of a cycle"
			}
		}
		if len(faults) > 0 {
			finding.Sort(faults)
			return condensation{}, finding.Err(faults)
		}
	}
}

// components maps each node to the number of its unit.
func components(nodes int, rules []constraint) []int {
	next := make([][]int, nodes)
	for _, c := range rules {
		if !c.dropped {
			next[c.dependent] = append(next[c.dependent], c.dependency)
		}
	}
	return digraph.Components(next)
}

// unitsOf groups nodes by strongly connected component. Components are numbered so
// that dependencies have lower numbers.
func unitsOf(nodes []int, rules []constraint, comp []int) []unit {
	members := map[int][]int{}
	for _, i := range nodes {
		members[comp[i]] = append(members[comp[i]], i)
	}
	units := make([]unit, 0, len(members))
	index := map[int]int{} // by component
	for _, id := range slices.Sorted(maps.Keys(members)) {
		index[id] = len(units)
		units = append(units, unit{nodes: members[id]})
	}
	for _, c := range rules {
		if c.dropped {
			continue
		}
		from, to := index[comp[c.dependent]], index[comp[c.dependency]]
		if from != to {
			units[from].dependencies = append(units[from].dependencies, edge{c, to})
			units[to].users = append(units[to].users, edge{c, from})
			units[to].gated = units[to].gated || c.gap > 0
		}
	}
	return units
}
