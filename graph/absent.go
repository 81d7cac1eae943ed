package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
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
// be Degraded until they exist, unless it waits for the Job that writes them.
func absentIn(f *facts.Facts, set Set) (all []Absent) {
	for _, u := range f.Unresolved() {
		if u.Created || u.Named || len(u.Later) == 0 && waitsForWriter(set, &u) {
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

// waitsForWriter reports whether an object waits until what writes its target is healthy.
func waitsForWriter(set Set, u *facts.Unresolved) bool {
	for r := range set.Of(u.From) {
		if r.Need == Needs && r.Until == Healthy && r.Product == u.ID && r.Field == u.Field {
			return true
		}
	}
	return false
}

// Creation is a kind that no component of a graph defines, and of which From creates
// objects according to one of its fields.
type Creation struct {
	From  int
	Kind  knowledge.GroupKind
	Field string
	// Until is the state of the CRD that From needs.
	Until State
	// Why is the verb of a sentence: From, why, Kind.
	Why    string
	Source string
}

// creations returns the kinds of objects that are created later, each once per object.
func creations(f *facts.Facts) (all []Creation) {
	for _, m := range f.Manifests() {
		if m.Definition < 0 && !slices.ContainsFunc(all, func(c Creation) bool { return c.From == m.From && c.Kind == m.Kind }) {
			_, until := meaningOf(m.Record.Meaning)
			all = append(all, Creation{From: m.From, Kind: m.Kind, Field: m.Field, Until: until, Why: m.Record.Why, Source: m.Record.Source})
		}
	}
	return all
}

// danglingIn returns the references of several components to what none of them creates: Secrets
// and ConfigMaps that Pods need, and classes, issuers, stores and the like. A single component
// says less: others may create what it names.
func danglingIn(f *facts.Facts, set Set) []Absent {
	if !f.Joined {
		return nil
	}
	all := slices.DeleteFunc(absentIn(f, set), func(a Absent) bool { return !facts.IsData(a.ID) || len(a.Later) > 0 })
	for _, mentions := range [][]facts.Mention{f.Reads(), f.UnmetConventions()} {
		for i := range mentions {
			m := &mentions[i]
			if isShared(f, m) && !f.IsMet(m) {
				all = append(all, Absent{From: m.From, ID: m.ID, Field: m.Field, Why: m.Record.Why, Entry: f.ExpectedEntry(m.From, m.ID)})
			}
		}
	}
	slices.SortFunc(all, func(x, y Absent) int {
		return cmp.Or(facts.CompareIDs(x.ID, y.ID), cmp.Compare(x.From, y.From), cmp.Compare(x.Field, y.Field))
	})
	return all
}

// isShared reports whether the target of a reference is something that several components use: an
// object of the whole cluster, or a custom resource that configures others. Namespaces, roles
// and definitions have findings of their own.
func isShared(f *facts.Facts, m *facts.Mention) bool {
	kind, _ := f.Base.Kind(m.ID.Group, m.ID.Kind)
	switch {
	case m.ID.Name == "" || strings.ContainsAny(m.ID.Name, "*$({ "), m.Record.Soft, m.Record.Manifest, !m.Record.Within.IsZero():
		return false
	case kind.AlwaysInstalled || len(kind.Defines) > 0 || kind.Rung == knowledge.Workloads:
		return false
	case f.Base.Builtin(m.ID.Group):
		return kind.Scope == "cluster" && m.ID.Group != "" && !strings.HasPrefix(m.ID.Group, "rbac.")
	}
	return kind.Kind != "" && (m.Record.Meaning == knowledge.Healthy || kind.Scope == "cluster")
}
