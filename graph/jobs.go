package graph

import (
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// orderJobs orders Jobs relative to the workloads of the component. A Job waits for
// the workloads that it calls. If it is a migration for others (by its name, or because
// they run its image), they wait for it. If others call the same store, it shares a
// wave with them. Otherwise it configures what it calls and runs last.
func (b *builder) orderJobs() {
	for j, job := range b.Nodes {
		if job.Kind.Runs != "once" || job.Kind.Pod.IsZero() {
			continue
		}
		needs := b.jobNeeds(j)
		if job.Role != "" {
			b.referToCheckedWorkloads(job, needs)
			continue
		}
		for to, r := range needs {
			if r.To = to; !b.waitTargets[j][to] || !job.InSync() {
				b.refer(r)
			}
		}
		if !job.InSync() {
			b.referToLaterInitialization(j)
			continue // its phase decides; Check reports whether it can run there
		}
		b.referToWrittenSecrets(j)
		b.referToChangedWebhooks(j)
		for _, server := range b.initializedBy(j) { // whatever waits for the server waits for the Job
			b.refer(b.inferredReference(server, j, "spec", knowledge.Exists, "is ready only after"))
		}
		b.orderUsersOfJob(j, needs)
	}
}

// orderUsersOfJob orders a Job relative to the workloads that use what it does. needs are
// the Job's references by target.
func (b *builder) orderUsersOfJob(j int, needs map[int]Reference) {
	sharers := b.sharers(j)
	if slices.ContainsFunc(sharers, func(w int) bool { return b.waitTargets[j][w] }) {
		sharers = nil // a client in the image of its server
	}
	word := b.migrationWord(j)
	// Other workloads that it only mentions do not affect a migration.
	callsUsers := slices.ContainsFunc(sharers, func(w int) bool { r, ok := needs[w]; return ok && (word == "" || r.Meaning == knowledge.Healthy) })
	maps.DeleteFunc(needs, func(to int, r Reference) bool { return r.Meaning == knowledge.NoOrder && !b.waitTargets[j][to] })
	users, others, why := sharers, b.usersOf(needs, j), sharesImage
	if len(users) == 0 {
		why = "uses the store that is migrated by"
		if word != "" {
			users, others = others, nil
		}
	}
	if word == "" && b.hasMigration(j) {
		users = nil // another Job is the migration of its image
	}
	switch {
	case !callsUsers && len(users) > 0 && word != "":
		b.waitForMigration(users, j, why)
		b.waitForMigration(b.laterJobs(j), j, sharesImage)
		// Users of the same store may wait for the Job's changes.
		others = slices.DeleteFunc(slices.Clone(others), func(u int) bool { return slices.Contains(users, u) })
		b.shareWaveWithJob(others, j, "uses a database that is migrated by")
	case !callsUsers && len(users) > 0 && len(needs) > 0:
		b.shareWaveWithJob(users, j, "runs the image of") // the same image alone is not proof
	case len(others) > 0:
		// It may prepare the store for them (buckets, topics) or use their
		// data. In one wave it can do either.
		b.shareWaveWithJob(others, j, "uses the same service as")
	case len(needs) > 0 && word == "":
		b.giveRole(j, knowledge.Bootstraps, "configures what it calls")
	}
}

const sharesImage = "runs an image whose database is migrated by"

// waitForMigration makes the users of a migration's result wait for the migration.
func (b *builder) waitForMigration(users []int, migration int, why string) {
	for _, u := range users {
		r := b.inferredReference(u, migration, "spec", knowledge.Healthy, why)
		r.Data = true
		b.refer(r)
	}
}

// shareWaveWithJob puts workloads that may need a Job, or be needed by it, in its wave.
func (b *builder) shareWaveWithJob(workloads []int, job int, why string) {
	for _, w := range workloads {
		b.refer(b.inferredReference(w, job, "spec", knowledge.Exists, why))
	}
}

// migrationWord returns the word that makes a Job a migration by name; empty if there is
// none.
func (b *builder) migrationWord(j int) string {
	n := &b.Nodes[j]
	return b.base.Migration(append(b.commands(j), n.ID.Name, n.Label("app.kubernetes.io/component"))...)
}

// laterJobs returns the Jobs with a migration's image that are not migrations
// themselves: like workloads, they use its result.
func (b *builder) laterJobs(migration int) []int {
	var all []int
	for _, image := range b.images(migration) {
		all = append(all, b.jobsRunning(b.Nodes[migration].Key.Namespace, image).others...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hasMigration reports whether another Job with the image of this one is a
// migration by name.
func (b *builder) hasMigration(j int) bool {
	return slices.ContainsFunc(b.images(j), func(image string) bool {
		return len(b.jobsRunning(b.Nodes[j].Key.Namespace, image).migrations) > 0
	})
}

// referToCheckedWorkloads makes a smoke depend on the workloads of other components
// that it calls. In its own component it is applied last anyway.
func (b *builder) referToCheckedWorkloads(job Node, needs map[int]Reference) {
	for to, r := range needs {
		if job.Role == knowledge.Smokes && b.Nodes[to].Part != job.Part {
			r.To = to
			b.refer(r)
		}
	}
}

// jobNeeds returns a gate for each node that a Job calls. It leaves out nodes if
// the Job itself waits for something, if the node waits for the Job or reads what
// it writes, if the node is a store that the Job initializes, or if the node runs the Job's image and the Job mentions it only in a
// variable or file that both share. What the Job reads from a shared ConfigMap
// counts only if it leads to a workload that does not read it: such a ConfigMap
// describes the component to all of them.
func (b *builder) jobNeeds(j int) map[int]Reference {
	needs := map[int]Reference{}
	sharers, initialized := b.sharers(j), b.initializedBy(j)
	for _, w := range b.words(j) {
		for _, a := range b.addresses(w, b.Nodes[j].Key.Namespace) {
			for _, server := range b.servers(a.service) {
				if server == j || w.from != j && b.refersTo(server, w.from) && b.describesMany(w.from) {
					continue
				}
				isFilled := b.writesInputOf(j, server)
				onlyMentioned := isFilled || slices.Contains(initialized, server) || len(b.waitTargets[j]) > 0 && b.Nodes[j].InSync() || b.waitTargets[server][j] ||
					!strings.HasSuffix(w.field, ".args") && slices.Contains(sharers, server)
				if r, ok := needs[server]; !ok || r.Meaning == knowledge.NoOrder && !onlyMentioned {
					meaning := knowledge.Healthy
					if onlyMentioned {
						meaning = knowledge.NoOrder
					}
					needs[server] = b.callReference(j, server, w.field, meaning)
				}
			}
		}
	}
	return needs
}

// describesMany reports whether a ConfigMap or Secret leads to several Services,
// since then it describes the component to all workloads. One that a store shares
// with its clients leads only to the store.
func (b *builder) describesMany(config int) bool {
	services := map[object.ID]bool{}
	n := b.Nodes[config]
	for key, value := range entries(n) {
		for _, a := range b.addresses(word{name: key, value: value, from: config}, n.Key.Namespace) {
			services[a.service] = true
		}
	}
	return len(services) > 1
}

// sharers returns the workloads that run an image of a Job, now or on a schedule.
func (b *builder) sharers(j int) []int {
	var all []int
	for _, image := range b.images(j) {
		all = append(all, b.runners(b.Nodes[j].Key.Namespace, image)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// commands returns the images of a Job and the words of its command lines, which
// show the tool that it runs.
func (b *builder) commands(j int) []string {
	var all []string
	for _, image := range b.images(j) {
		all = append(all, knowledge.Repository(image))
	}
	n := b.Nodes[j]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			for _, word := range append(texts(c.Get("command")), texts(c.Get("args"))...) {
				if !strings.ContainsAny(word, " =\n") && !strings.HasPrefix(word, "-") {
					all = append(all, word)
				}
			}
		}
	}
	return all
}

// images returns the images of a workload's containers without init containers,
// which usually run tools.
func (b *builder) images(i int) []string {
	n := b.Nodes[i]
	var all []string
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			if image := c.Get("image").Text(); image != "" {
				all = append(all, image)
			}
		}
	}
	return all
}

// usersOf returns the workloads that call the targets of a migration.
func (b *builder) usersOf(needs map[int]Reference, job int) []int {
	var all []int
	for server := range needs {
		for _, w := range b.referrers(server) {
			if _, store := needs[w]; !store && w != job && serves(b.Nodes[w]) && b.Nodes[w].InSync() {
				all = append(all, w)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// referToChangedWebhooks makes a Job depend on a webhook configuration that its
// arguments name: it changes the configuration, usually to write a CA into it.
func (b *builder) referToChangedWebhooks(j int) {
	for i, n := range b.Nodes {
		if n.Kind.Admits.IsZero() || !n.InSync() {
			continue
		}
		for _, w := range b.words(j) {
			if w.value == n.ID.Name && !w.isSAN && !w.file {
				b.refer(b.inferredReference(j, i, w.field, knowledge.Healthy, "changes"))
				break
			}
		}
	}
}

// initializesCluster reports whether a command line or script of a Job initializes a
// cluster of running servers. The servers of some databases are not ready before that.
func (b *builder) initializesCluster(j int) bool {
	return slices.ContainsFunc(b.commandLines(j), b.base.InitializesCluster)
}

// commandLines returns the scripts of a workload, and its command line.
func (b *builder) commandLines(i int) []string {
	var all, command []string
	for _, w := range b.words(i) {
		switch {
		case strings.HasSuffix(w.field, ".args") && strings.HasPrefix(w.name, "-"):
			command = append(command, w.name, w.value)
		case strings.HasSuffix(w.field, ".args"):
			command = append(command, w.value)
		case w.file && strings.HasPrefix(w.value, "#!"):
			all = append(all, w.value)
		}
	}
	return append(all, strings.Join(command, " "))
}

// initializedBy returns the servers of the cluster that a Job initializes: they run the
// program of the Job in any version, or the Job reaches their Pods before they are
// ready.
func (b *builder) initializedBy(j int) []int {
	if !b.initializesCluster(j) {
		return nil
	}
	var all []int
	for _, w := range b.words(j) {
		for _, a := range b.addresses(w, b.Nodes[j].Key.Namespace) {
			reachesPods := slices.ContainsFunc(b.byKey[a.service], func(s int) bool { return b.Nodes[s].Get("spec", "publishNotReadyAddresses").True() })
			for _, server := range b.servers(a.service) {
				if server != j && (reachesPods || b.runsProgramOf(server, j)) && !slices.Contains(all, server) {
					all = append(all, server)
				}
			}
		}
	}
	return all
}

// referToLaterInitialization makes servers depend on a PostSync Job of their component
// that initializes their cluster, if their readiness probe fails before: the Job
// is never applied, because Argo CD waits for the servers first.
func (b *builder) referToLaterInitialization(j int) {
	job := &b.Nodes[j]
	if !slices.Equal(job.phases, []object.Phase{object.PostSync}) {
		return
	}
	for _, server := range b.initializedBy(j) {
		by, ok := b.initialization(server)
		if !ok || !b.Nodes[server].InSync() || b.Nodes[server].Part != job.Part || !slices.ContainsFunc(b.commandLines(j), by.IsRunIn) {
			continue
		}
		r := b.inferredReference(server, j, "spec.template", knowledge.Healthy, "is ready only after")
		r.Source = by.Source
		b.refer(r)
	}
}

// initialization returns the record of the command without which a container of a
// server is not ready, if there is one.
func (b *builder) initialization(server int) (knowledge.Initialization, bool) {
	n := &b.Nodes[server]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			if by, ok := b.base.Initialization(c.Get("image").Text(), commandOf(c), c.Get("readinessProbe", "httpGet", "path").Text()); ok {
				return by, true
			}
		}
	}
	return knowledge.Initialization{}, false
}

// runsProgramOf reports whether two workloads have an image in common, in any version.
func (b *builder) runsProgramOf(i, other int) bool {
	return slices.ContainsFunc(b.images(i), func(image string) bool {
		return slices.ContainsFunc(b.images(other), func(o string) bool { return knowledge.SameRepository(image, o) })
	})
}

// writesInputOf reports whether a Job writes what a workload reads: a ConfigMap or Secret
// of the component that the Job may change and names in its script.
func (b *builder) writesInputOf(j, workload int) bool {
	for r := range b.referencesOf(workload) {
		id := b.Nodes[r.To].Key
		if r.Meaning != knowledge.Exists || !isData(id) || !b.mayChange(j, id) {
			continue
		}
		if slices.ContainsFunc(b.words(j), func(w word) bool { return knowledge.ContainsWord(w.value, id.Name, isHostByte) }) {
			return true
		}
	}
	return false
}

// mayChange reports whether a workload may write an object, by name or in general.
func (b *builder) mayChange(i int, id object.ID) bool {
	for _, serviceAccount := range b.serviceAccounts(b.Nodes[i]) {
		for _, r := range b.grants.rulesFor(serviceAccount) {
			if r.allows(id.Group, plural(id.Kind), "create", "update", "patch") && (len(r.names) == 0 || slices.Contains(r.names, id.Name)) {
				return true
			}
		}
	}
	return false
}
