package wave

import (
	"cmp"
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/digraph"
)

// reasons returns what decided the level of each unit.
func (s *unitSet) reasons(g *graph.Graph, levels, waves []int) []Reason {
	why := make([]Reason, len(s.units))
	last := len(waves) - 1
	controller, starts := s.firstProgramNode(levels)
	for u := range s.units {
		why[u] = Reason{Cause: ByRung}
		waits := false
		if last == 0 || s.checksAll(u) {
			continue
		}
		for _, e := range s.units[u].dependencies {
			if !e.companion && !IsImplied(g, e.ref) && levels[u] == levels[e.unit]+e.gap &&
				(e.gap > 0 || e.together() || levels[u] > 0 && levels[u] < last) {
				why[u] = Reason{Cause: ByReference, Reference: *e.ref, Other: e.dependency}
				if waits = e.gap > 0; waits {
					break
				}
			}
		}
		if why[u].Cause == ByReference && (s.units[u].gated || sharesWave(&why[u].Reference)) {
			continue
		}
		at, by := s.firstConsumer(u, levels, last)
		if by != nil && IsImplied(g, by.ref) {
			by = nil
		}
		switch {
		case s.traits[u].doubtful >= 0 && !waits && levels[u] == last && !s.awaited[u] && (by == nil || !s.traits[u].consumed):
			why[u] = Reason{Cause: ByDoubt, Other: s.traits[u].doubtful}
		case s.units[u].gated || why[u].Cause == ByReference && levels[u] == last:
		case by != nil && at == levels[u] && (s.awaited[u] || s.traits[u].passive) && (at < last || s.traits[u].consumed):
			why[u] = Reason{Cause: ByConsumer, Reference: *by.ref, Other: by.dependent}
			if by.companion && by.ref.From != by.dependent { // next to its controller
				why[u] = Reason{Cause: ByController, Other: by.dependent}
			}
		case s.traits[u].passive && levels[u] < last && levels[u] <= starts && s.traits[u].rung > waves[levels[u]] &&
			controller >= 0 && why[u].Cause == ByRung:
			why[u] = Reason{Cause: ByController, Other: controller}
		}
	}
	return s.breakCycles(g, levels, why, last)
}

// firstConsumer returns the user of a unit that allows the lowest level, without those
// that are in its level because of the unit itself.
func (s *unitSet) firstConsumer(u int, levels []int, last int) (level int, by *edge) {
	bound := map[int]bool{}
	for _, e := range s.units[u].users {
		bound[e.unit] = bound[e.unit] || e.together()
	}
	return s.highestAllowed(u, levels, last, func(user int) bool { return !bound[user] })
}

// breakCycles replaces reasons that lead back to their own unit. A unit that waits for
// a dependency has its level because of that. Otherwise, if a unit is in the level of a
// dependency that is there only for its sake, another user or its rung decided it.
func (s *unitSet) breakCycles(g *graph.Graph, levels []int, reasons []Reason, last int) []Reason {
	why := slices.Clone(reasons)
	unitOf := map[int]int{}
	for u := range s.units {
		for _, node := range s.units[u].nodes {
			unitOf[node] = u
		}
	}
	decider := func(u int) []int {
		if !slices.Contains([]Cause{ByReference, ByConsumer, ByController}, why[u].Cause) {
			return nil
		}
		return []int{unitOf[why[u].Other]}
	}
	for u := range why {
		for _, e := range s.units[u].dependencies {
			if why[u].Cause == ByConsumer && e.gap > 0 && !IsImplied(g, e.ref) && levels[u] == levels[e.unit]+e.gap &&
				digraph.Cycle(u, decider) != nil {
				why[u] = Reason{Cause: ByReference, Reference: *e.ref, Other: e.dependency}
			}
		}
	}
	for _, gated := range []bool{true, false} {
		for u := range why {
			if s.units[u].gated != gated || why[u].Cause != ByReference {
				continue
			}
			cycle := digraph.Cycle(u, decider)
			if cycle == nil {
				continue
			}
			why[u] = Reason{Cause: ByRung}
			if at, by := s.firstConsumer(u, levels, last); by != nil && !gated && at == levels[u] &&
				!slices.Contains(cycle, by.unit) && !IsImplied(g, by.ref) {
				why[u] = Reason{Cause: ByConsumer, Reference: *by.ref, Other: by.dependent}
			}
		}
	}
	return why
}

// firstProgramNode returns a node of the first awaited program, or -1, and its level.
func (s *unitSet) firstProgramNode(levels []int) (node, level int) {
	first, level := -1, math.MaxInt
	for u := range s.units {
		if s.awaited[u] && s.traits[u].starts && levels[u] < level {
			first, level = s.units[u].nodes[0], levels[u]
		}
	}
	return first, level
}

// reason returns why a node of a unit has its level.
func (a *arrangement) reason(in input, u, node int) Reason {
	why, nodes := a.why[u], a.units[u].nodes
	if len(nodes) == 1 {
		return why
	}
	decider := -1
	switch why.Cause {
	case ByReference:
		decider = why.Reference.From
	case ByConsumer:
		decider = why.Reference.To
	case ByRung:
		decider = slices.MaxFunc(nodes, func(x, y int) int { return cmp.Compare(in.rungs[x].Wave, in.rungs[y].Wave) })
	}
	if decider >= 0 && decider != node && slices.Contains(nodes, decider) {
		return Reason{Cause: ByCompanion, Other: decider}
	}
	return why
}
