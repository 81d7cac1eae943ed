package wave

import (
	"maps"
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
)

// refine keeps the order that is there. Whoever wrote a wave took objects without
// one to be in wave 0. Each of the author's waves is ordered like a component of
// its own, and split only where it would fail as it is. Where that needs room that
// is not between the author's numbers, all of them are spread; where nothing needs
// it, they stay as they are. This makes our own output, read again, come out
// unchanged.
func (p *Plan) refine(base *knowledge.Base) error {
	waves := map[int][]int{} // the author's, with the nodes in it
	for _, i := range p.ours() {
		wave, _ := p.Graph.Nodes[i].Wave()
		waves[wave] = append(waves[wave], i)
	}
	holds := holdsWithinWave
	if p.opt.Waves == Compact {
		holds = Need.fails
	}
	rules, yielded := constraints(p, base, holds)
	maps.Copy(p.yielded, yielded)
	inner := map[int][]constraint{}
	for _, c := range rules {
		from, _ := p.Graph.Nodes[c.from].Wave()
		if to, _ := p.Graph.Nodes[c.to].Wave(); from == to {
			inner[from] = append(inner[from], c)
		}
	}
	arrangements := map[int]arrangement{}
	for wave, nodes := range waves {
		a, err := arrange(p, nodes, inner[wave], base, true)
		if err != nil {
			return err
		}
		if !a.hasGate() {
			a.level()
		}
		if err := a.verify(p); err != nil {
			return err
		}
		arrangements[wave] = a
	}
	factor := spread(arrangements)
	for wave, a := range arrangements {
		a.settle(p, func(level int) int { return wave*factor + level })
		for _, i := range waves[wave] {
			p.Places[i].Author = true
		}
	}
	return nil
}

// hasGate reports whether something must be healthy before something else.
func (a *arrangement) hasGate() bool {
	return slices.ContainsFunc(a.units, func(u unit) bool { return u.gated }) || slices.Max(a.levels) > 0 && slices.ContainsFunc(a.traits, func(t trait) bool { return t.smoke })
}

// level puts all units on one level.
func (a *arrangement) level() {
	clear(a.levels)
}

// spread is the least power of ten by which the author's waves must be multiplied
// to have room for the levels of each before the next.
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

// keep leaves the waves that are there. Whoever wrote them took the objects
// without one to be in wave 0, so that is where these stay, unless they need
// something that comes later, or nothing may wait for them.
func (p *Plan) keep(base *knowledge.Base) error {
	a, err := p.arrangeAll(base)
	if err != nil {
		return err
	}
	a.settle(p, func(level int) int { return level })
	for u := range a.units {
		least := math.MinInt
		for _, e := range a.units[u].needs {
			if !e.companion {
				least = max(least, p.Places[e.to].Wave+e.gap)
			}
		}
		for _, i := range a.units[u].nodes {
			place := &p.Places[i]
			author, set := p.Graph.Nodes[i].Wave()
			place.Wave, place.Author = author, true
			place.Kept = set || p.opt.Waves == Off
			if !place.Kept {
				place.Wave = max(author, least)
			}
		}
	}
	last := math.MinInt
	for _, i := range p.ours() {
		last = max(last, p.Places[i].Wave)
	}
	for u := range a.units {
		switch {
		case a.checksAll(u), a.traits[u].doubtful >= 0 && !a.awaited[u] && !a.traits[u].consumed:
			p.raise(a.units[u].nodes, last)
		case a.traits[u].consumed:
			first := math.MaxInt
			for _, e := range a.units[u].users {
				if !p.Graph.Nodes[e.from].Idle {
					first = min(first, p.Places[e.from].Wave)
				}
			}
			if first == math.MaxInt {
				first = last
			}
			p.raise(a.units[u].nodes, first)
		}
	}
	return nil
}

// raise puts nodes into a wave, unless that would be down, or their author wrote
// another one.
func (p *Plan) raise(nodes []int, wave int) {
	for _, i := range nodes {
		if place := &p.Places[i]; !place.Kept {
			place.Wave = max(place.Wave, wave)
		}
	}
}
