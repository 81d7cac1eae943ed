package order

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/internal/digraph"
)

// scope is the state of the computation of one Scope.
type scope struct {
	Scope
	in      Input
	needs   []lifted
	unknown map[int]bool

	// nodes are the siblings that have a place, and index finds them.
	nodes []int
	index map[int]int
	now   []int
	// hard are the dependencies that the order satisfies, soft the orders that it keeps because
	// of unknown content.
	hard []lifted
	soft []edge
}

func (s *scope) compute() {
	s.read()
	s.breakCycles()
	s.addInferred()
	if s.Kind == Proposed {
		s.propose()
		return
	}
	s.addSoft()
	p := problem{now: s.now, edges: slices.Concat(s.edges(), s.soft), least: s.least()}
	if s.Kind == Steps {
		p.limited, p.lowest, p.highest = true, 1, s.Count
	}
	at, ok := p.solve()
	if !ok {
		s.Lacking = true
		p.limited = false
		at, _ = p.solve()
		low := slices.Min(at)
		for i := range at {
			at[i] += 1 - min(low, 1)
		}
		s.Count = max(s.Count, slices.Max(at))
	}
	s.explain(at)
}

// least returns how low each sibling may become: not before what else their parent contains and
// is before it.
func (s *scope) least() []int {
	beside := s.in.Beside[s.Parent]
	if s.Kind != Waves || len(beside) == 0 {
		return nil
	}
	all := slices.Repeat([]int{none}, len(s.now))
	for i, now := range s.now {
		for _, wave := range beside {
			switch {
			case wave < now:
				all[i] = max(all[i], wave+1)
			case wave == now:
				all[i] = max(all[i], wave)
			}
		}
	}
	return all
}

// read reads the places that the siblings have.
func (s *scope) read() {
	nodes := s.in.Tree.Nodes
	if s.Parent != inplace.None && nodes[s.Parent].IsSet {
		s.Kind, s.Count = Steps, nodes[s.Parent].Steps
		if s.Count == 0 {
			s.Kind = Proposed
		}
	}
	s.index = map[int]int{}
	for _, i := range s.in.Tree.Children(s.Parent) {
		n := nodes[i]
		row := Row{Node: i, Verdict: Equal}
		switch s.Kind {
		case Waves:
			row.Now, row.Set = n.Wave.Number, n.Wave.Set
		case Steps:
			row.Now, row.Set = n.Step, n.Step > 0
		}
		row.Computed = row.Now
		s.Rows = append(s.Rows, row)
		if s.Kind == Steps && !row.Set {
			s.Rows[len(s.Rows)-1].Verdict = Unselected
			s.Rows[len(s.Rows)-1].Why = "no step selects it, so Argo CD never syncs it"
			continue
		}
		s.index[i] = len(s.nodes)
		s.nodes = append(s.nodes, i)
		if s.Kind == Proposed {
			s.now = append(s.now, n.Wave.Number)
			continue
		}
		s.now = append(s.now, row.Now)
	}
	s.needs = slices.DeleteFunc(slices.Clone(s.needs), func(l lifted) bool {
		_, from := s.index[l.after]
		_, to := s.index[l.before]
		return !from || !to
	})
	for _, l := range s.needs {
		if l.certain {
			s.hard = append(s.hard, l)
		}
	}
}

// edges returns the dependencies as edges between indices.
func (s *scope) edges() []edge {
	var all []edge
	for _, l := range s.hard {
		all = append(all, edge{s.index[l.before], s.index[l.after], l.gap})
	}
	return all
}

// chain returns a shortest path of dependencies that leads from a sibling to one that comes
// after it; if strictly is set, with one that needs a later place.
func (s *scope) chain(before, after int, strictly bool) []lifted {
	out := map[int][]lifted{}
	for _, l := range s.hard {
		out[l.before] = append(out[l.before], l)
	}
	path, _ := digraph.Chain(before, after, strictly, func(at int) []lifted { return out[at] },
		func(l lifted) (int, bool) { return l.after, l.gap > 0 })
	return path
}

