package wave

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/object"
)

// lowest assigns each unit the lowest level that its dependencies allow. Awaited
// units keep the order of classes: no unit of a higher rung is on a lower level
// than one of a lower rung, unless fewest is set.
func (s *unitSet) lowest(fewest bool) []int {
	order := make([]int, len(s.units))
	for u := range order {
		order[u] = u
	}
	class := func(u int) int {
		if fewest {
			return 0
		}
		return s.traits[u].class
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(class(x), class(y)) })
	levels := make([]int, len(s.units))
	highest, highestBelow := 0, 0     // the highest level of awaited units: so far, and of lower classes than the current one
	gateLevel, gateLevelBelow := 0, 0 // the level after gates of rungs, likewise
	at := math.MinInt
	for _, u := range order {
		if c := class(u); c > at {
			at, highestBelow, gateLevelBelow = c, highest, gateLevel
		}
		levels[u] = s.lowestAllowed(u, levels)
		if !s.traits[u].passive {
			levels[u] = max(levels[u], gateLevelBelow)
		}
		if gatesLater(s.units[u], s.traits[u]) && !s.checksAll(u) {
			levels[u] = max(levels[u], highestBelow)
			highest = max(highest, levels[u])
		}
		if s.traits[u].gates {
			gateLevel = max(gateLevel, levels[u]+1)
		}
	}
	return levels
}

// lowestAllowed returns the lowest level that the dependencies of a unit allow.
func (s *unitSet) lowestAllowed(u int, levels []int) int {
	level := 0
	for _, e := range s.units[u].dependencies {
		level = max(level, levels[e.unit]+e.gap)
	}
	return level
}

// highestAllowed returns the highest level that the users of a unit allow, considering
// only users for which counts returns true; top if there are none.
func (s *unitSet) highestAllowed(u int, levels []int, top int, counts func(user int) bool) (level int, by *edge) {
	level = top
	for i := range s.units[u].users {
		if e := &s.units[u].users[i]; counts(e.unit) && (levels[e.unit]-e.gap < level || by == nil && levels[e.unit]-e.gap == level) {
			level, by = levels[e.unit]-e.gap, e
		}
	}
	return level, by
}

// latest moves units that nothing waits for to the last level, and companions of an
// awaited unit to its level. Units without health are applied before the first
// awaited program starts.
func (s *unitSet) latest(g *graph.Graph, lowest []int) []int {
	levels := slices.Clone(lowest)
	top := 0
	for u := range levels {
		if !s.checksAll(u) {
			top = max(top, levels[u])
		}
	}
	for u := len(levels) - 1; u >= 0; u-- {
		switch {
		case s.checksAll(u), gatesLater(s.units[u], s.traits[u]), s.traits[u].defines, s.traits[u].early:
		case s.awaited[u]:
			at, _ := s.highestAllowed(u, levels, top, func(user int) bool { return s.awaited[user] })
			if s.traits[u].store {
				at = s.besideStores(levels, levels[u], at)
			}
			levels[u] = max(levels[u], at)
		}
	}
	s.placeUnneeded(levels, top)
	if slices.ContainsFunc(s.traits, func(t trait) bool { return !t.passive && !t.smoke }) {
		for u := range levels {
			if s.checksAll(u) {
				levels[u] = top + 1
			}
		}
	}
	first, groups, gates := s.first(levels, top, func(t trait) bool { return t.starts }), s.awaitedGroups(levels), s.gateClasses(levels)
	works := s.first(levels, top, func(t trait) bool { return t.works })
	for u := len(levels) - 1; u >= 0; u-- {
		t := s.traits[u]
		if !t.passive || s.checksAll(u) || s.units[u].gated {
			continue
		}
		at, _ := s.highestAllowed(u, levels, top, func(user int) bool { return !t.consumed || !g.Nodes[s.units[user].nodes[0]].Idle })
		if !t.consumed && t.doubtful < 0 {
			at = min(at, s.preferred(u, gates, groups, first, works, top))
		}
		levels[u] = max(lowest[u], at)
	}
	for u := range levels {
		needs := s.lowestAllowed(u, levels)
		if s.units[u].isBound() {
			levels[u] = needs
		}
		levels[u] = max(levels[u], needs)
	}
	return levels
}

// besideStores returns the last of some levels with a store that a later unit waits for. In a
// later level, another store would depend on the health of that one.
func (s *unitSet) besideStores(levels []int, lowest, highest int) int {
	beside := -1
	for u, level := range levels {
		if s.traits[u].store && s.units[u].gated && level >= lowest && level <= highest {
			beside = max(beside, level)
		}
	}
	if beside < 0 {
		return highest
	}
	return beside
}

// placeUnneeded assigns levels to units with health that nothing waits for. What is
// compiled into a program, or hidden in a Secret, shows nowhere, so "nothing points to it" is
// no proof that an awaited program works without the unit:
//   - A store is no later than the first awaited program, which may need it.
//   - Any other program shares the level of the first awaited application of its namespace.
//   - All others, such as an Ingress, are last, where Argo CD does not wait for them, or no
//     later than the program that needs them.
func (s *unitSet) placeUnneeded(levels []int, top int) {
	program := s.first(levels, top, func(t trait) bool { return t.starts })
	for u := len(levels) - 1; u >= 0; u-- {
		t := s.traits[u]
		switch {
		case s.checksAll(u), gatesLater(s.units[u], t), t.defines, t.early, s.awaited[u]:
		case t.doubtful >= 0 || t.smoke || t.everyNode:
			levels[u] = top
		case !t.runs && !t.store && !t.operated:
			levels[u], _ = s.highestAllowed(u, levels, top, func(user int) bool { return !s.traits[user].passive && !s.checksAll(user) })
		case t.store:
			levels[u] = max(levels[u], program)
		default:
			levels[u] = max(levels[u], s.first(levels, top, func(other trait) bool { return other.app && other.namespace == t.namespace }))
		}
	}
}

