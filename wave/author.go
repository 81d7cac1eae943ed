package wave

import (
	"maps"
	"math"
	"slices"
)

// refine keeps the author's order. Objects without a wave are in wave 0, as in Argo
// CD. Each of the author's waves is ordered like a component of its own, and split
// only where it would fail otherwise. If the new waves do not fit between the
// author's numbers, all numbers are spread. Reading Ladder's own output again
// therefore changes nothing.
func (in input) refine() (ordering, error) {
	waves := map[int][]int{} // the author's waves, with their nodes
	for _, i := range in.syncNodes() {
		wave, _ := in.graph.Nodes[i].Wave()
		waves[wave] = append(waves[wave], i)
	}
	isGate := holdsWithinWave
	if in.opt.Waves == Compact {
		isGate = WaitReason.fails
	}
	last := slices.Max(slices.Collect(maps.Keys(waves)))
	d := in.constraints(isGate, func(i int) bool { wave, _ := in.graph.Nodes[i].Wave(); return wave < last })
	inner := map[int][]constraint{}
	for _, c := range d.rules {
		from, _ := in.graph.Nodes[c.dependent].Wave()
		if to, _ := in.graph.Nodes[c.dependency].Wave(); from == to {
			inner[from] = append(inner[from], c)
		}
	}
	d.rules = nil // these differ from the rules that hold by default
	arrangements := map[int]arrangement{}
	for wave, nodes := range waves {
		c, err := condense(in.graph, nodes, inner[wave])
		if err != nil {
			return ordering{}, err
		}
		if a := arrange(in, c, true); a.hasGate() {
			arrangements[wave] = a
		} else {
			arrangements[wave] = a.onOneLevel()
		}
	}
	factor := spread(arrangements)
	var all []numberedArrangement
	for wave, a := range arrangements {
		n := numberedArrangement{a, func(level int) int { return wave*factor + level }}
		if err := n.verify(in.graph); err != nil {
			return ordering{}, err
		}
		all = append(all, n)
	}
	o := settle(in, d, all...)
	for _, i := range in.syncNodes() {
		o.Places[i].Author = true
	}
	return o, nil
}

// hasGate reports whether an object must be healthy before another one.
func (a *arrangement) hasGate() bool {
	return slices.ContainsFunc(a.units, func(u unit) bool { return u.gated }) || slices.Max(a.levels) > 0 &&
		slices.ContainsFunc(a.traits, func(t trait) bool { return t.smoke })
}

// onOneLevel returns the arrangement with all units on one level.
func (a arrangement) onOneLevel() arrangement {
	a.levels = make([]int, len(a.levels))
	return a
}

// spread returns the least power of ten by which to multiply the author's waves, so
// that the levels of each fit before the next.
func spread(arrangements map[int]arrangement) int {
	waves := slices.Sorted(maps.Keys(arrangements))
	factor := 1
	for at := 1; at < len(waves); at++ {
		before := arrangements[waves[at-1]]
		for waves[at-1]*factor+slices.Max(before.levels) >= waves[at]*factor {
			factor *= 10
		}
	}
	return factor
}

// keep leaves existing waves unchanged. Objects without a wave stay in wave 0, as
// in Argo CD, unless they depend on something later or may never become healthy.
func (in input) keep() (ordering, error) {
	d, a, err := in.arrangeAll()
	if err != nil {
		return ordering{}, err
	}
	o := settle(in, d, numberedArrangement{a, func(level int) int { return level }})
	for u := range a.units {
		least := math.MinInt
		for _, e := range a.units[u].dependencies {
			if !e.companion && !slices.Contains(in.leftOut, *e.ref) {
				least = max(least, o.Places[e.dependency].Wave+e.gap)
			}
		}
		for _, i := range a.units[u].nodes {
			place := &o.Places[i]
			author, set := in.graph.Nodes[i].Wave()
			place.Wave, place.Author = author, true
			place.Kept = set || in.opt.Waves == Off
			if !place.Kept {
				place.Wave = max(author, least)
			}
		}
	}
	last := math.MinInt
	for _, i := range in.syncNodes() {
		last = max(last, o.Places[i].Wave)
	}
	for u := range a.units {
		switch {
		case a.checksAll(u), a.traits[u].doubtful >= 0 && !a.awaited[u] && !a.traits[u].consumed:
			o.raise(a.units[u].nodes, last)
		case a.traits[u].consumed:
			first := math.MaxInt
			for _, e := range a.units[u].users {
				if !in.graph.Nodes[e.dependent].Idle {
					first = min(first, o.Places[e.dependent].Wave)
				}
			}
			if first == math.MaxInt {
				first = last
			}
			o.raise(a.units[u].nodes, first)
		}
	}
	return o, nil
}

// raise moves nodes to a wave, unless that would lower them or their author set
// another one.
func (o ordering) raise(nodes []int, wave int) {
	for _, i := range nodes {
		if place := &o.Places[i]; !place.Kept {
			place.Wave = max(place.Wave, wave)
		}
	}
}