// breakCycles removes a dependency from each cycle that no order satisfies: the one with the
// fewest reasons.
func (s *scope) breakCycles() {
	for {
		shortest := digraph.StrictCycle(len(s.nodes), s.hard, func(l lifted) (int, int, bool) {
			return s.index[l.before], s.index[l.after], l.gap > 0
		})
		if shortest == nil {
			return
		}
		weakest := slices.MinFunc(shortest, func(x, y lifted) int { return cmp.Compare(x.count, y.count) })
		c := Cycle{Removed: weakest.need}
		for _, l := range shortest {
			c.Needs, c.Siblings = append(c.Needs, l.need), append(c.Siblings, l.after)
		}
		s.Cycles = append(s.Cycles, c)
		s.hard = slices.DeleteFunc(s.hard, func(l lifted) bool { return l.before == weakest.before && l.after == weakest.after })
	}
}

// addInferred adds the inferred dependencies that neither the order of the owners nor another
// dependency contradicts.
func (s *scope) addInferred() {
	var inferred []lifted
	for _, l := range s.needs {
		if !l.certain {
			inferred = append(inferred, l)
		}
	}
	slices.SortStableFunc(inferred, func(x, y lifted) int { return cmp.Or(cmp.Compare(y.gap, x.gap), cmp.Compare(y.count, x.count)) })
	for _, l := range inferred {
		if s.now[s.index[l.after]] < s.now[s.index[l.before]] || s.chain(l.after, l.before, l.gap == 0) != nil {
			s.Ignored = append(s.Ignored, l.need)
			continue
		}
		s.hard = append(s.hard, l)
	}
}

