package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
)

// partsOfStores makes the programs that use a store which an operator runs need what operators
// make in it, such as its databases, users and grants: a program that logs in needs all of
// them, and names at most one.
func partsOfStores(f *facts.Facts, roles Roles, s Set) (_ []Claim, refs []Reference) {
	for store := range f.Nodes {
		if !isOperatedStore(f, store) {
			continue
		}
		parts := partsOf(f, s, store)
		if len(parts) > mostNearby {
			continue
		}
		for _, i := range s.Referrers(store) {
			n := &f.Nodes[i]
			if n.Kind.Pod.IsZero() || n.Kind.Runs == "later" || !n.InSync() || roles.Of(i) != "" || f.IsStore(i) {
				continue
			}
			for _, part := range parts {
				if s.Refers(i, part) || s.Refers(part, i) {
					continue
				}
				r := inferred(f, i, part, "spec.template", Beside, Exists, "uses a store in which an operator makes")
				r.Need = Needs
				refs = append(refs, r)
			}
		}
	}
	return nil, refs
}

// isOperatedStore reports whether a node is a custom resource for which an operator runs a store.
func isOperatedStore(f *facts.Facts, i int) bool {
	n := &f.Nodes[i]
	return n.Kind.Pod.IsZero() && n.Kind.Rung == knowledge.Workloads && n.InSync() && f.Base.IsStoreKind(n.ID.Group, n.ID.Kind)
}

// partsOf returns the custom resources of the group of a store that need it, or refer to it,
// also through others, but not what copies its data.
func partsOf(f *facts.Facts, s Set, store int) (parts []int) {
	for work := []int{store}; len(work) > 0; work = work[1:] {
		for _, i := range s.Referrers(work[0]) {
			n := &f.Nodes[i]
			if n.ID.Group != f.Nodes[store].ID.Group || !n.Kind.Pod.IsZero() || !n.InSync() || i == store ||
				slices.Contains(parts, i) || f.Base.Copies(n.ID.Kind) {
				continue
			}
			parts, work = append(parts, i), append(work, i)
		}
	}
	return parts
}
