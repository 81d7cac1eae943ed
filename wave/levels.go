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
func (a *arrangement) lowest(fewest bool) []int {
	order := make([]int, len(a.units))
	for u := range order {
		order[u] = u
	}
	class := func(u int) int {
		if fewest {
			return 0
		}
		return a.traits[u].class
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(class(x), class(y)) })
	levels := make([]int, len(a.units))
	highest, highestBelow := 0, 0     // the highest level of awaited units: so far, and of lower classes than the current one
	gateLevel, gateLevelBelow := 0, 0 // the level after gates of rungs, likewise
	at := math.MinInt
	for _, u := range order {
		if c := class(u); c > at {
			at, highestBelow, gateLevelBelow = c, highest, gateLevel
		}
		levels[u] = a.lowestAllowed(u, levels)
		if !a.traits[u].passive {
			levels[u] = max(levels[u], gateLevelBelow)
		}
		if a.gatesLater(u) && !a.checksAll(u) {
			levels[u] = max(levels[u], highestBelow)
			highest = max(highest, levels[u])
		}
		if a.traits[u].gates {
			gateLevel = max(gateLevel, levels[u]+1)
		}
	}
	return levels
}

// lowestAllowed returns the lowest level that the dependencies of a unit allow.
func (a *arrangement) lowestAllowed(u int, levels []int) int {
	level := 0
	for _, e := range a.units[u].dependencies {
		level = max(level, levels[e.unit]+e.gap)
	}
	return level
}

// highestAllowed returns the highest level that the users of a unit allow, considering
// only users for which counts returns true; top if there are none.
func (a *arrangement) highestAllowed(u int, levels []int, top int, counts func(user int) bool) (level int, by *edge) {
	level = top
	for i := range a.units[u].users {
		if e := &a.units[u].users[i]; counts(e.unit) && (levels[e.unit]-e.gap < level || by == nil && levels[e.unit]-e.gap == level) {
			level, by = levels[e.unit]-e.gap, e
		}
	}
	return level, by
}

// latest moves units that nothing waits for to the last level, and companions of an
// awaited unit to its level. Units without health are applied before the first
// awaited program starts.
func (a *arrangement) latest(g *graph.Graph, lowest []int) []int {
	levels := slices.Clone(lowest)
	top := 0
	for u := range levels {
		if !a.checksAll(u) {
			top = max(top, levels[u])
		}
	}
	for u := len(levels) - 1; u >= 0; u-- {
		switch {
		case a.checksAll(u), a.gatesLater(u), a.traits[u].defines:
		case a.awaited[u]:
			at, _ := a.highestAllowed(u, levels, top, func(user int) bool { return a.awaited[user] })
			levels[u] = max(levels[u], at)
		default:
			levels[u] = top
		}
	}
	if slices.ContainsFunc(a.traits, func(t trait) bool { return !t.passive && !t.smoke }) {
		for u := range levels {
			if a.checksAll(u) {
				levels[u] = top + 1
			}
		}
	}
	first, groups, gates := a.firstProgram(levels, top), a.awaitedGroups(levels), a.gateClasses(levels)
	for u := len(levels) - 1; u >= 0; u-- {
		t := a.traits[u]
		if !t.passive || a.checksAll(u) || a.units[u].gated {
			continue
		}
		at, _ := a.highestAllowed(u, levels, top, func(user int) bool { return !t.consumed || !g.Nodes[a.units[user].nodes[0]].Idle })
		if !t.consumed && t.doubtful < 0 {
			at = min(at, a.preferred(u, gates, groups, first, top))
		}
		levels[u] = max(lowest[u], at)
	}
	for u := range levels {
		needs := a.lowestAllowed(u, levels)
		if a.units[u].isBound() {
			levels[u] = needs
		}
		levels[u] = max(levels[u], needs)
	}
	return levels
}

// firstProgram returns the first level with an awaited program; top if there is
// none.
func (a *arrangement) firstProgram(levels []int, top int) int {
	first := top
	for u, level := range levels {
		if a.awaited[u] && a.traits[u].starts {
			first = min(first, level)
		}
	}
	return first
}

// awaitedGroups maps the API groups of awaited custom resources to their first
// level.
func (a *arrangement) awaitedGroups(levels []int) map[string]int {
	groups := map[string]int{}
	for u, level := range levels {
		t := a.traits[u]
		if !a.awaited[u] || t.builtin || t.passive {
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
// code, and applying these early costs nothing. Objects that change admission, and
// custom resources, are applied last.
func (a *arrangement) preferred(u int, gates []gateClass, groups map[string]int, first, top int) int {
	t := a.traits[u]
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
func (a *arrangement) gateClasses(levels []int) []gateClass {
	highest := map[int]int{}
	for u, level := range levels {
		if a.units[u].gated {
			highest[level] = max(highest[level], a.traits[u].class)
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
func (a *arrangement) moveDoubtfulLast(in input, latest []int) []int {
	levels := slices.Clone(latest)
	last, endsWithHook := 0, false
	moves := a.movable()
	for u := range levels {
		if !moves[u] {
			last = max(last, levels[u])
		}
	}
	for u := range levels {
		endsWithHook = endsWithHook || levels[u] == last && !moves[u] && slices.ContainsFunc(a.units[u].nodes, func(i int) bool {
			return in.graph.Nodes[i].IsHook() || changesFail(&in.graph.Nodes[i]) && in.opt.Jobs == AsHooks
		})
	}
	// In a sync of one phase and wave, Argo CD waits only for the hook itself.
	if endsWithHook && (last > 0 || hasOtherPhase(in.graph, object.Sync)) {
		last++
	}
	for u := range levels {
		if moves[u] {
			levels[u] = max(last, a.lowestAllowed(u, levels))
			last = max(last, levels[u]) // units that the user placed after another one
		}
	}
	for u := len(levels) - 1; u >= 0; u-- {
		if moves[u] {
			levels[u], _ = a.highestAllowed(u, levels, last, func(user int) bool { return moves[user] })
		}
	}
	return levels
}

// movable marks the units that may never become healthy and that no workload needs,
// together with their users, such as the route of a gateway.
func (a *arrangement) movable() []bool {
	free := make([]bool, len(a.units)) // units without a dependent of their own
	for u := len(free) - 1; u >= 0; u-- {
		t := a.traits[u]
		free[u] = (t.doubtful >= 0 || !t.runs) && !a.awaited[u] && !a.checksAll(u) &&
			!slices.ContainsFunc(a.units[u].users, func(e edge) bool { return !free[e.unit] && !a.checksAll(e.unit) })
	}
	moves := make([]bool, len(a.units))
	for u := range moves {
		moves[u] = free[u] && (a.traits[u].doubtful >= 0 || slices.ContainsFunc(a.units[u].dependencies, func(e edge) bool { return moves[e.unit] }))
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
