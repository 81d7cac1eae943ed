package cycle_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cycle"
)

func TestComponents(t *testing.T) {
	t.Parallel()
	// 0 -> 1 <-> 2 -> 3, 4 alone, 5 -> 5.
	comp := cycle.Components([][]int{{1}, {2}, {1, 3}, nil, nil, {5}})
	if comp[1] != comp[2] {
		t.Errorf("1 and 2 reach each other, and are in components %d and %d", comp[1], comp[2])
	}
	if !(comp[3] < comp[1] && comp[1] < comp[0]) {
		t.Errorf("got components %v, want that of 3 below that of 1 and 2, and 0 above both", comp)
	}
	if all := slices.Compact(slices.Sorted(slices.Values(comp))); !slices.Equal(all, []int{0, 1, 2, 3, 4}) {
		t.Errorf("got the numbers %v, want 0 to 4", all)
	}
}

func TestComponentsOfALongChain(t *testing.T) {
	t.Parallel()
	const n = 200_000
	next := make([][]int, n)
	for i := range n {
		next[i] = []int{(i + 1) % n}
	}
	for i, c := range cycle.Components(next) {
		if c != 0 {
			t.Fatalf("node %d is in component %d, want one for the whole ring", i, c)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	edges := map[int][]int{0: {1, 2}, 1: {3}, 2: {3}, 3: {4}, 4: {0}}
	next := func(at int) iter.Seq2[[2]int, int] {
		return func(yield func([2]int, int) bool) {
			for _, to := range edges[at] {
				if !yield([2]int{at, to}, to) {
					return
				}
			}
		}
	}
	to := func(end int) func(int) bool { return func(at int) bool { return at == end } }
	if got, ok := cycle.Path(0, to(4), next); !ok || !slices.Equal(got, [][2]int{{0, 1}, {1, 3}, {3, 4}}) {
		t.Errorf("got %v, %t", got, ok)
	}
	if got, ok := cycle.Path(2, to(2), next); !ok || len(got) != 0 {
		t.Errorf("from a node to itself: got %v, %t, want no edges", got, ok)
	}
	if got, ok := cycle.Path(0, to(9), next); ok {
		t.Errorf("to a node that is not there: got %v", got)
	}
}
