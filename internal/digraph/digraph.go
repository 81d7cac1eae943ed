// Package digraph searches directed graphs: for the nodes that others reach, for
// shortest paths, and for cycles.
package digraph

import "slices"

// Components returns the number of the strongly connected component of each node.
// next lists the successors of each node; a component has a higher number than all
// components it leads to. It is Tarjan's algorithm with an explicit stack, since
// chains of thousands of nodes exist.
func Components(next [][]int) []int {
	const unseen = 0
	n := len(next)
	index, low, comp := make([]int, n), make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack []int
	counter, found := 0, 0
	type frame struct{ node, child int }
	for root := range n {
		if index[root] != unseen {
			continue
		}
		counter++
		index[root], low[root] = counter, counter
		stack, onStack[root] = append(stack, root), true
		for work := []frame{{root, 0}}; len(work) > 0; {
			f := &work[len(work)-1]
			if f.child < len(next[f.node]) {
				child := next[f.node][f.child]
				f.child++
				if index[child] == unseen {
					counter++
					index[child], low[child] = counter, counter
					stack, onStack[child] = append(stack, child), true
					work = append(work, frame{child, 0})
				} else if onStack[child] {
					low[f.node] = min(low[f.node], index[child])
				}
				continue
			}
			node := f.node
			work = work[:len(work)-1]
			if len(work) > 0 {
				parent := work[len(work)-1].node
				low[parent] = min(low[parent], low[node])
			}
			if low[node] != index[node] {
				continue
			}
			for top := -1; top != node; {
				top = stack[len(stack)-1]
				stack, onStack[top] = stack[:len(stack)-1], false
				comp[top] = found
			}
			found++
		}
	}
	return comp
}

// Reachable returns the nodes that paths from some nodes lead to, those themselves
// included. next lists the successors of a node.
func Reachable[Node comparable](from []Node, next func(Node) []Node) map[Node]bool {
	reached := map[Node]bool{}
	for open := slices.Clone(from); len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if !reached[at] {
			reached[at] = true
			open = append(open, next(at)...)
		}
	}
	return reached
}

// Path returns the edges of a shortest path from a state to one that isEnd accepts,
// and false if there is none. A state determines how a path can continue, such as a
// node with what was visited before. edges lists the edges of a state, and follow
// returns the state that an edge leads to; of paths of the same length, the first is
// returned.
func Path[State comparable, Edge any](from State, isEnd func(State) bool, edges func(State) []Edge,
	follow func(State, Edge) State) ([]Edge, bool) {
	type step struct {
		before State
		along  Edge
	}
	reached := map[State]step{from: {}}
	for queue := []State{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if isEnd(at) {
			path := []Edge{}
			for ; at != from; at = reached[at].before {
				path = append(path, reached[at].along)
			}
			slices.Reverse(path)
			return path, true
		}
		for _, edge := range edges(at) {
			to := follow(at, edge)
			if _, seen := reached[to]; !seen {
				reached[to] = step{at, edge}
				queue = append(queue, to)
			}
		}
	}
	return nil, false
}

// Chain returns the edges of a shortest path from a node to another, and false if there is none. If
// strictly is set, one of its edges must be strict. edges lists the edges of a node; follow returns
// the node that an edge leads to, and whether it is strict.
func Chain[Node comparable, Edge any](from, to Node, strictly bool, edges func(Node) []Edge,
	follow func(Edge) (Node, bool)) ([]Edge, bool) {
	type state struct {
		at     Node
		strict bool
	}
	return Path(state{from, !strictly}, func(s state) bool { return s == state{to, true} },
		func(s state) []Edge { return edges(s.at) },
		func(s state, along Edge) state {
			at, strict := follow(along)
			return state{at, s.strict || strict}
		})
}

// StrictCycle returns a shortest of the cycles with a strict edge, which comes first; nil if there is
// none. Of cycles of the same length, it is that of the first strict edge. follow returns the nodes of
// an edge, less than count, and whether it is strict.
func StrictCycle[Edge any](count int, edges []Edge, follow func(Edge) (from, to int, strict bool)) []Edge {
	next, out := make([][]int, count), make([][]Edge, count)
	for _, e := range edges {
		from, to, _ := follow(e)
		next[from], out[from] = append(next[from], to), append(out[from], e)
	}
	component := Components(next)
	var shortest []Edge
	for _, e := range edges {
		from, to, strict := follow(e)
		if !strict || component[from] != component[to] {
			continue
		}
		back, _ := Chain(to, from, false, func(at int) []Edge { return out[at] },
			func(e Edge) (int, bool) { _, to, strict := follow(e); return to, strict })
		if shortest == nil || len(back)+1 < len(shortest) {
			shortest = append([]Edge{e}, back...)
		}
	}
	return shortest
}

// Cycle returns the nodes of a shortest cycle through a node, which comes last; nil if
// there is none. next lists the successors of a node.
func Cycle[Node comparable](through Node, next func(Node) []Node) []Node {
	type state struct {
		node    Node
		hasLeft bool
	}
	cycle, _ := Path(state{node: through},
		func(s state) bool { return s == state{through, true} },
		func(s state) []Node { return next(s.node) },
		func(_ state, to Node) state { return state{to, true} })
	return cycle
}