// addSoft keeps the order of siblings with unknown content, where the dependencies do not
// contradict it.
func (s *scope) addSoft() {
	d := distances(len(s.nodes), s.edges())
	kept := map[int]*Kept{}
	for i, x := range s.nodes {
		for j, y := range s.nodes {
			if s.now[i] >= s.now[j] || !s.unknown[x] && !s.unknown[y] {
				continue
			}
			if d[j][i] >= 0 {
				s.Crossed = append(s.Crossed, [2]int{x, y})
				continue
			}
			s.soft = append(s.soft, edge{i, j, 1})
			if d[i][j] < 1 {
				extend(d, i, j)
			}
			if s.unknown[x] {
				count(kept, x).After++
			}
			if s.unknown[y] {
				count(kept, y).Before++
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(kept)) {
		s.Kept = append(s.Kept, *kept[i])
	}
}

func count(kept map[int]*Kept, node int) *Kept {
	if kept[node] == nil {
		kept[node] = &Kept{Node: node}
	}
	return kept[node]
}

// extend adds an edge with a gap of one to distances.
func extend(d [][]int, before, after int) {
	for i := range d {
		if d[i][before] == none {
			continue
		}
		for j, far := range d[after] {
			if far != none {
				d[i][j] = max(d[i][j], d[i][before]+1+far)
			}
		}
	}
}

// propose computes steps for an ApplicationSet without any, if its Applications need an order. The
// waves in its template, which Argo CD ignores, say what its owners want. Without them, an
// Application comes as late as what needs it allows, and those that nothing needs come last: so
// none holds back others without a reason.
func (s *scope) propose() {
	if !slices.ContainsFunc(s.hard, func(l lifted) bool { return l.certain && l.gap > 0 }) {
		return
	}
	at := s.now
	if slices.Min(at) != slices.Max(at) {
		s.addSoft()
		at, _ = problem{now: s.now, edges: slices.Concat(s.edges(), s.soft)}.solve()
	} else {
		for i, d := range distances(len(s.nodes), s.edges()) {
			at[i] = -slices.Max(d)
		}
	}
	places := slices.Compact(slices.Sorted(slices.Values(at)))
	s.Count = len(places)
	for i := range at {
		at[i], _ = slices.BinarySearch(places, at[i])
	}
	for i, node := range s.nodes {
		row := s.row(node)
		row.Verdict, row.Computed = Missing, at[i]+1
		if s.unknown[node] {
			row.Rests = []int{node}
		}
		if l, ok := s.bound(at, i, false); ok {
			row.Why = "before " + s.name(l.after) + ": " + l.need.Because
		} else if l, ok := s.bound(at, i, true); ok {
			row.Why = "after " + s.name(l.before) + ": " + l.need.Because
		} else if n := s.in.Tree.Nodes[node]; n.Wave.Set {
			row.Why = fmt.Sprintf("its template has wave %d, which Argo CD ignores", n.Wave.Number)
		} else {
			row.Why = "nothing needs it"
		}
	}
}

func (s *scope) row(node int) *Row {
	return &s.Rows[slices.IndexFunc(s.Rows, func(r Row) bool { return r.Node == node })]
}

// name returns the name of a node for sentences.
func (s *scope) name(node int) string { return s.in.Tree.Nodes[node].Object.ID.Name }

// bound returns a dependency that allows no earlier place than that of a sibling, or no later
// one, certain ones first.
func (s *scope) bound(at []int, i int, lower bool) (best lifted, found bool) {
	for _, l := range s.hard {
		if at[s.index[l.before]]+l.gap != at[s.index[l.after]] || lower && l.after != s.nodes[i] || !lower && l.before != s.nodes[i] {
			continue
		}
		if !found || l.certain && !best.certain || l.certain == best.certain && l.gap > best.gap {
			best, found = l, true
		}
	}
	return best, found
}

// explain fills in the rows.
func (s *scope) explain(at []int) {
	for i, node := range s.nodes {
		row := s.row(node)
		row.Computed = at[i]
		switch {
		case at[i] > row.Now:
			row.Verdict = Later
		case at[i] < row.Now:
			row.Verdict = Earlier
		default:
			s.possible(row, i, at)
			continue
		}
		if l, ok := s.bound(at, i, true); ok && row.Verdict == Later {
			row.Why = fmt.Sprintf("after %s: %s", s.name(l.before), l.need.Because)
			continue
		}
		if l, ok := s.bound(at, i, false); ok && row.Verdict == Earlier {
			row.Why = fmt.Sprintf("before %s: %s", s.name(l.after), l.need.Because)
			continue
		}
		row.Rests = s.rests(at, i, row.Verdict == Later)
		row.Why = s.keeps(at, i, row.Verdict == Later, row.Rests)
	}
}

// rests returns the siblings with unknown content that allow no earlier place than that of a
// sibling, or no later one; if that is the sibling itself, only itself.
func (s *scope) rests(at []int, i int, lower bool) []int {
	var all []int
	for _, e := range s.soft {
		j := e.before
		if !lower {
			j = e.after
		}
		if at[e.before]+1 != at[e.after] || lower && e.after != i || !lower && e.before != i {
			continue
		}
		if s.unknown[s.nodes[i]] {
			return []int{s.nodes[i]}
		}
		all = append(all, s.nodes[j])
	}
	return all
}

// keeps says why a sibling moves that no dependency moves: it keeps its order to one that does.
func (s *scope) keeps(at []int, i int, lower bool, rests []int) string {
	relation := "before"
	if lower {
		relation = "after"
	}
	if len(rests) > 0 && rests[0] != s.nodes[i] {
		return fmt.Sprintf("it stays %s %s, whose content is not known", relation, s.name(rests[0]))
	}
	for j := range s.nodes {
		next := lower && s.now[j] < s.now[i] && at[j]+1 == at[i] || !lower && s.now[j] > s.now[i] && at[j]-1 == at[i]
		if next && at[j] != s.now[j] {
			return fmt.Sprintf("it stays %s %s, which moves", relation, s.name(s.nodes[j]))
		}
	}
	return "it keeps its order to the others that move"
}

// possible says whether a sibling that stays could be earlier: in the first place that is used
// and that nothing forbids.
func (s *scope) possible(row *Row, i int, at []int) {
	if s.unknown[row.Node] {
		return // it may need anything
	}
	used := func(low int) int { // the first used place from there
		first := at[i]
		for _, place := range at {
			if place >= low {
				first = min(first, place)
			}
		}
		return first
	}
	earliest, why := used(none), "it needs nothing of what comes before it"
	for _, l := range s.hard {
		if low := used(at[s.index[l.before]] + l.gap); l.after == row.Node && low >= earliest {
			earliest, why = low, fmt.Sprintf("after %s: %s", s.name(l.before), l.need.Because)
		}
	}
	if earliest >= at[i] {
		return
	}
	for _, e := range s.soft {
		if low := used(at[e.before] + 1); e.after == i && low > earliest {
			earliest, why = low, fmt.Sprintf("after %s, whose content is not known", s.name(s.nodes[e.before]))
		}
		if e.after == i && used(at[e.before]+1) == at[i] {
			row.Rests = append(row.Rests, s.nodes[e.before])
		}
	}
	if earliest < at[i] {
		row.Earliest, row.Verdict, row.Why = earliest, Possible, why
	}
}
