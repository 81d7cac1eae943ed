package wave

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// The order of a component is computed in stages, each from what those before it
// return:
//
//	constraints  references to demands on waves
//	condense     demands to units, each of objects that stand in one wave
//	arrange      units to levels, and levels to waves
//	settle       waves to the place of each object, with its reason
//	verify       compares the levels with the demands

// input is what every stage reads, and none changes.
type input struct {
	graph *graph.Graph
	base  *knowledge.Base
	opt   Options
	// rungs are those of the nodes.
	rungs []knowledge.Rung
}

// ordering is what the stages come to.
type ordering struct {
	// Places has an entry for each node of the graph.
	Places []Placement
	// yielded are references that do not hold, with what became of them.
	yielded map[graph.Reference]string
	// customers are those of each node for whose sake it is awaited.
	customers map[int][]Customer
	// rules are the demands that hold by default; nil if nobody needed them so far.
	rules []constraint
	// unwaved means that all objects stand in one wave, so that none is written.
	unwaved  bool
	warnings []finding.Finding
}

// rungsOf are the rungs on which the nodes stand.
func rungsOf(g *graph.Graph, base *knowledge.Base) []knowledge.Rung {
	rungs := make([]knowledge.Rung, len(g.Nodes))
	for i := range g.Nodes {
		rungs[i], _ = base.Rung(cmp.Or(g.Nodes[i].Role, g.Nodes[i].Kind.Rung))
	}
	return rungs
}

// order gives the objects of the Sync phase their waves, under the order of their
// author where there is one.
func (in input) order() (ordering, error) {
	ordered := slices.ContainsFunc(in.syncNodes(), func(i int) bool {
		_, set := in.graph.Nodes[i].Wave()
		return set
	})
	switch {
	case in.opt.Waves == Off, ordered && in.opt.Author == Keep:
		return in.keep()
	case ordered && in.opt.Author != Override:
		return in.refine()
	}
	return in.compute()
}

// syncNodes are the nodes that this Application applies in the Sync phase.
func (in input) syncNodes() []int {
	var all []int
	for i := range in.graph.Nodes {
		if n := &in.graph.Nodes[i]; n.InSync() && !n.Elsewhere {
			all = append(all, i)
		}
	}
	return all
}

// compute orders the whole component by itself.
func (in input) compute() (ordering, error) {
	d, a, err := in.arrangeAll()
	if err != nil {
		return ordering{}, err
	}
	n := numbered{a, func(level int) int { return a.waves[level] }}
	o := settle(in, d, n)
	o.unwaved = len(a.waves) == 1
	return o, n.verify(in.graph)
}

// arrangeAll arranges the whole component in the style that is asked for.
func (in input) arrangeAll() (demands, arrangement, error) {
	holds, fewest := holdsByDefault, in.opt.Waves == Compact
	if fewest {
		holds = Need.fails
	}
	d := constraints(in.graph, in.base, holds)
	c, err := condense(in.graph, in.syncNodes(), d.rules)
	if err != nil {
		return demands{}, arrangement{}, err
	}
	if d.rules = nil; !fewest {
		d.rules = c.rules // without the gaps that were given up
	}
	return d, arrange(in, c, fewest), nil
}

// byDefault are the constraints that hold by default, whatever the style.
func (p *Plan) byDefault(base *knowledge.Base) []constraint {
	if p.rules != nil {
		return p.rules
	}
	return constraints(p.Graph, base, holdsByDefault).rules
}

// numbered is an arrangement with the waves of its levels.
type numbered struct {
	arrangement
	wave func(level int) int
}

// settle puts every node in its place, with the reason. What is in none of the
// arrangements keeps its rung or, outside of the Sync phase, its weight.
func settle(in input, d demands, all ...numbered) ordering {
	o := ordering{Places: in.floors(), yielded: maps.Clone(d.yielded), customers: map[int][]Customer{}, rules: d.rules}
	for _, a := range all {
		maps.Copy(o.yielded, a.yielded)
		o.warnings = append(o.warnings, a.warnings...)
		for u := range a.units {
			for _, i := range a.units[u].nodes {
				o.Places[i].Wave = a.wave(a.levels[u])
				o.Places[i].Because = a.reason(in, u, i)
			}
		}
		for node, customers := range a.customers() {
			o.customers[node] = customers
		}
	}
	return o
}

// floors are the places before anything is ordered.
func (in input) floors() []Placement {
	places := make([]Placement, len(in.graph.Nodes))
	for i := range in.graph.Nodes {
		n, place := &in.graph.Nodes[i], &places[i]
		place.Rung = in.rungs[i]
		place.Computed = n.InSync()
		place.Wave, _ = n.Wave()
		place.Because.Cause = ByPhase
		if place.Computed {
			place.Wave = place.Rung.Wave
			place.Because.Cause = ByRung
		}
	}
	return places
}

// customers finds for each node those for whose sake it is awaited.
func (a numbered) customers() map[int][]Customer {
	all := map[int][]Customer{}
	for u := range a.units {
		for _, e := range a.units[u].needs {
			if e.gap > 0 {
				all[e.to] = addCustomer(all[e.to], Customer{Node: e.from, Need: e.need, Reference: *e.ref})
			}
		}
	}
	check := a.firstCheck()
	if check < 0 {
		return all
	}
	for u := range a.units {
		if a.traits[u].passive || a.awaited[u] || a.checksAll(u) || a.wave(a.levels[u]) >= a.wave(a.levels[check]) {
			continue
		}
		for _, i := range a.units[u].nodes {
			all[i] = append(all[i], Customer{Node: a.units[check].nodes[0], Need: Checks})
		}
	}
	return all
}

// firstCheck is the first unit that checks all others, or -1.
func (a *arrangement) firstCheck() int {
	for u := range a.units {
		if a.checksAll(u) {
			return u
		}
	}
	return -1
}

// addCustomer adds a customer, unless its last references say the same.
func addCustomer(all []Customer, c Customer) []Customer {
	for i := len(all) - 1; i >= 0 && all[i].Node == c.Node; i-- {
		if all[i].Need == c.Need {
			return all
		}
	}
	return append(all, c)
}

// verify compares the levels with every constraint. A violation is a fault of this
// package.
func (a numbered) verify(g *graph.Graph) error {
	var faults []finding.Finding
	for u := range a.units {
		for _, e := range a.units[u].needs {
			if a.levels[u] >= a.levels[e.unit]+e.gap {
				continue
			}
			n := g.Nodes[e.from]
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "internal", File: n.File, Line: n.Line, Object: n.Key.String(),
				Message: fmt.Sprintf("Ladder put it into wave %d although it %s %s in wave %d", a.wave(a.levels[u]), e.ref.Why, g.Nodes[e.to].Key, a.wave(a.levels[e.unit])),
				Remedy:  "report this bug of Ladder, with the component"})
		}
	}
	finding.Sort(faults)
	return finding.Err(faults)
}
