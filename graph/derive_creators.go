package graph

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/object"
)

// Absent is an object that From needs, and that the component neither contains nor
// creates before From. Something else may create it: a person, an operator, a Job
// whose manifest does not show it.
type Absent struct {
	From  int
	ID    object.ID
	Field string
	// Why is the verb of a sentence: From, why, ID.
	Why string
	// Starts means that Pods of From do not start without the object. Otherwise
	// From has no Pods, and is Degraded or not ready until it exists.
	Starts bool
	// Entry is ID as an entry of expects.
	Entry string
	// OtherNamespace is an object of the same kind and name in another namespace of the
	// component, if there is one.
	OtherNamespace object.ID
	// Makers are workloads of the component that may create the object when they
	// run. It is empty if Starts is true, since Pods wait by themselves.
	Makers []int
	// Later are Jobs that create the object, but only in a later phase than that of From.
	Later []int
}

// creators makes objects need the long-running workloads that may create what they read.
// The derivation about Jobs handles Jobs.
func creators(f *facts.Facts, _ Roles, _ Set) (_ []Claim, refs []Reference) {
	for _, u := range f.Unresolved() {
		if !u.Created {
			continue
		}
		for _, m := range u.Makers {
			if maker := &f.Nodes[m]; maker.Kind.Runs == "" && maker.InSync() {
				refs = append(refs, inferred(f, u.From, m, u.Field, Permission, Exists, u.Record.Why+" "+u.ID.String()+", which may be written by"))
			}
		}
	}
	return nil, refs
}

// Absence says in a sentence what is missing and why.
func (a *Absent) Absence(g *Graph) string {
	if len(a.Later) > 0 {
		return a.Why + " " + a.ID.String() + ", which " + g.Nodes[a.Later[0]].Key.String() + " writes in a later phase"
	}
	return a.Why + " " + a.ID.String() + ", which nothing in the component creates"
}

// absentIn returns the objects that the component needs, and neither contains nor creates.
// Objects that a workload may create at run time are not absent for Pods, which start as
// soon as they exist. They are absent for an object that is checked only once, which may
// be Degraded until they exist.
func absentIn(f *facts.Facts) (all []Absent) {
	for _, u := range f.Unresolved() {
		if u.Created || u.Named {
			continue
		}
		a := Absent{From: u.From, ID: u.ID, Entry: f.ExpectedEntry(u.From, u.ID), Field: u.Field, Why: u.Record.Why,
			Starts: !f.Nodes[u.From].Kind.Pod.IsZero(), Makers: u.Makers, Later: u.Later}
		if others := f.InAnyNamespace(u.ID); len(others) > 0 {
			a.OtherNamespace = f.Nodes[others[0]].Key
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y Absent) int {
		return cmp.Or(cmp.Compare(x.From, y.From), facts.CompareIDs(x.ID, y.ID), cmp.Compare(x.Field, y.Field), cmp.Compare(x.Why, y.Why))
	})
	return all
}
