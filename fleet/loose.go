package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Where Applications depend on each other, one dependency has to go. Two are easy to
// remove: a dependency on CRDs, which crds: split deploys before the rest, and that of
// objects which nothing else uses, such as a dashboard, which can move to another
// component.

// isKind reports whether a dependency is the CRD of an object.
func isKind(r Reason) bool {
	return r.Strength == Applied && (r.To.Kind == "CustomResourceDefinition" || r.To == (object.ID{}) && r.Field == "kind")
}

// splits reports whether the CRDs of an Application can become an Application of their
// own.
func (a *Application) splits() bool { return a.Part == "" || a.Part == crds.Include }

// splitRemedy is the fix for a cycle that CRDs of a component are part of.
func splitRemedy(component string) string {
	return fmt.Sprintf("set crds: split in the component.yaml of %s, which moves its CRDs to an earlier step", component)
}

// ownObject is an object of one of Fleet.Applications.
type ownObject struct {
	app int
	id  object.ID
}

// usedObjects returns the objects that something else in the fleet uses, or that create
// what something may use.
func (f *Fleet) usedObjects() map[ownObject]bool {
	used := map[ownObject]bool{}
	f.noteUsed(used)
	for _, there := range f.at {
		there.noteUsed(used)
	}
	return used
}

// noteUsed adds the objects that others use as this fleet is rendered.
func (f *Fleet) noteUsed(used map[ownObject]bool) {
	if f.Objects == nil {
		return
	}
	own := func(i int) ownObject { return ownObject{f.Objects.Nodes[i].Part, f.Objects.Nodes[i].Key} }
	for _, r := range f.Objects.References {
		if r.From != r.To {
			used[own(r.To)] = true
		}
	}
	for _, c := range f.Objects.Creations {
		used[own(c.From)] = true
	}
	for i, n := range f.Objects.Nodes {
		if slices.ContainsFunc(n.Kind.References, func(r knowledge.Reference) bool { return r.Meaning == knowledge.Produces }) {
			used[own(i)] = true
		}
	}
}

// isUnused reports whether an object that depends on another Application is one that
// nothing else uses.
func isUnused(used map[ownObject]bool, app int, r Reason) bool {
	return r.From != (object.ID{}) && !used[ownObject{app, r.From}]
}

// linkNetwork adds the dependencies of Applications on the Pod network that the network
// must not wait for: where the network contains objects that nothing else uses, such as
// dashboards, of a kind that another Application defines, that Application needs the
// network for its Pods. So the network comes first, and the objects have to move.
func (f *Fleet) linkNetwork() {
	network, pods := map[int]object.ID{}, map[int]object.ID{}
	for i := range f.Objects.Nodes {
		n := &f.Objects.Nodes[i]
		switch {
		case isNetwork(n):
			network[n.Part] = n.Key
		case n.InSync() && len(podSpecs(n)) > 0 && !onHostNetwork(n) && pods[n.Part] == (object.ID{}):
			pods[n.Part] = n.Key
		}
	}
	if len(network) == 0 {
		return
	}
	used := f.usedObjects()
	for _, l := range slices.Clone(f.Links) {
		daemon, is := network[l.From]
		workload, needs := pods[l.To]
		if _, both := network[l.To]; !is || !needs || both || l.Strength() < Healthy || !holdsForNothing(used, l) {
			continue
		}
		node := f.node(l.To, workload)
		f.addReason(l.To, l.From, Reason{Strength: Healthy, From: workload, To: daemon, File: node.File, Line: node.Line, Why: "needs the Pod network of"})
	}
}

// holdsForNothing reports whether a link exists only for objects that nothing else uses.
func holdsForNothing(used map[ownObject]bool, l Link) bool {
	return !slices.ContainsFunc(l.Reasons, func(r Reason) bool {
		return r.Strength >= Healthy && !r.Inferred && !isUnused(used, l.From, r)
	})
}

// node returns an object of one of Fleet.Applications.
func (f *Fleet) node(app int, id object.ID) graph.Node {
	i := slices.IndexFunc(f.Objects.Nodes, func(n graph.Node) bool { return n.Part == app && n.Key == id })
	return f.Objects.Nodes[i]
}

// addReason adds a reason to the link between two of Fleet.Applications.
func (f *Fleet) addReason(from, to int, r Reason) {
	at, known := slices.BinarySearchFunc(f.Links, Link{From: from, To: to}, func(x, y Link) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	if !known {
		f.Links = slices.Insert(f.Links, at, Link{From: from, To: to})
	}
	f.Links[at].Reasons = append(f.Links[at].Reasons, r)
	slices.SortStableFunc(f.Links[at].Reasons, func(x, y Reason) int {
		return cmp.Or(cmp.Compare(y.Strength, x.Strength), boolean(x.Inferred)-boolean(y.Inferred))
	})
}
