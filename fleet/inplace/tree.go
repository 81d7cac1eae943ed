// Package inplace reads the Applications and ApplicationSets of a fleet as their owners wrote
// them: who creates whom, in which order, and where that order is written.
//
// Argo CD knows two orders: the children of one parent Application have sync waves, and the
// Applications of one ApplicationSet have steps. Two Applications are ordered only where their
// nearest common ancestor orders the branches that they are in; nothing orders Applications
// without a common ancestor.
package inplace

import (
	"slices"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/object"
)

// None is the parent of a Node that nothing in the Tree creates.
const None = -1

// Tree contains the Applications and ApplicationSets that were read. A parent comes before its
// children.
type Tree struct {
	Nodes []Node
}

// Node is an Application or an ApplicationSet.
type Node struct {
	// Object is the Application as Argo CD sees it, after templates and generators.
	Object object.Object
	// IsSet means that it is an ApplicationSet.
	IsSet bool
	// Parent is the Application that renders to it or the ApplicationSet that generates it; None
	// if it is not known who applies it. Applications without a known parent that were read
	// together are taken as siblings.
	Parent int
	// Wave is its sync wave. The children of an Application without one are in wave 0. Argo CD
	// ignores the wave of a generated Application.
	Wave component.Step
	// Steps is the number of steps of an ApplicationSet with a RollingSync, 0 without one: then
	// nothing orders its Applications.
	Steps int
	// Step is the step of a generated Application, counted from 1; 0 if no step selects it, so
	// that it is never synced.
	Step int
	// Place is where it is written.
	Place Place
	// Installation is the directory or file that distinguishes its Argo CD from others whose
	// Applications have the same names; empty if all names are different.
	Installation string
}

// Place is where an Application, an ApplicationSet or an element of a generator is written.
type Place struct {
	// File is the file in the repository, and Line is where the object begins in it, counted
	// from 1. Both are empty for objects of a cluster.
	File string
	Line int
	// IsTemplate means that the file is not what Argo CD applies: a template of a chart, jsonnet,
	// or a kustomization that changes the order. Such a file is not edited.
	IsTemplate bool
}

// Children returns the nodes that a node creates; None asks for those without a parent.
func (t Tree) Children(of int) []int {
	var all []int
	for i, n := range t.Nodes {
		if n.Parent == of {
			all = append(all, i)
		}
	}
	return all
}

// path returns a node and its ancestors, from the top.
func (t Tree) path(of int) []int {
	var all []int
	for ; of != None; of = t.Nodes[of].Parent {
		all = append(all, of)
	}
	slices.Reverse(all)
	return all
}

// Siblings returns the branches that two nodes are in below their nearest common ancestor: what
// orders them is the order of these two. They are equal if one node contains the other.
func (t Tree) Siblings(x, y int) (ofX, ofY int) {
	px, py := t.path(x), t.path(y)
	for i := range min(len(px), len(py)) {
		if px[i] != py[i] {
			return px[i], py[i]
		}
	}
	last := min(len(px), len(py)) - 1
	return px[last], px[last]
}
