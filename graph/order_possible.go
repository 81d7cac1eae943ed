package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// possibilities returns what objects may need although nothing certain, nor any hint that
// says what it is for, points to it. A smoke is applied last anyway. This is the last step,
// so that no other concludes anything from it.
func possibilities(f *facts.Facts, roles Roles, s Set) ([]Claim, []Reference) {
	return nil, slices.Concat(storesNearby(f, roles), jobsNearby(f, roles, s), makersNearby(f, roles), namersOfAbsent(f, roles), wordsOfNames(f, roles))
}

// place is a namespace of a component.
type place struct {
	part      int
	namespace string
}

// mostNearby is how many stores, or custom resources, of a namespace its programs may all
// need. A namespace with more is not one application.
const mostNearby = 64

// storesNearby makes every program of a namespace may need the stores in it: the address of
// a database is often in an encrypted Secret, or compiled into the program.
func storesNearby(f *facts.Facts, roles Roles) (refs []Reference) {
	stores, programs := map[place][]int{}, map[place][]int{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		at := place{n.Part, n.Key.Namespace}
		if !n.InSync() {
			continue
		}
		if f.MayBeStore(i) {
			stores[at] = append(stores[at], i)
		}
		if !f.IsStore(i) && !n.Kind.Pod.IsZero() && n.Kind.Runs != "later" && roles.Of(i) == "" {
			programs[at] = append(programs[at], i)
		}
	}
	for at, all := range stores {
		if len(all) > mostNearby {
			continue
		}
		for _, program := range programs[at] {
			for _, store := range all {
				if store == program {
					continue
				}
				refs = append(refs, possible(f, program, store, "spec.template", Beside, "may use"))
			}
		}
	}
	return refs
}

// makersNearby makes an object that reads what nothing in the component makes may need the
// custom resources beside it: their operators make objects that no manifest shows.
func makersNearby(f *facts.Facts, roles Roles) (refs []Reference) {
	makers := map[place][]int{}
	for _, kind := range f.Kinds() {
		for i := kind.From; i < kind.To && !f.Base.Builtin(kind.Group); i++ {
			n := &f.Nodes[i]
			if n.InSync() && n.Kind.Pod.IsZero() && (n.Kind.Rung == knowledge.Workloads || n.Kind.Rung == knowledge.Secrets) {
				at := place{n.Part, n.Key.Namespace}
				makers[at] = append(makers[at], i)
			}
		}
	}
	for _, u := range f.Unresolved() {
		reader := &f.Nodes[u.From]
		all := makers[place{reader.Part, reader.Key.Namespace}]
		if u.Created || reader.Kind.Pod.IsZero() || roles.Of(u.From) == knowledge.Smokes || len(all) > mostNearby {
			continue
		}
		for _, i := range all {
			refs = append(refs, possible(f, u.From, i, u.Field, Beside, u.Record.Why+" "+u.ID.String()+", which may be made for"))
		}
	}
	return refs
}

// namersOfAbsent makes an object that reads what nothing in the component makes may need the
// Jobs that name it: one of them may make it, with a program that no manifest shows.
func namersOfAbsent(f *facts.Facts, roles Roles) (refs []Reference) {
	for _, u := range f.Unresolved() {
		if u.Created {
			continue
		}
		for _, j := range f.JobsOf(f.Nodes[u.From].Part) {
			job := &f.Nodes[j]
			if j != u.From && job.InSync() && job.Key.Namespace == u.ID.Namespace && roles.Of(j) != knowledge.Smokes && f.NamesUnread(j, u.ID) {
				refs = append(refs, possible(f, u.From, j, u.Field, Word, u.Record.Why+" "+u.ID.String()+", which may be made by"))
			}
		}
	}
	return refs
}

// jobsNearby makes each program of a namespace, except stores, may need the Jobs that
// wait for a store there: what such a Job prepares in the store, such as a schema, a bucket
// or a topic, is for whoever uses the store.
func jobsNearby(f *facts.Facts, roles Roles, s Set) (refs []Reference) {
	for j := range f.Nodes {
		job := &f.Nodes[j]
		if job.Kind.Runs != "once" || !job.InSync() || roles.Of(j) == knowledge.Smokes || !preparesStore(f, s, j) {
			continue
		}
		for _, i := range f.PodsOf(job.Part) {
			n := &f.Nodes[i]
			if n.Serves() && n.InSync() && n.Key.Namespace == job.Key.Namespace && roles.Of(i) == "" && !f.IsStore(i) {
				refs = append(refs, possible(f, i, j, "spec.template", Beside, "may use what is prepared by"))
			}
		}
	}
	return refs
}

// preparesStore reports whether a Job waits for a store, and for no other program.
func preparesStore(f *facts.Facts, s Set, job int) (found bool) {
	for r := range s.Of(job) {
		if n := &f.Nodes[r.To]; r.Need == Needs && (n.Serves() || f.IsStore(r.To)) {
			if !f.IsStore(r.To) {
				return false
			}
			found = true
		}
	}
	return found
}

// possible returns a reference to what an object may need, if the sign only shows that it
// is possible.
func possible(f *facts.Facts, from, to int, field string, sign Sign, why string) Reference {
	r := inferred(f, from, to, field, sign, Together, why)
	r.Need = MayNeed
	return r
}

// wordsOfNames makes a program may need what a text that it reads names: a workload, a Job
// or a custom resource, directly or by its Service.
func wordsOfNames(f *facts.Facts, roles Roles) (refs []Reference) {
	named := targetsByName(f)
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Pod.IsZero() || n.Kind.Runs == "later" || !n.InSync() || roles.Of(i) == knowledge.Smokes {
			continue
		}
		seen := map[int]bool{i: true}
		for _, w := range f.Words(i) {
			for _, token := range text.Tokens(w.Value) {
				for _, to := range named[nameIn{n.Part, n.Key.Namespace, strings.Trim(token, "-.")}] {
					if !seen[to] {
						seen[to] = true
						refs = append(refs, possible(f, i, to, w.Field, Word, "mentions"))
					}
				}
			}
		}
	}
	return refs
}

// nameIn is a name in a namespace of a component.
type nameIn struct {
	part            int
	namespace, name string
}

// targetsByName maps names to the nodes that they may stand for: those that run Pods, now or
// by an operator, under their own name and those of their Services, in every form that
// resolves in the cluster.
func targetsByName(f *facts.Facts) map[nameIn][]int {
	all := map[nameIn][]int{}
	add := func(service *facts.Node, to int) {
		n := &f.Nodes[to]
		if !n.InSync() || n.Kind.Runs == "later" {
			return
		}
		name, namespace := service.ID.Name, service.Key.Namespace
		for _, form := range []string{name, name + "." + namespace, name + "." + namespace + ".svc", name + "." + namespace + ".svc.cluster.local"} {
			at := nameIn{service.Part, namespace, form}
			if !slices.Contains(all[at], to) {
				all[at] = append(all[at], to)
			}
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		switch {
		case !n.Kind.Selects.IsZero():
			for _, server := range f.Servers(object.ID{Kind: n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name}) {
				add(n, server)
			}
		case !n.Kind.Pod.IsZero(), n.Kind.Rung == knowledge.Workloads && n.HasHealth && !f.Base.Builtin(n.ID.Group):
			add(n, i)
		}
	}
	return all
}
