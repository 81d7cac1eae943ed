package graph

import (
	"maps"
	"slices"
	"sync"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// jobOrder is what the derivation about Jobs reads.
type jobOrder struct {
	*facts.Facts
	roles Roles
	set   Set
	// byImage are the Jobs without a role, by namespace and image: all migrations, and other
	// Jobs of the Sync phase.
	byImage map[[2]string]imageJobs
	// reached returns the nodes to which a node leads.
	reached func(int) map[int]bool
	// namedStores returns the stores that words of a workload name.
	namedStores func(int) []int
	// passed returns the nodes that the command line or a script of a workload names.
	passed func(int) []int
	// unknown returns the Jobs of which nothing is known.
	unknown func() []int
}

// imageJobs are Jobs that run an image: migrations by name, and others.
type imageJobs struct{ migrations, others []int }

func newJobOrder(f *facts.Facts, roles Roles, s Set) jobOrder {
	byImage := map[[2]string]imageJobs{}
	for j := range f.Nodes {
		n := &f.Nodes[j]
		if n.Kind.Runs != "once" || !n.IsApplied() || roles.Of(j) != "" {
			continue
		}
		isMigration := f.MigrationWord(j) != ""
		if len(f.GuardedBy(j)) > 0 {
			continue // it is for a time before the migration
		}
		for _, image := range f.Images(j) {
			at := [2]string{n.Key.Namespace, image}
			jobs := byImage[at]
			switch {
			case isMigration:
				jobs.migrations = append(jobs.migrations, j)
			case n.InSync():
				jobs.others = append(jobs.others, j)
			}
			byImage[at] = jobs
		}
	}
	known := map[int]map[int]bool{}
	reached := func(i int) map[int]bool {
		if known[i] == nil {
			known[i] = digraph.Reachable([]int{i}, func(i int) (all []int) {
				for r := range s.Of(i) {
					all = append(all, r.To)
				}
				return all
			})
		}
		return known[i]
	}
	named := sync.OnceValue(func() targets { return targetsByName(f) })
	o := jobOrder{f, roles, s, byImage, reached, storesByWords(f, named), passedNames(f, named), nil}
	o.unknown = sync.OnceValue(o.findUnknown)
	return o
}

// storesByWords returns a function for the stores that words of a workload name.
func storesByWords(f *facts.Facts, named func() targets) func(int) []int {
	known := map[int][]int{}
	return func(i int) []int {
		all, ok := known[i]
		if ok {
			return all
		}
		for _, w := range slices.Concat(f.Words(i), f.Hints(i)) {
			for _, to := range named().in(f, w.Word, &f.Nodes[i]) {
				if f.IsStore(to) && !slices.Contains(all, to) {
					all = append(all, to)
				}
			}
		}
		known[i] = all
		return all
	}
}

// jobs orders Jobs relative to the workloads of the component. A Job waits for the
// workloads that it calls. If it is a migration for others (by its name, or because they
// run its image), they wait for it. If others call the same store, it shares a wave with
// them. Otherwise it configures what it calls and runs last.
func jobs(f *facts.Facts, roles Roles, s Set) (claims []Claim, refs []Reference) {
	o := newJobOrder(f, roles, s)
	for j := range f.Nodes {
		job := &f.Nodes[j]
		if job.Kind.Runs != "once" || job.Kind.Pod.IsZero() {
			continue
		}
		needs := o.needsOf(j)
		if roles.Of(j) != "" {
			refs = append(refs, o.checkedWorkloads(j, needs)...)
			continue
		}
		for to, r := range needs {
			if !f.WaitTargets(j)[to] || !job.InSync() && !o.certainlyWaits(j, to) {
				refs = append(refs, o.withStrangers(r, needs))
			}
		}
		if !job.InSync() { // its phase decides; package wave reports whether it can run there
			refs = append(refs, o.outsideSync(j, needs)...)
			continue
		}
		refs = append(refs, o.changedWebhooks(j)...)
		refs = append(refs, o.initializations(j)...)
		refs = append(refs, o.writtenSecrets(j, needs)...)
		for _, m := range f.GuardedBy(j) {
			refs = append(refs, possible(f, m, j, "spec", Image, "may come after"))
		}
		if f.IsGuard(j) {
			continue // it changes nothing for others
		}
		claim, users := o.usersOfJob(j, needs)
		claims, refs = append(claims, claim...), append(refs, users...)
	}
	return claims, refs
}

// certainlyWaits reports whether a container of a Job does not go on before a node responds.
func (o jobOrder) certainlyWaits(j, to int) bool {
	for r := range o.set.Between(j, to) {
		if r.Sign == Wait {
			return true
		}
	}
	return false
}

// usersOfJob orders a Job relative to the workloads that use what it does. needs are the
// Job's references by target.
func (o jobOrder) usersOfJob(j int, needs map[int]Reference) ([]Claim, []Reference) {
	sharers := o.Sharers(j)
	if slices.ContainsFunc(sharers, func(w int) bool { return o.WaitTargets(j)[w] }) {
		sharers = nil // a client in the image of its server
	}
	word := o.MigrationWord(j)
	// What the Job addresses does not wait for it.
	sharers = slices.DeleteFunc(sharers, func(w int) bool {
		r, ok := needs[w]
		return word != "" && (ok && r.Until == Healthy || o.isClientOf(j, w))
	})
	// Other workloads that it only mentions do not affect a migration.
	callsUsers := slices.ContainsFunc(sharers, func(w int) bool { r, ok := needs[w]; return ok && (word == "" || r.Until == Healthy) })
	addressed := needs
	needs = maps.Clone(needs)
	maps.DeleteFunc(needs, func(to int, r Reference) bool { return r.Need == MayNeed && !o.WaitTargets(j)[to] })
	users, others, why := sharers, o.usersOf(needs, j), sharesImage
	if len(users) == 0 {
		why = usesStoreOf
		if word != "" {
			users, others = others, nil
		}
	}
	var sharing []Reference
	if word != "" {
		if len(users) == 0 {
			users = o.namingItsStore(j, addressed)
		}
		sharing = slices.Concat(o.waitForMigration(o.sharingSecrets(users, j, addressed), j, "shares a Secret with the migration"),
			o.waitForMigration(o.sharingDatabases(users, j, addressed), j, usesStoreOf))
	}
	if word == "" && o.hasMigration(j) {
		users = nil // another Job is the migration of its image
	}
	switch {
	case len(sharing) > 0 && len(users) == 0:
		return nil, sharing
	case !callsUsers && len(users) > 0 && word != "":
		// Users of the same store may wait for the Job's changes.
		others = slices.DeleteFunc(slices.Clone(others), func(u int) bool { return slices.Contains(users, u) })
		return nil, slices.Concat(sharing, o.waitForMigration(users, j, why), o.jobsBeside(j, needs),
			o.shareWave(others, j, "uses a database that is migrated by"))
	case !callsUsers && len(users) > 0 && len(needs) > 0:
		return nil, o.shareWave(users, j, "runs the image of") // the same image alone is not proof
	case len(others) > 0:
		// It may prepare the store for them (buckets, topics) or use their
		// data. In one wave it can do either.
		return nil, o.shareWave(others, j, "uses the same service as")
	case len(needs) > 0 && word == "":
		return []Claim{{Node: j, By: Purpose, Rung: knowledge.Bootstraps, Why: "configures what it calls"}}, nil
	}
	return nil, nil
}

const (
	sharesImage = "runs an image whose database is migrated by"
	usesStoreOf = "uses the store that is migrated by"
)

// namingItsStore returns the workloads that name the store of a migration, if it names only
// one.
func (o jobOrder) namingItsStore(j int, needs map[int]Reference) (users []int) {
	stores := o.namedStores(j)
	for _, i := range o.candidates(j, needs) {
		if len(stores) == 1 && slices.Contains(o.namedStores(i), stores[0]) && !o.DifferentDatabases(j, i, stores[0]) {
			users = append(users, i)
		}
	}
	return users
}

// sharingSecrets returns the workloads, besides its users, that read the same key of the same
// Secret as a migration, which may contain the address of the store. A whole Secret that
// several of them read says nothing.
func (o jobOrder) sharingSecrets(users []int, j int, needs map[int]Reference) (all []int) {
	readers := map[facts.SecretKey][]int{}
	for _, i := range o.candidates(j, needs) {
		for _, key := range o.SecretKeys(i) {
			for _, own := range o.SecretKeys(j) {
				if at := own.Common(key); at != (facts.SecretKey{}) && !slices.Contains(readers[at], i) {
					readers[at] = append(readers[at], i)
				}
			}
		}
	}
	for key, by := range readers {
		if key.Key == "" && len(by) > 1 {
			continue
		}
		all = append(all, slices.DeleteFunc(by, func(i int) bool { return slices.Contains(users, i) })...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sharingDatabases returns the workloads, besides its users, that use the same database
// outside the component as a migration, or else the only one that uses its server.
func (o jobOrder) sharingDatabases(users []int, j int, needs map[int]Reference) (all []int) {
	databases, servers := o.DatabasesElsewhere(j)
	if len(servers) == 0 {
		return nil
	}
	var beside []int
	haveCommon := func(x, y []string) bool {
		return slices.ContainsFunc(x, func(name string) bool { return slices.Contains(y, name) })
	}
	for _, i := range o.candidates(j, needs) {
		switch of, at := o.DatabasesElsewhere(i); {
		case haveCommon(of, databases):
			all = append(all, i)
		case haveCommon(at, servers):
			beside = append(beside, i)
		}
	}
	if len(all) == 0 && len(users) == 0 && len(beside) == 1 {
		return beside
	}
	return slices.DeleteFunc(all, func(i int) bool { return slices.Contains(users, i) })
}

// candidates returns the applications that may use what a migration does: neither it, nor
// what it calls, leads to them.
func (o jobOrder) candidates(j int, needs map[int]Reference) (all []int) {
	leads := maps.Clone(o.reached(j))
	for called := range needs {
		maps.Copy(leads, o.reached(called))
	}
	for _, i := range o.PodsOf(o.Nodes[j].Part) {
		n := &o.Nodes[i]
		_, called := needs[i]
		if !called && n.Serves() && n.InSync() && n.Key.Namespace == o.Nodes[j].Key.Namespace && !o.MayBeStore(i) && !leads[i] {
			all = append(all, i)
		}
	}
	return all
}

// waitForMigration makes the users of a migration's result wait for the migration.
func (o jobOrder) waitForMigration(users []int, migration int, why string) (refs []Reference) {
	for _, u := range users {
		r := inferred(o.Facts, u, migration, "spec", Image, Healthy, why)
		r.Fails = WrongData
		refs = append(refs, r)
	}
	return refs
}

// shareWave puts workloads that may need a Job, or be needed by it, in its wave.
func (o jobOrder) shareWave(workloads []int, job int, why string) (refs []Reference) {
	for _, w := range workloads {
		refs = append(refs, inferred(o.Facts, w, job, "spec", Image, Exists, why))
	}
	return refs
}

// jobsBeside orders the Jobs with a migration's image that are not migrations themselves.
// Like workloads, they use its result, unless they create what it migrates: words say so that
// are about a database or, where that is in no store of the component, about anything.
func (o jobOrder) jobsBeside(migration int, needs map[int]Reference) (refs []Reference) {
	knowsStore := slices.ContainsFunc(slices.Collect(maps.Keys(needs)), o.IsStore) || len(o.namedStores(migration)) > 0
	seen := map[int]bool{}
	for _, image := range o.Images(migration) {
		for _, j := range o.byImage[[2]string{o.Nodes[migration].Key.Namespace, image}].others {
			switch {
			case seen[j]:
			case !knowsStore && o.CreatesData(j), o.CreatesDatabase(j):
				refs = append(refs, possible(o.Facts, migration, j, "spec", Image, "may migrate what is created by"))
			default:
				refs = append(refs, o.waitForMigration([]int{j}, migration, sharesImage)...)
			}
			seen[j] = true
		}
	}
	return refs
}

// hasMigration reports whether another Job with the image of this one is a
// migration by name.
func (o jobOrder) hasMigration(j int) bool {
	return slices.ContainsFunc(o.Images(j), func(image string) bool {
		return len(o.byImage[[2]string{o.Nodes[j].Key.Namespace, image}].migrations) > 0
	})
}

// checkedWorkloads makes a smoke need the workloads of other components that it calls. In
// its own component it is applied last anyway.
func (o jobOrder) checkedWorkloads(j int, needs map[int]Reference) (refs []Reference) {
	for to, r := range needs {
		if o.roles.Of(j) == knowledge.Smokes && o.Nodes[to].Part != o.Nodes[j].Part {
			refs = append(refs, r)
		}
	}
	return refs
}

// needsOf returns a gate for each node that a Job calls. It leaves out nodes if
// the Job itself waits for something, if the node waits for the Job or reads what
// it writes, if the node is a store that the Job initializes, or if the node runs the
// Job's image and the Job mentions it only in a variable or file that both share. A
// migration waits for stores only, unless no other program shares the address. What
// the Job reads from a shared ConfigMap counts only if it leads to a workload that does
// not read it: such a ConfigMap describes the component to all of them. A hook that only
// validates files calls nothing that they name.
func (o jobOrder) needsOf(j int) map[int]Reference {
	needs := map[int]Reference{}
	sharers, initialized := o.Sharers(j), o.InitializedBy(j)
	mayMigrate, validates := o.MayMigrate(j), o.Nodes[j].IsHook() && o.OnlyLooks(j)
	for _, w := range o.Words(j) {
		for _, service := range o.Addresses(w, o.Nodes[j].Key.Namespace) {
			for _, server := range o.Servers(service) {
				if server == j || w.From != j && o.set.Refers(server, w.From) && o.DescribesMany(w.From) || validates && w.IsFile {
					continue
				}
				onlyMentioned := o.writesInputOf(j, server) || slices.Contains(initialized, server) ||
					len(o.WaitTargets(j)) > 0 && o.Nodes[j].InSync() ||
					o.WaitTargets(server)[j] || slices.Contains(sharers, server) && o.HasWord(server, w, j) ||
					mayMigrate && !o.IsStore(server) && o.IsDescription(w, j)
				if r, ok := needs[server]; !ok || r.Need == MayNeed && !onlyMentioned {
					until := Healthy
					if onlyMentioned {
						until = Together
					}
					needs[server] = callTo(o.Facts, j, server, w.Field, until)
				}
			}
		}
	}
	o.addServersOfClient(j, sharers, initialized, needs)
	for _, server := range o.RunsIn(j) {
		if server != j && !o.writesInputOf(j, server) && !slices.Contains(initialized, server) && !o.WaitTargets(server)[j] {
			needs[server] = inferred(o.Facts, j, server, "spec.template.spec", Call, Healthy, "runs commands in the Pods of")
		}
	}
	return needs
}

// usersOf returns the workloads that call the targets of a migration.
func (o jobOrder) usersOf(needs map[int]Reference, job int) []int {
	var all []int
	for server := range needs {
		for _, w := range o.set.Referrers(server) {
			if _, store := needs[w]; !store && w != job && o.Nodes[w].Serves() && o.Nodes[w].InSync() && !o.DifferentDatabases(job, w, server) {
				all = append(all, w)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// writesInputOf reports whether a Job writes what a workload reads: a ConfigMap or Secret
// of the component that the Job may change and names in its script.
func (o jobOrder) writesInputOf(j, workload int) bool {
	for r := range o.set.Of(workload) {
		id := o.Nodes[r.To].Key
		if r.Need == NeedsNot || r.Until != Exists || !facts.IsData(id) || !o.MayChange(j, id) {
			continue
		}
		if slices.ContainsFunc(o.Words(j), func(w facts.Word) bool { return knowledge.ContainsWord(w.Value, id.Name, text.IsHostByte) }) {
			return true
		}
	}
	return false
}

// writtenSecrets makes readers of Secrets wait for the Job that creates them. A Job that
// may write Secrets creates those that it names, if others read them and nothing else
// creates them. The only Job with that permission also creates those that Pods need to
// start. needs are the Job's references by target.
func (o jobOrder) writtenSecrets(j int, needs map[int]Reference) (refs []Reference) {
	job := &o.Nodes[j]
	reads := o.ReadIn(job.Key.Namespace)
	for i := range reads {
		m := &reads[i]
		if len(o.ByKey(m.ID)) > 0 || m.From == j || o.Base.Everywhere(m.ID.Kind, m.ID.Name) ||
			slices.ContainsFunc(o.Producers(m.ID), func(p int) bool { return o.Nodes[p].Part == job.Part }) {
			continue
		}
		if !o.MayWrite(j, m.ID) {
			if !m.Record.Starts || o.Nodes[m.From].Part != job.Part || o.needsHealthy(j, m.From, needs) {
				continue
			}
			if !slices.Equal(o.CreatorsFor(m).InTime, []int{j}) {
				continue
			}
		}
		refs = append(refs, o.writtenFor(m, j))
	}
	return refs
}

// writtenFor makes the reader of an object need the Job that writes it.
func (o jobOrder) writtenFor(m *facts.Mention, j int) Reference {
	r := inferred(o.Facts, m.From, j, m.Field, Permission, Healthy, m.Record.Why+" "+m.ID.String()+", which is written by")
	r.Product = m.ID
	return r
}

// needsHealthy reports whether a Job waits until a workload is healthy.
func (o jobOrder) needsHealthy(job, workload int, needs map[int]Reference) bool {
	if r, ok := needs[workload]; ok && r.Until == Healthy {
		return true
	}
	for r := range o.set.Between(job, workload) {
		if r.Until == Healthy {
			return true
		}
	}
	return false
}
