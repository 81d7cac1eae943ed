package order

import "slices"

// edge requires that a position is at least as high as another one plus a gap. Both are
// indices of a problem's positions.
type edge struct{ before, after, gap int }

// problem is a set of positions, of which as few as possible change so that all edges hold.
type problem struct {
	now   []int
	edges []edge
	// lowest and highest limit the positions if limited is set.
	limited         bool
	lowest, highest int
	// least is how low each position may become; nil means any.
	least []int
}

// none is the distance between two positions that nothing orders.
const none = -1 << 30

// distances returns the least distance that edges require from each position to each other one;
// none if they require nothing.
func distances(n int, edges []edge) [][]int {
	d := make([][]int, n)
	for i := range d {
		d[i] = slices.Repeat([]int{none}, n)
		d[i][i] = 0
	}
	for _, e := range edges {
		d[e.before][e.after] = max(d[e.before][e.after], e.gap)
	}
	for k := range d {
		for i := range d {
			if d[i][k] == none {
				continue
			}
			for j, far := range d[k] {
				if far != none {
					d[i][j] = max(d[i][j], d[i][k]+far)
				}
			}
		}
	}
	return d
}

// solve returns new positions, and false if the limits leave no room. The edges must not
// contradict each other.
//
// Two positions that are too close to each other cannot both stay. This relation is transitive:
// if a is too early for b, and b for c, then a is too early for c. So it is a partial order, and
// the largest set that can stay is its largest antichain, which a matching finds (Dilworth).
func (p problem) solve() ([]int, bool) {
	s := solver{problem: p, d: distances(len(p.now), p.edges), moves: make([]bool, len(p.now))}
	for i := range p.now {
		low, high := s.limits(i)
		if low > high {
			return nil, false
		}
		s.moves[i] = p.now[i] < low || p.now[i] > high
	}
	var best []int
	groups := s.groups()
	for _, group := range groups {
		s.choose(group, false)
	}
	best = s.place()
	for _, group := range groups { // the same number of changes, at the other end
		before := slices.Clone(s.moves)
		s.choose(group, true)
		if other := s.place(); s.cost(other) < s.cost(best) {
			best = other
		} else {
			s.moves = before
		}
	}
	return best, true
}

// solver is the state of solve.
type solver struct {
	problem
	d     [][]int
	moves []bool
}

// limits returns the range of a position within the limits, with room for what must come before
// and after it.
func (s *solver) limits(i int) (low, high int) {
	low, high = none, -none
	for j := range s.least {
		if s.d[j][i] != none {
			low = max(low, s.least[j]+s.d[j][i])
		}
	}
	if !s.limited {
		return low, high
	}
	low, high = max(low, s.lowest), s.highest
	for j := range s.now {
		if s.d[j][i] != none {
			low = max(low, s.lowest+s.d[j][i])
		}
		if s.d[i][j] != none {
			high = min(high, s.highest-s.d[i][j])
		}
	}
	return low, high
}

// tooClose reports whether one position would have to be further before another one.
func (s *solver) tooClose(before, after int) bool {
	return s.d[before][after] != none && s.now[after] < s.now[before]+s.d[before][after]
}

// groups returns the positions that may stay, in groups of those that are connected by being too
// close to each other. Positions that are close to none are left out.
func (s *solver) groups() [][]int {
	var all [][]int
	seen := slices.Clone(s.moves)
	for first := range s.now {
		if seen[first] {
			continue
		}
		group := []int{first}
		seen[first] = true
		for at := 0; at < len(group); at++ {
			for j := range s.now {
				if !seen[j] && (s.tooClose(group[at], j) || s.tooClose(j, group[at])) {
					seen[j] = true
					group = append(group, j)
				}
			}
		}
		if len(group) > 1 {
			slices.Sort(group)
			all = append(all, group)
		}
	}
	return all
}

// choose moves all positions of a group except a largest antichain: the one at the lower end, so
// that dependents move up, or at the upper end.
func (s *solver) choose(group []int, upper bool) {
	n := len(group)
	follows := make([][]bool, n)
	for i := range group {
		follows[i] = make([]bool, n)
		for j := range group {
			follows[i][j] = s.tooClose(group[j], group[i])
			if upper {
				follows[i][j] = s.tooClose(group[i], group[j])
			}
		}
	}
	left, right := matching(follows)
	// König: what alternating paths from the unmatched reach is not in the cover.
	reachedLeft, reachedRight := make([]bool, n), make([]bool, n)
	var open []int
	for i := range left {
		if left[i] < 0 {
			reachedLeft[i] = true
			open = append(open, i)
		}
	}
	for ; len(open) > 0; open = open[1:] {
		for j, is := range follows[open[0]] {
			if !is || reachedRight[j] {
				continue
			}
			reachedRight[j] = true
			if i := right[j]; i >= 0 && !reachedLeft[i] {
				reachedLeft[i] = true
				open = append(open, i)
			}
		}
	}
	for i, at := range group {
		s.moves[at] = !reachedLeft[i] || reachedRight[i]
	}
}

