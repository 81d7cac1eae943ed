package graph

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// tiers: a Job that runs once among the workloads has its place between them.
// What it calls must run first. If it is the migration of others (by its name,
// or because it runs their image), those wait for it; if others call the same
// store it stands in one wave with them; and if nobody else does, it configures
// what it calls and comes last.
func (b *builder) tiers() {
	for j, job := range b.Nodes {
		if job.Kind.Runs != "once" || job.Kind.Pod.IsZero() {
			continue
		}
		needs := b.jobNeeds(j)
		if job.Role != "" {
			b.checks(job, needs)
			continue
		}
		for to, r := range needs {
			r.To = to
			b.refer(r)
		}
		if !job.InSync() {
			continue // its phase places it; Check says whether it can run there
		}
		b.writtenSecrets(j)
		b.changedWebhooks(j)
		sharers := b.sharers(j)
		word := b.base.Migration(append(b.commands(j), job.ID.Name, job.Label("app.kubernetes.io/component"))...)
		callsUsers := slices.ContainsFunc(sharers, func(w int) bool { _, ok := needs[w]; return ok })
		users, others := sharers, b.usersOf(needs, j)
		if len(users) == 0 && word != "" {
			users, others = others, nil
		}
		switch {
		case !callsUsers && len(users) > 0 && (word != "" || len(needs) > 0):
			why := "runs the image that is migrated by"
			if len(sharers) == 0 {
				why = "uses the store that is migrated by"
			}
			for _, u := range users {
				b.refer(b.inferred(u, j, "spec", knowledge.Healthy, why))
			}
		case len(others) > 0:
			// It may prepare the store for them (buckets, topics) or use what
			// they made of it. In one wave it can do either.
			for _, u := range others {
				b.refer(b.inferred(u, j, "spec", knowledge.Exists, "uses what is also used by"))
			}
		case len(needs) > 0 && word == "":
			b.giveRole(j, knowledge.Bootstraps, "configures what it calls")
		}
	}
}

// checks: what a smoke calls must run, and it may be in another component. In its
// own, it comes after everything.
func (b *builder) checks(job Node, needs map[int]Reference) {
	for to, r := range needs {
		if job.Role == knowledge.Smokes && b.Nodes[to].Part != job.Part {
			r.To = to
			b.refer(r)
		}
	}
}

// jobNeeds returns a gate for each node that a Job calls. What it reads from a
// ConfigMap that others read too counts only where it leads to somebody who
// does not read it: such a ConfigMap describes the component to everybody.
func (b *builder) jobNeeds(j int) map[int]Reference {
	needs := map[int]Reference{}
	for _, w := range b.words(j) {
		for _, a := range b.addresses(w, b.Nodes[j].Key.Namespace) {
			for _, server := range b.servers(a.service) {
				if server == j || w.from != j && b.refersTo(server, w.from) && b.describesMany(w.from) {
					continue
				}
				if _, ok := needs[server]; !ok {
					needs[server] = b.inferred(j, server, w.field, knowledge.Healthy, "calls")
				}
			}
		}
	}
	return needs
}

// describesMany reports whether a ConfigMap or Secret leads to several Services,
// as one does that describes the component to all of its workloads. What a
// store shares with those who log in leads to the store alone.
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

// sharers are the workloads that run an image of a Job, now or on a schedule.
func (b *builder) sharers(j int) []int {
	var all []int
	for _, image := range b.images(j) {
		all = append(all, b.runners(b.Nodes[j].Key.Namespace, image)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// commands are the images of a Job and the single words of its command lines,
// which tell what tool it runs.
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

// images are the images of a workload's own containers. Those of init
// containers are mostly tools.
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

// usersOf are the workloads that call what a migration calls.
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

// writtenSecrets: a Job that may write Secrets, and that names one which others
// read and nobody else makes, makes it.
func (b *builder) writtenSecrets(j int) {
	for _, r := range b.readIn(b.Nodes[j].Key.Namespace) {
		if len(b.byKey[r.id]) > 0 || r.From == j ||
			slices.ContainsFunc(b.producers[r.id], func(p int) bool { return b.Nodes[p].Part == b.Nodes[j].Part }) {
			continue
		}
		if !b.mayWrite(j, r.id) {
			continue
		}
		ref := b.inferred(r.From, j, r.Field, knowledge.Healthy, r.Why+" "+r.id.String()+", which is written by")
		b.refer(ref)
	}
}

// writtenBeside reports whether a Job of the component that reads an object may
// write it.
func (b *builder) writtenBeside(r read) bool {
	for _, j := range b.jobsOf(b.Nodes[r.From].Part) {
		if j != r.From && b.Nodes[j].Key.Namespace == r.id.Namespace && b.mayWrite(j, r.id) {
			return true
		}
	}
	return false
}

// changedWebhooks: a Job that names a webhook configuration in its arguments
// changes it, mostly to write a CA into it, and so comes after it.
func (b *builder) changedWebhooks(j int) {
	for i, n := range b.Nodes {
		if n.Kind.Admits.IsZero() || !n.InSync() {
			continue
		}
		for _, w := range b.words(j) {
			if w.value == n.ID.Name && !w.certified && !w.file {
				b.refer(b.inferred(j, i, w.field, knowledge.Healthy, "changes"))
				break
			}
		}
	}
}

// mayWrite reports whether the account of a workload may write an object, and
// its rights or its words name it.
func (b *builder) mayWrite(i int, id object.ID) bool {
	resource := plural(id.Kind)
	for _, account := range b.accounts(b.Nodes[i]) {
		for _, r := range b.grants.rules[account] {
			if !r.allows(id.Group, resource, "create", "update", "patch") {
				continue
			}
			if slices.Contains(r.names, id.Name) || slices.ContainsFunc(b.words(i), func(w word) bool {
				return w.value == id.Name || !w.file && slices.Contains(strings.Fields(w.value), id.Name)
			}) {
				return true
			}
		}
	}
	return false
}
