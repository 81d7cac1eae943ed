package inplace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Order says how two Applications are ordered.
type Order int

const (
	// Unordered: nothing orders them.
	Unordered Order = iota
	// Earlier, Same and Later say when the first of them is synced.
	Earlier
	Same
	Later
)

// Ordered returns the order of two nodes: that of the branches that they are in. Argo CD takes an
// ApplicationSet without steps for healthy as soon as its Applications exist, so nothing waits for
// these. Without a known parent, only waves say that one orders them.
func (t Tree) Ordered(x, y int) Order {
	a, b := t.Siblings(x, y)
	switch {
	case a == b && a == x:
		return Earlier // its objects are there before what it creates is synced
	case a == b:
		return Later
	}
	of := t.Nodes[a].Parent
	switch {
	case of != t.Nodes[b].Parent, of != None && t.Nodes[of].IsSet && t.Nodes[of].Steps == 0,
		of == None && !t.Nodes[a].Wave.Set && !t.Nodes[b].Wave.Set:
		return Unordered
	}
	switch c := cmp.Compare(t.position(a), t.position(b)); {
	case c < 0 && t.gates(a, x):
		return Earlier
	case c > 0 && t.gates(b, y):
		return Later
	case c == 0 && t.gates(a, x) && t.gates(b, y):
		return Same
	}
	return Unordered
}

// gates reports whether what comes after a branch waits for a node in it.
func (t Tree) gates(branch, node int) bool {
	for ; node != branch; node = t.Nodes[node].Parent {
		if of := t.Nodes[t.Nodes[node].Parent]; of.IsSet && of.Steps == 0 {
			return false
		}
	}
	return true
}

// position is the place of a node among its siblings.
func (t Tree) position(i int) int {
	n := t.Nodes[i]
	if n.Parent == None || !t.Nodes[n.Parent].IsSet {
		return n.Wave.Number
	}
	of := t.Nodes[n.Parent]
	if of.Steps > 0 && n.Step == 0 {
		return of.Steps + 1
	}
	return n.Step
}

// Rollout returns the topmost node that a node is in if nothing orders the topmost nodes, so that
// each rolls out what it creates by itself; None otherwise, and for a topmost node.
func (t Tree) Rollout(of int) int {
	top := t.path(of)[0]
	if top == of || slices.ContainsFunc(t.Children(None), func(i int) bool { return t.Nodes[i].Wave.Set }) {
		return None
	}
	return top
}

// Rank is the place of a node in the order of the whole tree.
type Rank struct {
	// Number counts from 0. Nodes that nothing orders may have the same.
	Number int
	// Text is how it is written: its wave or step, after those of what creates it.
	Text string
}

// Ranks returns the rank of each node. They are consistent with Ordered, but order more than it:
// compare them only to sort.
func (t Tree) Ranks() []Rank {
	paths := make([][]int, len(t.Nodes))
	for i := range t.Nodes {
		for _, at := range t.path(i) {
			paths[i] = append(paths[i], t.position(at))
		}
	}
	sorted := slices.Clone(paths)
	slices.SortFunc(sorted, slices.Compare)
	sorted = slices.CompactFunc(sorted, func(x, y []int) bool { return slices.Equal(x, y) })
	all := make([]Rank, len(t.Nodes))
	for i, p := range paths {
		all[i].Number, _ = slices.BinarySearchFunc(sorted, p, slices.Compare)
		all[i].Text = t.text(i)
	}
	return all
}

// text writes the waves and steps on the way to a node; "-" if nothing says when it is synced.
func (t Tree) text(i int) string {
	var all []string
	for _, at := range t.path(i) {
		n := t.Nodes[at]
		switch {
		case n.Parent == None && !n.Wave.Set, n.Parent != None && t.Nodes[n.Parent].IsSet && t.Nodes[n.Parent].Steps == 0:
			continue // it has no place of its own
		}
		all = append(all, fmt.Sprint(t.position(at)))
	}
	return cmp.Or(strings.Join(all, "/"), "-")
}