// matching returns a largest matching of a relation: the partner of each on the left and on the
// right, -1 for none.
func matching(relation [][]bool) (left, right []int) {
	n := len(relation)
	left, right = slices.Repeat([]int{-1}, n), slices.Repeat([]int{-1}, n)
	var try func(i int, seen []bool) bool
	try = func(i int, seen []bool) bool {
		for j, is := range relation[i] {
			if !is || seen[j] {
				continue
			}
			seen[j] = true
			if right[j] < 0 || try(right[j], seen) {
				left[i], right[j] = j, i
				return true
			}
		}
		return false
	}
	for i := range n {
		try(i, make([]bool, n))
	}
	return left, right
}

// place returns the positions, with those that move as near to where they were as possible. A
// position that moves is either too early for one that stays, or too late for one: then it moves
// down. Those that move keep the order that they had to each other where there is room.
func (s *solver) place() []int {
	if at, settled := s.settle(true); settled && s.holds(at) {
		return at
	}
	at, _ := s.settle(false)
	return at
}

// holds reports whether positions satisfy all edges.
func (s *solver) holds(at []int) bool {
	return !slices.ContainsFunc(s.edges, func(e edge) bool { return at[e.after] < at[e.before]+e.gap })
}

// mover is a position that moves, between what stays.
type mover struct {
	i         int
	low, high int
	up        bool
}

// movers returns what moves, by position.
func (s *solver) movers() []mover {
	var all []mover
	for i := range s.now {
		if !s.moves[i] {
			continue
		}
		m := mover{i: i}
		m.low, m.high = s.limits(i)
		m.up = s.now[i] < m.low
		for j := range s.now {
			if s.moves[j] {
				continue
			}
			if s.d[j][i] != none {
				m.low = max(m.low, s.now[j]+s.d[j][i])
				m.up = m.up || s.tooClose(j, i)
			}
			if s.d[i][j] != none {
				m.high = min(m.high, s.now[j]-s.d[i][j])
			}
		}
		all = append(all, m)
	}
	return all
}

// settle places what moves, first downwards, then upwards, each until nothing changes. If
// keepOrder is set, what moves in the same direction keeps its order; settled is false if the edges
// contradict that.
func (s *solver) settle(keepOrder bool) (places []int, settled bool) {
	at := slices.Clone(s.now)
	var up, down []mover
	for _, m := range s.movers() {
		if m.up {
			at[m.i] = m.low
			up = append(up, m)
		} else {
			at[m.i] = m.high
			down = append(down, m)
		}
	}
	lowered := repeat(len(down), func() (changed bool) {
		for _, m := range down {
			for _, n := range down {
				high := at[m.i]
				switch {
				case m == n:
				case s.d[m.i][n.i] != none:
					high = at[n.i] - s.d[m.i][n.i]
				case keepOrder && s.now[m.i] < s.now[n.i] && s.d[n.i][m.i] == none:
					high = max(at[n.i]-1, m.low)
				}
				if high < at[m.i] {
					at[m.i], changed = high, true
				}
			}
		}
		return changed
	})
	raised := repeat(len(up), func() (changed bool) {
		for _, m := range up {
			for _, n := range slices.Concat(down, up) {
				low := at[m.i]
				switch {
				case m == n:
				case s.d[n.i][m.i] != none:
					low = at[n.i] + s.d[n.i][m.i]
				case keepOrder && n.up && s.now[n.i] < s.now[m.i] && s.d[m.i][n.i] == none:
					low = min(at[n.i]+1, m.high)
				}
				if low > at[m.i] {
					at[m.i], changed = low, true
				}
			}
		}
		return changed
	})
	return at, lowered && raised
}

// repeat calls a function until it changes nothing, and returns false if it still does after as
// many times as a chain of n can need.
func repeat(n int, step func() (changed bool)) bool {
	for range n + 2 {
		if !step() {
			return true
		}
	}
	return false
}

// cost compares positions with the same number of changes: how many orders that the owners have
// are lost, and how far the positions move.
func (s *solver) cost(at []int) int {
	lost, far := 0, 0
	for i := range at {
		far += max(at[i]-s.now[i], s.now[i]-at[i])
		for j := range at {
			if s.now[i] >= s.now[j] || at[i] < at[j] {
				continue
			}
			lost++
			if at[i] > at[j] {
				lost++
			}
		}
	}
	return lost*1000 + far
}
