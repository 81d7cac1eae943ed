package wave

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
)

// lowest gives each unit the lowest level that its needs allow. What is awaited
// keeps the order of the classes: nothing of a higher rung comes a level before
// something of a lower one, unless the fewest levels are asked for.
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
	reached, below := 0, 0 // by awaited units: so far, and of lower classes than the one we are at
	gated, behind := 0, 0  // the level behind what gates by its rung, likewise
	at := math.MinInt
	for _, u := range order {
		if c := class(u); c > at {
			at, below, behind = c, reached, gated
		}
		levels[u] = a.after(u, levels)
		if !a.traits[u].passive {
			levels[u] = max(levels[u], behind)
		}
		if a.gatesLater(u) && !a.checksAll(u) {
			levels[u] = max(levels[u], below)
			reached = max(reached, levels[u])
		}
		if a.traits[u].gates {
			gated = max(gated, levels[u]+1)
		}
	}
	return levels
}

// after is the lowest level that the levels of what a unit needs allow.
func (a *arrangement) after(u int, levels []int) int {
	level := 0
	for _, e := range a.units[u].needs {
		level = max(level, levels[e.unit]+e.gap)
	}
	return level
}

// before is the highest level that the levels of those users allow that count;
// top if none does.
func (a *arrangement) before(u int, levels []int, top int, counts func(user int) bool) (level int, by *edge) {
	level = top
	for i := range a.units[u].users {
		if e := &a.units[u].users[i]; counts(e.unit) && (levels[e.unit]-e.gap < level || by == nil && levels[e.unit]-e.gap == level) {
			level, by = levels[e.unit]-e.gap, e
		}
	}
	return level, by
}

// latest moves what nobody waits for to the last level, and what is awaited only
// because something awaited may need it to the level of that. What has no health
// is there when the first program that is awaited starts.
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
			at, _ := a.before(u, levels, top, func(user int) bool { return a.awaited[user] })
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
		at, _ := a.before(u, levels, top, func(user int) bool { return !t.consumed || !g.Nodes[a.units[user].nodes[0]].Idle })
		if !t.consumed && t.doubtful < 0 {
			at = min(at, a.preferred(u, gates, groups, first, top))
		}
		levels[u] = max(lowest[u], at)
	}
	for u := range levels {
		needs := a.after(u, levels)
		if a.units[u].isBound() {
			levels[u] = needs
		}
		levels[u] = max(levels[u], needs)
	}
	return levels
}

// firstProgram is the first level on which a program is awaited; top if there is
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

// awaitedGroups are the API groups of custom resources that are awaited, with the
// first level on which one is.
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

// preferred is the level on which a passive unit does the least harm. Programs look
// up settings, Secrets, accounts and Services by names that stand in their code
// and in no manifest, and early such objects cost nothing. What changes the
// admission of others, and what belongs to an operator, comes with the last.
func (a *arrangement) preferred(u int, gates []gateClass, groups map[string]int, first, top int) int {
	t := a.traits[u]
	if t.admits {
		return top
	}
	if t.early {
		return 0
	}
	if !t.builtin {
		// What belongs to something that is awaited may be a part of it.
		if level, awaited := groups[t.group]; awaited {
			return level
		}
		return top
	}
	want := first
	if t.placed {
		want = top
	}
	for _, g := range gates {
		if g.class >= t.rung {
			return min(want, g.level)
		}
	}
	return want
}

// gateClass is the highest class on a level among what has a customer.
type gateClass struct{ level, class int }

// gateClasses are those of the levels that end with a gate, the first before all.
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

// moveDoubtfulLast moves what may never be healthy behind all that is awaited: to the
// last level, or to one of its own where a hook or a smoke makes Argo CD wait for
// the last. What somebody needs stays with those who do.
func (a *arrangement) moveDoubtfulLast(in input, latest []int) []int {
	levels := slices.Clone(latest)
	last, hooked := 0, false
	moves := a.movable()
	for u := range levels {
		if !moves[u] {
			last = max(last, levels[u])
		}
	}
	for u := range levels {
		hooked = hooked || levels[u] == last && !moves[u] && slices.ContainsFunc(a.units[u].nodes, func(i int) bool {
			return in.graph.Nodes[i].IsHook() || changesFail(&in.graph.Nodes[i]) && in.opt.Jobs == AsHooks
		})
	}
	if hooked {
		last++
	}
	for u := range levels {
		if moves[u] {
			levels[u] = max(last, a.after(u, levels))
			last = max(last, levels[u]) // what a person put behind another one
		}
	}
	for u := len(levels) - 1; u >= 0; u-- {
		if moves[u] {
			levels[u], _ = a.before(u, levels, last, func(user int) bool { return moves[user] })
		}
	}
	return levels
}

// movable are the units whose health may never come, and that no workload needs;
// and what needs them, such as a route its gateway, comes along.
func (a *arrangement) movable() []bool {
	free := make([]bool, len(a.units)) // nobody waits for it, or would have to
	for u := len(free) - 1; u >= 0; u-- {
		t := a.traits[u]
		free[u] = (t.doubtful >= 0 || !t.runs) && !a.awaited[u] && !a.checksAll(u) &&
			!slices.ContainsFunc(a.units[u].users, func(e edge) bool { return !free[e.unit] && !a.checksAll(e.unit) })
	}
	moves := make([]bool, len(a.units))
	for u := range moves {
		moves[u] = free[u] && (a.traits[u].doubtful >= 0 || slices.ContainsFunc(a.units[u].needs, func(e edge) bool { return moves[e.unit] }))
	}
	return moves
}

// dense leaves out the levels on which nothing stands.
func dense(levels []int) []int {
	taken := slices.Compact(slices.Sorted(slices.Values(levels)))
	out := make([]int, len(levels))
	for u, level := range levels {
		out[u], _ = slices.BinarySearch(taken, level)
	}
	return out
}
