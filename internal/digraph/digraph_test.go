package digraph_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/internal/digraph"
)

func TestComponents(t *testing.T) {
	t.Parallel()
	// 0 -> 1 <-> 2 -> 3, 4 alone, 5 -> 5.
	comp := digraph.Components([][]int{{1}, {2}, {1, 3}, nil, nil, {5}})
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
	for i, c := range digraph.Components(next) {
		if c != 0 {
			t.Fatalf("node %d is in component %d, want one for the whole ring", i, c)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	edges := map[int][][2]int{0: {{0, 1}, {0, 2}}, 1: {{1, 3}}, 2: {{2, 3}}, 3: {{3, 4}}, 4: {{4, 0}}}
	of := func(at int) [][2]int { return edges[at] }
	follow := func(_ int, edge [2]int) int { return edge[1] }
	to := func(end int) func(int) bool { return func(at int) bool { return at == end } }
	if got, ok := digraph.Path(0, to(4), of, follow); !ok || !slices.Equal(got, [][2]int{{0, 1}, {1, 3}, {3, 4}}) {
		t.Errorf("got %v, %t", got, ok)
	}
	if got, ok := digraph.Path(2, to(2), of, follow); !ok || len(got) != 0 {
		t.Errorf("from a node to itself: got %v, %t, want no edges", got, ok)
	}
	if got, ok := digraph.Path(0, to(9), of, follow); ok {
		t.Errorf("to a node that is not there: got %v", got)
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	next := map[string][]string{"a": {"b", "c"}, "b": {"a"}, "c": {"d"}, "e": {"a"}}
	tests := []struct {
		name       string
		from, want []string
	}{
		{"nothing", nil, nil},
		{"a cycle and what follows it", []string{"a"}, []string{"a", "b", "c", "d"}},
		{"several nodes", []string{"d", "e", "e"}, []string{"a", "b", "c", "d", "e"}},
		{"a node without successors", []string{"f"}, []string{"f"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reached := digraph.Reachable(tt.from, func(at string) []string { return next[at] })
			if got := slices.Sorted(maps.Keys(reached)); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCycle(t *testing.T) {
	t.Parallel()
	next := map[int][]int{0: {1}, 1: {2, 3}, 2: {3}, 3: {1, 4}, 5: {5}}
	for through, want := range map[int][]int{0: nil, 1: {3, 1}, 2: {3, 1, 2}, 4: nil, 5: {5}} {
		if got := digraph.Cycle(through, func(at int) []int { return next[at] }); !slices.Equal(got, want) {
			t.Errorf("through %d: got %v, want %v", through, got, want)
		}
	}
}
