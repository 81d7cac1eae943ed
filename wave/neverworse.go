package wave

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// NeverWorse is the rule for waits with which a sync would certainly hang, and would not in
// Argo CD's own order.
const NeverWorse finding.Rule = "never-worse"

// hangs plays the Sync phase. It returns the objects that the API server refuses, or that Argo
// CD waits for, since what they certainly need is applied later.
func (s *simulation) hangs() (all []latePath) {
	for _, l := range s.late {
		if r := l.last(); s.at[l.node].phase == object.Sync && s.isCertain(l.node, r) && (r.Fails == graph.Refused || s.isAwaited(l.node)) {
			all = append(all, l)
		}
	}
	return all
}

// worse returns the hangs that Argo CD's own order does not have: that without waves or, if
// they count, with those of the author.
func (s *simulation) worse() []latePath {
	hangs := s.hangs()
	if len(hangs) == 0 {
		return nil
	}
	own := *s.Plan
	own.Places = slices.Clone(s.Places)
	for i := range own.Places {
		if place := &own.Places[i]; place.Computed {
			place.Wave = 0
			if s.opt.Author != Override {
				place.Wave, _ = s.Graph.Nodes[i].Wave()
			}
		}
	}
	inOwn := map[int]bool{}
	for _, h := range newSimulation(&own, s.base).hangs() {
		inOwn[h.node] = true
	}
	return slices.DeleteFunc(hangs, func(h latePath) bool { return inOwn[h.node] })
}

// plan orders the component. It leaves out the waits with which the sync would certainly hang,
// the fewest first, until it is no worse than Argo CD's own order.
func (in input) plan() (*simulation, error) {
	var findings []finding.Finding
	for {
		o, err := in.order()
		if err != nil {
			return nil, err
		}
		s := newSimulation(&Plan{Graph: in.graph, base: in.base, opt: in.opt, doubts: in.doubts, ordering: o}, in.base)
		var of latePath
		var fewest []graph.Reference
		for _, h := range s.worse() {
			if waits := s.waitsBefore(h); len(waits) > 0 && (fewest == nil || len(waits) < len(fewest)) {
				of, fewest = h, waits
			}
		}
		if fewest == nil {
			s.warnings = append(s.warnings, findings...)
			return s, nil
		}
		findings = append(findings, s.leftOut(of, fewest))
		in = in.without(fewest)
	}
}

// waitsBefore returns the waits because of which what is missing at a hang is applied later:
// those between the two objects or, if hand-written waves are kept, what Ladder raised the
// wave for.
func (s *simulation) waitsBefore(h latePath) (waits []graph.Reference) {
	rules := constraints(s.Graph, s.base, s.doubts, holdsByDefault, noneFollowed).rules
	next := map[int][]constraint{}
	for _, c := range rules {
		next[c.dependent] = append(next[c.dependent], c)
	}
	path, _ := digraph.Path(h.last().To, func(i int) bool { return i == h.node }, func(i int) []constraint { return next[i] },
		func(_ int, c constraint) int { return c.dependency })
	for _, c := range path {
		if s.isGate(*c.ref) {
			waits = append(waits, *c.ref)
		}
	}
	if waits != nil {
		return waits
	}
	for _, c := range rules {
		from, to := s.at[c.dependent], s.at[c.dependency]
		isBetween := s.isGate(*c.ref) && from.compare(s.at[h.node]) > 0 && to.compare(s.at[h.last().To]) < 0
		isRaised := s.opt.Author == Keep && c.dependent == h.last().To && to.compare(s.at[h.node]) > 0
		if isBetween || isRaised {
			waits = append(waits, *c.ref)
		}
	}
	return waits
}

// isGate reports whether the order makes the object of a reference wait for the target.
func (s *simulation) isGate(r graph.Reference) bool {
	return slices.ContainsFunc(s.dependents[r.To], func(d Dependent) bool { return d.Reference == r }) && s.at[r.From].compare(s.at[r.To]) > 0
}

// without returns the input without some waits.
func (in input) without(waits []graph.Reference) input {
	in.leftOut = slices.Concat(in.leftOut, waits)
	return in
}

// leftOut reports the waits that are left out because of a hang.
func (s *simulation) leftOut(h latePath, waits []graph.Reference) finding.Finding {
	needs, about := s.sentences(h.path)
	var conditions []string
	for _, r := range waits {
		conditions = append(conditions, fmt.Sprintf("%s waited for %s", s.name(r.From), s.name(r.To)))
		about = append(about, s.Graph.Nodes[r.From].Key.String(), s.Graph.Nodes[r.To].Key.String())
	}
	slices.Sort(about)
	f := s.finding(h.node, finding.Warning, NeverWorse,
		fmt.Sprintf("%s; if %s, the sync would hang, which it does not in Argo CD's own order, so Ladder leaves out the wait",
			strings.Join(needs, "; "), strings.Join(conditions, ", and ")), "remove one of these references")
	f.About = strings.Join(slices.Compact(about), ", ")
	return f
}

// neverWorse holds that the order has no hang that Argo CD's own order does not have. Such a
// hang is a bug in this package.
func (s *simulation) neverWorse() (found []finding.Finding) {
	for _, h := range s.worse() {
		path, about := s.sentences(h.path)
		f := s.finding(h.node, finding.Error, NeverWorse,
			"the sync hangs "+s.at[h.node].String()+", which it does not in Argo CD's own order: "+strings.Join(path,
				"; ")+", which is applied later",
			"report this as a bug in Ladder, and attach the component; until then, use waves: off")
		f.About = strings.Join(about, ", ")
		found = append(found, f)
	}
	return found
}
