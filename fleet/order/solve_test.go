package order

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSolve(t *testing.T) {
	forty := slices.Repeat([]int{0}, 41)
	var needs []edge
	for i := range 40 {
		needs = append(needs, edge{40, i, 1})
	}
	for name, c := range map[string]struct {
		now   []int
		edges []edge
		want  []int
	}{
		"nothing to do":                  {[]int{0, 1}, []edge{{0, 1, 1}}, []int{0, 1}},
		"unordered: the dependent moves": {[]int{0, 0}, []edge{{0, 1, 1}}, []int{0, 1}},
		"together is enough":             {[]int{0, 0}, []edge{{0, 1, 0}}, []int{0, 0}},
		"one below forty":                {forty, needs, append(slices.Repeat([]int{0}, 40), -1)},
		"a chain in one wave":            {[]int{0, 0, 0}, []edge{{0, 1, 1}, {1, 2, 1}}, []int{0, 1, 2}},
		"dependents keep their own order": {[]int{5, 2, 3, 5, 5, 5},
			[]edge{{0, 1, 1}, {0, 2, 1}, {3, 1, 1}, {4, 2, 0}, {5, 2, 1}}, []int{5, 6, 7, 5, 5, 5}},
		"a dependent of one that moves":    {[]int{5, 2, 3}, []edge{{0, 1, 1}, {1, 2, 1}}, []int{1, 2, 3}},
		"what is between is not reordered": {[]int{0, 1, 2, 3}, []edge{{3, 0, 1}}, []int{4, 1, 2, 3}},
	} {
		got, ok := problem{now: c.now, edges: c.edges}.solve()
		if !ok || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if got, ok := (problem{now: []int{1, 1, 2}, edges: []edge{{0, 1, 1}}, limited: true, lowest: 1, highest: 2}).solve(); !ok ||
		!slices.Equal(got, []int{1, 2, 2}) {
		t.Errorf("two steps: got %v, %t", got, ok)
	}
	if _, ok := (problem{now: []int{1, 1, 2}, edges: []edge{{0, 1, 1}, {1, 2, 1}}, limited: true, lowest: 1, highest: 2}).solve(); ok {
		t.Error("three Applications in a row fit into two steps")
	}
}

// TestSolveIsLeast compares with all positions of small problems: the edges hold, nothing needs
// fewer changes, and solving again changes nothing.
func TestSolveIsLeast(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 2 + random.IntN(3)
		p := problem{limited: random.IntN(3) == 0, lowest: 0, highest: 3}
		for range n {
			p.now = append(p.now, random.IntN(4))
		}
		for range random.IntN(2 * n) {
			i, j := random.IntN(n), random.IntN(n)
			if i < j {
				p.edges = append(p.edges, edge{i, j, random.IntN(2)})
			}
		}
		got, ok := p.solve()
		least, found := p.leastChanges()
		if ok != found {
			t.Fatalf("%+v: solvable is %t, want %t", p, ok, found)
		}
		if !ok {
			continue
		}
		if !(&solver{problem: p}).holds(got) || p.outside(got) {
			t.Fatalf("%+v: %v does not hold", p, got)
		}
		if changes := p.changes(got); changes != least {
			t.Fatalf("%+v: %v has %d changes, want %d", p, got, changes, least)
		}
		p.now = got
		if again, _ := p.solve(); !slices.Equal(again, got) {
			t.Fatalf("%+v: again %v", p, again)
		}
	}
}

// TestSolveLarge solves problems in which dependencies contradict most orders of their owners.
func TestSolveLarge(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		p := problem{}
		for range 80 {
			p.now = append(p.now, random.IntN(10))
		}
		for range 300 {
			if i, j := random.IntN(80), random.IntN(80); i < j {
				p.edges = append(p.edges, edge{i, j, random.IntN(2)})
			}
		}
		if got, ok := p.solve(); !ok || !(&solver{problem: p}).holds(got) {
			t.Errorf("%v does not hold", got)
		}
	}
}

func (p problem) outside(at []int) bool {
	return p.limited && slices.ContainsFunc(at, func(x int) bool { return x < p.lowest || x > p.highest })
}

func (p problem) changes(at []int) int {
	count := 0
	for i := range at {
		if at[i] != p.now[i] {
			count++
		}
	}
	return count
}

// leastChanges tries everything.
func (p problem) leastChanges() (least int, found bool) {
	least = len(p.now) + 1
	at := make([]int, len(p.now))
	var try func(i int)
	try = func(i int) {
		if i == len(at) {
			if !p.outside(at) && (&solver{problem: p}).holds(at) {
				least = min(least, p.changes(at))
			}
			return
		}
		for at[i] = -4; at[i] <= 8; at[i]++ {
			try(i + 1)
		}
	}
	try(0)
	return least, least <= len(p.now)
}
