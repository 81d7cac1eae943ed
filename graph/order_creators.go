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
	// OtherNamespace is an object of the same kind and name in another namespace of the
	// component, if there is one.
	OtherNamespace object.ID
	// Makers are workloads of the component that may create the object when they
	// run. It is empty if Starts is true, since Pods wait by themselves.
	Makers []int
}

// creators makes objects need the long-running workloads that may create what they read.
// The step about Jobs handles Jobs.
func creators(f *facts.Facts, _ Roles, _ Set) (_ []Claim, refs []Reference) {
	for _, u := range unresolvedReads(f) {
		if !u.created {
			continue
		}
		for _, m := range u.makers {
			if maker := &f.Nodes[m]; maker.Kind.Runs == "" && maker.InSync() {
				refs = append(refs, inferred(f, u.read.From, m, u.read.Field, Permission, Exists, u.read.Record.Why+" "+u.read.ID.String()+", which may be written by"))
			}
		}
	}
	return nil, refs
}

// unresolvedRead is a read of an object that the component does not contain.
type unresolvedRead struct {
	read *facts.Mention
	// makers are workloads that may create the object.
	makers []int
	// created means that they do so in time: before the reader, or while its Pods wait.
	created bool
}

// unresolvedReads returns the reads of objects that Pods need to start, or another object
// needs to be healthy, and that the component neither contains nor, according to records,
// creates.
func unresolvedReads(f *facts.Facts) (all []unresolvedRead) {
	reads := f.Reads()
	for i := range reads {
		m := &reads[i]
		n := &f.Nodes[m.From]
		pods := !n.Kind.Pod.IsZero()
		needed := pods && (m.Record.Starts || m.Record.Hard) && f.Namespaced(m.ID) || !pods && n.HasHealth && facts.IsData(m.ID)
		if !needed || len(f.ByKey(m.ID)) > 0 || len(f.Producers(m.ID)) > 0 || len(f.LikelyProducers(m.ID)) > 0 ||
			f.Base.Everywhere(m.ID.Kind, m.ID.Name) || f.IsFromTemplate(m.ID) || n.HasPVCTemplate(m.ID.Name) {
			continue
		}
		if m.Anywhere() && (len(f.InAnyNamespace(m.ID)) > 0 || len(f.ProducerAnywhere(m.ID)) > 0) {
			continue
		}
		makers, before := f.CreatorsFor(m)
		all = append(all, unresolvedRead{m, makers, before || pods && len(makers) > 0})
	}
	return all
}

// absentIn returns the objects that the component needs, and neither contains nor creates.
// Objects that a workload may create at run time are not absent for Pods, which start as
// soon as they exist. They are absent for an object that is checked only once, which may
// be Degraded until they exist.
func absentIn(f *facts.Facts) (all []Absent) {
	for _, u := range unresolvedReads(f) {
		if u.created {
			continue
		}
		a := Absent{From: u.read.From, ID: u.read.ID, Field: u.read.Field, Why: u.read.Record.Why, Starts: !f.Nodes[u.read.From].Kind.Pod.IsZero(), Makers: u.makers}
		if others := f.InAnyNamespace(u.read.ID); len(others) > 0 {
			a.OtherNamespace = f.Nodes[others[0]].Key
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y Absent) int {
		return cmp.Or(cmp.Compare(x.From, y.From), facts.CompareIDs(x.ID, y.ID), cmp.Compare(x.Field, y.Field), cmp.Compare(x.Why, y.Why))
	})
	return all
}