// first returns the first level with an awaited unit of some kind; top if there is none.
func (s *unitSet) first(levels []int, top int, is func(trait) bool) int {
	first := top
	for u, level := range levels {
		if s.awaited[u] && is(s.traits[u]) {
			first = min(first, level)
		}
	}
	return first
}

// awaitedGroups maps the API groups of awaited custom resources to their first
// level.
func (s *unitSet) awaitedGroups(levels []int) map[string]int {
	groups := map[string]int{}
	for u, level := range levels {
		t := s.traits[u]
		if !s.awaited[u] || t.builtin || t.passive {
			continue
		}
		if first, seen := groups[t.group]; !seen || level < first {
			groups[t.group] = level
		}
	}
	return groups
}

// preferred returns the level where a passive unit does the least harm. Programs
// look up configuration, Secrets, ServiceAccounts and Services by names in their
// code, and applying these early costs nothing. A custom resource may be what the first
// awaited program needs, such as its database or its network; before an operator, which
// may install its kind or refuse it, it comes only if that needs it. Objects that change
// admission are applied last.
func (s *unitSet) preferred(u int, gates []gateClass, groups map[string]int, first, works, top int) int {
	t := s.traits[u]
	if t.admits {
		return top
	}
	if t.early {
		return 0
	}
	if !t.builtin {
		// A unit of an awaited API group may be a part of the awaited object.
		if level, awaited := groups[t.group]; awaited {
			return level
		}
		if t.custom {
			return works
		}
		return top
	}
	want := first
	if t.hasRole {
		want = top
	}
	for _, g := range gates {
		if g.class >= t.rung {
			return min(want, g.level)
		}
	}
	return want
}

// gateClass is a level and the highest class among its units that have a dependent.
type gateClass struct{ level, class int }

// gateClasses returns the levels that end with a gate, in order, each with its class.
func (s *unitSet) gateClasses(levels []int) []gateClass {
	highest := map[int]int{}
	for u, level := range levels {
		if s.units[u].gated {
			highest[level] = max(highest[level], s.traits[u].class)
		}
	}
	all := make([]gateClass, 0, len(highest))
	for _, level := range slices.Sorted(maps.Keys(highest)) {
		all = append(all, gateClass{level, highest[level]})
	}
	return all
}

// moveDoubtfulLast moves units that may never become healthy after all awaited
// ones: to the last level, or to a new one if a hook or smoke makes Argo CD wait
// for the last. Dependencies stay with their users.
func (s *unitSet) moveDoubtfulLast(in input, latest []int) []int {
	levels := slices.Clone(latest)
	last, endsWithHook := 0, false
	moves := s.movable(in)
	for u := range levels {
		if !moves[u] {
			last = max(last, levels[u])
		}
	}
	for u := range levels {
		endsWithHook = endsWithHook || levels[u] == last && !moves[u] && slices.ContainsFunc(s.units[u].nodes,
			func(i int) bool { return in.opt.runsAsHook(&in.graph.Nodes[i]) })
	}
	// In a sync of one phase and wave, Argo CD waits only for the hook itself.
	if endsWithHook && (last > 0 || hasOtherPhase(in.graph, object.Sync)) {
		last++
	}
	for u := range levels {
		if moves[u] {
			levels[u] = max(last, s.lowestAllowed(u, levels))
			last = max(last, levels[u]) // units that the user placed after another one
		}
	}
	for u := len(levels) - 1; u >= 0; u-- {
		if moves[u] {
			levels[u], _ = s.highestAllowed(u, levels, last, func(user int) bool { return moves[user] })
		}
	}
	return levels
}

// movable marks the units that may never become healthy and that no workload needs,
// together with their users, such as the route of a gateway. A hook may need each custom
// resource of its namespace for which an operator runs Pods.
func (s *unitSet) movable(in input) []bool {
	hooks := map[string]bool{} // namespaces with hooks that run Pods
	for _, i := range in.syncNodes() {
		if n := &in.graph.Nodes[i]; in.opt.runsAsHook(n) && !n.Kind.Pod.IsZero() {
			hooks[n.Key.Namespace] = true
		}
	}
	free := make([]bool, len(s.units)) // units without a dependent of their own
	for u := len(free) - 1; u >= 0; u-- {
		t := s.traits[u]
		free[u] = (t.doubtful >= 0 || !t.runs) && !s.awaited[u] && !s.checksAll(u) && !(t.operated && hooks[t.namespace]) &&
			!slices.ContainsFunc(s.units[u].users, func(e edge) bool { return !free[e.unit] && !s.checksAll(e.unit) })
	}
	moves := make([]bool, len(s.units))
	for u := range moves {
		moves[u] = free[u] && (s.traits[u].doubtful >= 0 || slices.ContainsFunc(s.units[u].dependencies, func(e edge) bool {
			return moves[e.unit]
		}))
	}
	return moves
}

// dense removes empty levels.
func dense(levels []int) []int {
	taken := slices.Compact(slices.Sorted(slices.Values(levels)))
	out := make([]int, len(levels))
	for u, level := range levels {
		out[u], _ = slices.BinarySearch(taken, level)
	}
	return out
}
