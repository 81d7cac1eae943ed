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

// The order of a component is computed in stages. Each uses the results of the
// stages before it:
//
//	constraints  turns references into constraints on waves
//	condense     groups objects that must share a wave into units
//	arrange      assigns units to levels, and waves to levels
//	settle       assigns each object its wave, with the reason
//	verify       checks the levels against the constraints

// input is what all stages read. No stage changes it.
type input struct {
	graph *graph.Graph
	base  *knowledge.Base
	opt   Options
	// rungs holds the rung of each node.
	rungs []knowledge.Rung
	// leftOut are references that make no wait, because the sync would hang.
	leftOut []graph.Reference
	// doubts say which nodes may not become healthy.
	doubts []doubt
}

// ordering is the result of the stages.
type ordering struct {
	// Places has an entry for each node of the graph.
	Places []Placement
	// yielded maps each reference that Ladder does not enforce to a phrase that says
	// why.
	yielded map[graph.Reference]string
	// omitted are the gates that were left out because of doubts, of those objects that come
	// no later than what they do not wait for.
	omitted []omission
	// dependents maps each node to its dependents.
	dependents map[int][]Dependent
	// rules are the constraints that hold by default; nil if the stages used others.
	rules []constraint
	// singleWave means that all objects share one wave, so none is written.
	singleWave bool
	warnings   []finding.Finding
}

// rungsOf returns the rung of each node.
func rungsOf(g *graph.Graph, base *knowledge.Base) []knowledge.Rung {
	rungs := make([]knowledge.Rung, len(g.Nodes))
	for i := range g.Nodes {
		rungs[i], _ = base.Rung(cmp.Or(g.Nodes[i].Role, g.Nodes[i].Kind.Rung))
	}
	return rungs
}

// order assigns waves to the objects of the Sync phase, within the author's order
// if there is one.
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

// syncNodes returns the nodes that this Application applies in the Sync phase.
func (in input) syncNodes() []int {
	var all []int
	for i := range in.graph.Nodes {
		if n := &in.graph.Nodes[i]; n.InSync() && !n.External {
			all = append(all, i)
		}
	}
	return all
}

// compute orders the whole component and ignores existing waves.
func (in input) compute() (ordering, error) {
	d, a, err := in.arrangeAll()
	if err != nil {
		return ordering{}, err
	}
	n := numberedArrangement{a, func(level int) int { return a.waves[level] }}
	o := settle(in, d, n)
	o.singleWave = len(a.waves) == 1
	return o, n.verify(in.graph)
}

// arrangeAll arranges the whole component in the requested style.
func (in input) arrangeAll() (constraintSet, arrangement, error) {
	isGate, fewest := holdsByDefault, in.opt.Waves == Compact
	if fewest {
		isGate = WaitReason.fails
	}
	d := in.constraints(isGate, noneFollowed)
	c, err := condense(in.graph, in.syncNodes(), d.rules)
	if err != nil {
		return constraintSet{}, arrangement{}, err
	}
	if d.rules = nil; !fewest {
		d.rules = c.rules // without the gaps that yielded
	}
	return d, arrange(in, c, fewest), nil
}

// defaultConstraints returns the constraints of the default style, whichever style the
// waves have.
func (p *Plan) defaultConstraints(base *knowledge.Base) []constraint {
	if p.rules != nil {
		return p.rules
	}
	return constraints(p.Graph, base, p.doubts, holdsByDefault, noneFollowed).rules
}

// numberedArrangement is an arrangement with the waves of its levels.
type numberedArrangement struct {
	arrangement
	wave func(level int) int
}

// settle assigns each node its placement, with the reason. Nodes outside the
// arrangements keep their rung or, outside the Sync phase, their weight.
func settle(in input, d constraintSet, all ...numberedArrangement) ordering {
	o := ordering{Places: in.initialPlacements(), yielded: maps.Clone(d.yielded), dependents: map[int][]Dependent{}, rules: d.rules}
	for _, a := range all {
		maps.Copy(o.yielded, a.yielded)
		o.warnings = append(o.warnings, a.warnings...)
		for u := range a.units {
			for _, i := range a.units[u].nodes {
				o.Places[i].Wave = a.wave(a.levels[u])
				o.Places[i].Because = a.reason(in, u, i)
			}
		}
		maps.Copy(o.dependents, a.dependents())
	}
	for _, left := range d.omitted {
		if from, to := o.Places[left.From], o.Places[left.To]; in.opt.Waves != Off && from.Wave <= to.Wave {
			o.omitted = append(o.omitted, left)
			o.yielded[*left.Reference] = "no wait, since " + left.doubt.describe(in.graph, left.To)
		}
	}
	return o
}

// initialPlacements returns the placements before ordering.
func (in input) initialPlacements() []Placement {
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

// dependents maps each node to the dependents that wait for it.
func (a numberedArrangement) dependents() map[int][]Dependent {
	all := map[int][]Dependent{}
	for u := range a.units {
		for _, e := range a.units[u].dependencies {
			if e.gap > 0 {
				all[e.dependency] = addDependent(all[e.dependency], Dependent{Node: e.dependent, Reason: e.reason, Reference: *e.ref})
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
			all[i] = append(all[i], Dependent{Node: a.units[check].nodes[0], Reason: Checks})
		}
	}
	return all
}

// firstCheck returns the first unit that tests all others, or -1.
func (a *arrangement) firstCheck() int {
	for u := range a.units {
		if a.checksAll(u) {
			return u
		}
	}
	return -1
}

// addDependent adds a dependent unless it is already in the list.
func addDependent(all []Dependent, c Dependent) []Dependent {
	for i := len(all) - 1; i >= 0 && all[i].Node == c.Node; i-- {
		if all[i].Reason == c.Reason {
			return all
		}
	}
	return append(all, c)
}

// verify compares the levels with every constraint. A violation is a bug in this
// package.
func (a numberedArrangement) verify(g *graph.Graph) error {
	var faults []finding.Finding
	for u := range a.units {
		for _, e := range a.units[u].dependencies {
			if a.levels[u] >= a.levels[e.unit]+e.gap {
				continue
			}
			n := g.Nodes[e.dependent]
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "internal", File: n.File, Line: n.Line, Object: n.Key.String(),
				Message: fmt.Sprintf("Ladder put it into wave %d although it %s %s in wave %d", a.wave(a.levels[u]), e.ref.Why,
					g.Nodes[e.dependency].Key, a.wave(a.levels[e.unit])),
				Remedy: "report this as a bug in Ladder, and attach the component"})
		}
	}
	finding.Sort(faults)
	return finding.Err(faults)
}
