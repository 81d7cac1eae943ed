package graph

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// possibilities returns what objects may need although nothing certain, nor any hint that
// says what it is for, points to it. A smoke is applied last anyway. This is the last
// derivation, so that no other concludes anything from it.
func possibilities(f *facts.Facts, roles Roles, s Set) ([]Claim, []Reference) {
	refs, prepared := makersNearby(f, roles), preparers(f, roles, s)
	refs = slices.Concat(refs, storesNearby(f, roles, s.With(refs)), jobsNearby(f, roles, s), prepared, namersOfAbsent(f, roles),
		wordsOfNames(f, roles, s, prepared), nodeAgents(f, roles, s), hostsOfNames(f, roles))
	return nil, append(refs, operatorsBehind(f, roles, s.With(refs))...)
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
// a database is often in an encrypted Secret, or compiled into the program. About a
// custom resource, any other reference says more.
func storesNearby(f *facts.Facts, roles Roles, s Set) (refs []Reference) {
	stores, programs := map[place][]int{}, map[place][]int{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		at := place{n.Part, n.Key.Namespace}
		if !n.InSync() {
			continue
		}
		if f.MayBeStore(i) || f.KeepsFiles(i) {
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
				if store == program || f.Nodes[store].Kind.Pod.IsZero() && (s.Refers(store, program) || s.Refers(program, store)) {
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

// jobsNearby makes each program of a namespace, except stores, may need the Jobs that call no
// program but stores there: what such a Job prepares, such as a schema, a bucket or a topic,
// is for whoever uses the store.
func jobsNearby(f *facts.Facts, roles Roles, s Set) (refs []Reference) {
	for j := range f.Nodes {
		job := &f.Nodes[j]
		if job.Kind.Runs != "once" || !job.InSync() || job.Idle || roles.Of(j) == knowledge.Smokes || f.IsGuard(j) {
			continue
		}
		// Of one that calls nothing and is needed by nobody, nothing is known.
		only, some := callsStores(f, s, j)
		isNeeded := func(i int) bool { return doesNeed(s, i, j) }
		if !only || !some && slices.ContainsFunc(s.Referrers(j), isNeeded) || f.Incompletion(j).NeverEnds {
			continue
		}
		for _, i := range f.PodsOf(job.Part) {
			n := &f.Nodes[i]
			if n.Serves() && n.InSync() && n.Key.Namespace == job.Key.Namespace && roles.Of(i) == "" && !f.IsStore(i) {
				refs = append(refs, possible(f, i, j, "spec.template", Beside, mayPrepareFor))
			}
		}
	}
	return refs
}

// callsStores reports whether a Job needs no program but stores, and whether it needs one.
func callsStores(f *facts.Facts, s Set, job int) (only, some bool) {
	for r := range s.Of(job) {
		if n := &f.Nodes[r.To]; r.Need == Needs && (n.Serves() || f.IsStore(r.To)) {
			if !f.IsStore(r.To) {
				return false, some
			}
			some = true
		}
	}
	return true, some
}

// doesNeed reports whether one node needs another.
func doesNeed(s Set, from, to int) bool {
	for r := range s.Between(from, to) {
		if r.Need == Needs {
			return true
		}
	}
	return false
}

// possible returns a reference to what an object may need, if the sign only shows that it
// is possible.
func possible(f *facts.Facts, from, to int, field string, sign Sign, why string) Reference {
	r := inferred(f, from, to, field, sign, Together, why)
	r.Need = MayNeed
	return r
}

// wordsOfNames makes a program, or a custom resource for which an operator runs one, may need
// what a text that it reads names: a workload, a Job or a custom resource, directly or by its
// Service, one of its Pods, or the Secret that it writes. About a custom resource, any other
// reference says more. A store calls no application, whose name is often that of a database
// or a user, and neither does a migration, nor what may prepare its store; and what a program sends
// to a store names none.
func wordsOfNames(f *facts.Facts, roles Roles, s Set, prepared []Reference) (refs []Reference) {
	named := targetsByName(f)
	prepares := map[int]bool{}
	for i := range prepared {
		prepares[prepared[i].To] = true
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Runs == "later" || !n.InSync() || roles.Of(i) == knowledge.Smokes {
			continue
		}
		seen := map[int]bool{i: true}
		calls := func(to int) bool {
			switch {
			case f.MayBeStore(to):
				return true
			case n.Kind.Runs == "once": // a migration waits for stores only
				return f.MigrationWord(i) == "" && !prepares[i]
			}
			return !f.IsStore(i)
		}
		for _, w := range slices.Concat(f.Words(i), f.Hints(i)) {
			outside := sync.OnceValue(func() []int { return named.in(f, f.OutsideStores(i, w), n) })
			for _, to := range named.in(f, w.Word, n) {
				if seen[to] || !calls(to) || !f.MayBeStore(to) && !slices.Contains(outside(), to) {
					continue
				}
				seen[to] = true
				isCustom := n.Kind.Pod.IsZero() || f.Nodes[to].Kind.Pod.IsZero()
				if !isCustom || !roles.IsController(i) && !roles.IsController(to) && !s.Refers(i, to) && !s.Refers(to, i) {
					refs = append(refs, possible(f, i, to, w.Field, Word, "mentions"))
				}
			}
		}
	}
	return refs
}

// hostsOfNames makes a program may need the Ingress or route whose host a text that it reads
// names, and the programs behind it: an issuer of tokens, for example,
// which a program asks when it starts. A migration may need only what lets it out, such as a
// ServiceEntry: without a health check, and without a program behind it.
func hostsOfNames(f *facts.Facts, roles Roles) (refs []Reference) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Pod.IsZero() || n.Kind.Runs == "later" || !n.InSync() || roles.Of(i) == knowledge.Smokes || f.IsStore(i) {
			continue
		}
		isMigration := n.Kind.Runs == "once" && f.MigrationWord(i) != ""
		exposed := f.Exposed(i)
		for _, to := range slices.Sorted(maps.Keys(exposed)) {
			if isMigration && (f.Nodes[to].HasHealth || len(f.Behind(to)) > 0) {
				continue
			}
			refs = append(refs, possible(f, i, to, exposed[to], Word, "mentions a host of"))
			for _, server := range f.Behind(to) {
				if server != i {
					refs = append(refs, possible(f, i, server, exposed[to], Word, "mentions a host of"))
				}
			}
		}
	}
	return refs
}

// nameIn is a name in a namespace of a component, or one that is qualified with a
// namespace.
type nameIn struct {
	part            int
	namespace, name string
}

// targets are the nodes that names may stand for.
type targets map[nameIn][]int

// in returns the nodes that the words of a text may stand for in the namespace of a node.
// The names of a Pod of a StatefulSet lead to the StatefulSet.
func (t targets) in(f *facts.Facts, w text.Word, n *facts.Node) (all []int) {
	for _, token := range text.Names(f.Base, w) {
		found := t.at(token, n)
		if pod, service, qualified := strings.Cut(token, "."); len(found) == 0 && facts.IsPodName(pod) {
			if !qualified {
				service = pod[:strings.LastIndexByte(pod, '-')]
			}
			found = slices.DeleteFunc(slices.Clone(t.at(service, n)), func(to int) bool {
				return !qualified && !f.Nodes[to].Get("spec", "serviceName").Exists()
			})
		}
		all = append(all, found...)
	}
	return all
}

func (t targets) at(name string, n *facts.Node) []int {
	if strings.Contains(name, ".") {
		return t[nameIn{n.Part, "", name}]
	}
	return slices.Concat(t[nameIn{n.Part, n.Key.Namespace, name}], t[nameIn{n.Part, "", name}])
}

// targetsByName maps names to the nodes that they may stand for: those that run Pods, now or
// by an operator, under their own name and those of their Services, in every form that
// resolves in the cluster; and other custom resources, under their own name and those of the
// Secrets and ConfigMaps that they write, if nothing that runs has the name.
func targetsByName(f *facts.Facts) targets {
	all := targets{}
	add := func(part int, id object.ID, to int) {
		if n := &f.Nodes[to]; !n.InSync() || n.Kind.Runs == "later" {
			return
		}
		qualified := id.Name + "." + id.Namespace
		for _, at := range []nameIn{{part, id.Namespace, id.Name}, {part, "", qualified}, {part, "", qualified + ".svc"},
			{part, "", qualified + ".svc.cluster.local"}} {
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
				add(n.Part, n.Key, server)
			}
		case !n.Kind.Pod.IsZero(), n.Kind.Rung == knowledge.Workloads && n.HasHealth && !f.Base.Builtin(n.ID.Group):
			add(n.Part, n.Key, i)
		}
	}
	running := maps.Clone(all)
	addMaker := func(i int, id object.ID) {
		n := &f.Nodes[i]
		if f.Base.Builtin(n.ID.Group) || !slices.Contains([]string{knowledge.Workloads, knowledge.Secrets, "configs"}, n.Kind.Rung) {
			return
		}
		if len(running[nameIn{n.Part, id.Namespace, id.Name}]) == 0 && !f.IsNamespace(id.Name) {
			add(n.Part, id, i)
		}
	}
	for i := range f.Nodes {
		addMaker(i, f.Nodes[i].Key)
	}
	for _, id := range f.Products() {
		for _, i := range f.Producers(id) {
			addMaker(i, id)
		}
	}
	return all
}

// operatorsBehind makes a program that needs or may need a custom resource may need the
// programs that reconcile it: before, nothing runs for it. A custom resource without a known
// controller may be reconciled by the controllers of other kinds of its group, and by any
// program of the component that may do everything.
func operatorsBehind(f *facts.Facts, roles Roles, s Set) (refs []Reference) {
	mayDoAll := slices.DeleteFunc(allMighty(f), func(i int) bool { return roles.Of(i) == knowledge.Smokes })
	isCustom := func(i int) bool {
		return f.Nodes[i].Kind.Pod.IsZero() && f.Nodes[i].InSync() && !f.Base.Builtin(f.Nodes[i].ID.Group)
	}
	of, ofGroup := map[int][]int{}, map[string][]int{} // the controllers
	for i := range f.Nodes {
		for r := range s.Of(i) {
			if group := f.Nodes[i].ID.Group; isCustom(i) && r.IsAboutKind() && f.Nodes[r.To].Serves() {
				of[i] = append(of[i], r.To)
				if !slices.Contains(ofGroup[group], r.To) {
					ofGroup[group] = append(ofGroup[group], r.To)
				}
			}
		}
	}
	behind := func(i int) []int {
		for _, all := range [][]int{of[i], ofGroup[f.Nodes[i].ID.Group]} {
			if len(all) > 0 {
				return all
			}
		}
		return mayDoAll
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if !n.InSync() {
			continue
		}
		if isCustom(i) && n.HasHealth {
			for _, w := range behind(i) {
				if !s.Refers(i, w) && f.Nodes[w].Part == n.Part {
					refs = append(refs, possible(f, i, w, "spec", Permission, "may be reconciled by"))
				}
			}
		}
		if n.Kind.Pod.IsZero() || n.Kind.Runs == "later" || roles.Of(i) == knowledge.Smokes {
			continue
		}
		seen := map[int]bool{i: true}
		for r := range s.Of(i) {
			if r.Need == NeedsNot || !isCustom(r.To) {
				continue
			}
			for _, w := range behind(r.To) {
				if !seen[w] && f.Nodes[w].Part == n.Part && !s.Refers(i, w) {
					refs = append(refs, possible(f, i, w, r.Field, Beside, "may need what is reconciled by"))
				}
				seen[w] = true
			}
		}
	}
	return refs
}

// allMighty returns the programs whose permissions name every group and every kind.
func allMighty(f *facts.Facts) (all []int) {
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Serves() && n.InSync() && slices.ContainsFunc(f.RulesOfNode(i), func(r facts.Rule) bool {
			return r.In == "" && r.Allows("*", "*", "*")
		}) {
			all = append(all, i)
		}
	}
	return all
}
