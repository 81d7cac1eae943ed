// Package order computes the order of Applications that exist already: it keeps the order of
// their owners where it works, and changes as few Applications as possible where it does not.
//
// Argo CD orders siblings only: the children of an Application by their sync waves, and the
// Applications of an ApplicationSet by its steps. So each dependency is one between the two
// siblings that contain its ends (see inplace.Tree).
package order

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet/inplace"
)

// Need is a dependency between two nodes of a tree.
type Need struct {
	// From depends on To.
	From, To int
	// Later means that it needs a later wave or step; otherwise the same one is enough.
	Later bool
	// IsCertain is false if all its reasons are inferred.
	IsCertain bool
	// Count is the number of its reasons.
	Count int
	// Because is the sentence of the strongest reason with its file and line, Removal how to
	// remove the dependency.
	Because, Removal string
}

// Input is what an order is computed from.
type Input struct {
	Tree  inplace.Tree
	Needs []Need
	// Unknown has nodes whose content is not known: they may need anything, and anything may
	// need them. What their owners placed before them stays before them, and what they placed
	// after them stays after them.
	Unknown map[int]bool
	// Beside are the waves of what else an Application contains, such as the AppProjects and
	// Namespaces of its children: what is after these stays after them.
	Beside map[int][]int
}

// Kind says what orders siblings.
type Kind int

const (
	// Waves are the sync waves of the children of an Application.
	Waves Kind = iota
	// Steps are those of the RollingSync of an ApplicationSet.
	Steps
	// Proposed are steps for an ApplicationSet that has none.
	Proposed
)

// Verdicts on the place of an Application, the same as those of computed steps.
const (
	// Equal means that it stays.
	Equal = "equal"
	// Later means that it is too early for what it needs.
	Later = "must be later"
	// Earlier means that it is too late for what needs it.
	Earlier = "must be earlier"
	// Possible means that it stays, but nothing that is known prevents an earlier place.
	Possible = "earlier possible"
	// Missing means that it has no place.
	Missing = "not set"
	// Unselected means that no step selects it, so that Argo CD never syncs it.
	Unselected = "not selected"
)

// Row is the place of an Application or ApplicationSet among its siblings.
type Row struct {
	Node int
	// Now is its wave or step. Set is false if it is not written: it is in wave 0, or in no step.
	Now int
	Set bool
	// Computed is where it must be; Now, if that works.
	Computed int
	// Earliest is the earliest possible place of one that is Possible.
	Earliest int
	Verdict  string
	// Why is the reason of a place that is not Equal.
	Why string
	// Rests are siblings with unknown content without which it would be elsewhere.
	Rests []int
}

// Scope is the order of siblings.
type Scope struct {
	// Parent is the node that contains them, inplace.None if that is not known.
	Parent int
	Kind   Kind
	// Count is the number of steps; 0 if an ApplicationSet without steps needs none.
	Count int
	Rows  []Row
	// Cycles are dependencies that no order satisfies. Each time, one of them is ignored.
	Cycles []Cycle
	// Ignored are inferred dependencies that the order of the owners, or another dependency,
	// contradicts.
	Ignored []Need
	// Kept are siblings with unknown content, with the number of siblings that stay before and
	// after each only because it may need them, or they it.
	Kept []Kept
	// Crossed are pairs of a sibling with unknown content and another whose order could not be
	// kept.
	Crossed [][2]int
	// Lacking is true if the steps are too few.
	Lacking bool
}

// Kept says what rests on a sibling with unknown content.
type Kept struct{ Node, Before, After int }

// Cycle is a cycle of dependencies between siblings.
type Cycle struct {
	// Needs are a dependency for each step around the cycle, Siblings the dependents of each.
	Needs    []Need
	Siblings []int
	// Removed is the one to remove.
	Removed Need
}

// Compute returns the order of all siblings, from the top.
func Compute(in Input) []Scope {
	unknown := in.unknownSiblings()
	needs := in.lift()
	var all []Scope
	for _, parent := range in.parents() {
		s := scope{Scope: Scope{Parent: parent}, in: in, needs: needs[parent], unknown: unknown}
		s.compute()
		all = append(all, s.Scope)
	}
	return all
}

// parents returns the nodes that have children, and None if several nodes have no parent.
func (in Input) parents() []int {
	var all []int
	if len(in.Tree.Children(inplace.None)) > 1 {
		all = append(all, inplace.None)
	}
	for i := range in.Tree.Nodes {
		if len(in.Tree.Children(i)) > 0 {
			all = append(all, i)
		}
	}
	return all
}

// unknownSiblings returns the nodes with unknown content, and those that contain one.
func (in Input) unknownSiblings() map[int]bool {
	all := map[int]bool{}
	for i := range in.Unknown {
		for at := i; at != inplace.None; at = in.Tree.Nodes[at].Parent {
			all[at] = true
		}
	}
	return all
}

// lifted is what the dependencies between two siblings require.
type lifted struct {
	before, after int
	gap           int
	certain       bool
	count         int
	// need is the dependency with the strongest reason.
	need Need
}

// lift returns the dependencies between siblings, by their parent.
func (in Input) lift() map[int][]lifted {
	all := map[int][]lifted{}
	for _, n := range in.Needs {
		after, before := in.Tree.Siblings(n.From, n.To)
		if after == before {
			continue
		}
		l := lifted{before: before, after: after, certain: n.IsCertain, count: n.Count, need: n}
		if n.Later {
			l.gap = 1
		}
		parent := in.Tree.Nodes[after].Parent
		i := slices.IndexFunc(all[parent], func(x lifted) bool {
			return x.before == before && x.after == after && x.certain == l.certain
		})
		switch {
		case i < 0:
			all[parent] = append(all[parent], l)
		case all[parent][i].gap < l.gap:
			l.count += all[parent][i].count
			all[parent][i] = l
		default:
			all[parent][i].count += l.count
		}
	}
	return all
}
