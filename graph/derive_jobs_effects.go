package graph

import (
	"slices"
)

// What Jobs do for others in whatever phase they run.

// changedWebhooks makes a Job need a webhook configuration that its arguments name: it
// changes the configuration, usually to write a CA into it.
func (o jobOrder) changedWebhooks(j int) (refs []Reference) {
	for i := range o.Nodes {
		if n := &o.Nodes[i]; n.Kind.Admits.IsZero() {
			continue
		}
		field, source, is := o.WritesCA(j, i)
		if !is {
			continue
		}
		r := inferred(o.Facts, j, i, field, Configuration, Healthy, "changes")
		if source != "" {
			r.Sign, r.Why, r.Source = Record, "writes the CA of", source
		}
		refs = append(refs, r)
	}
	return refs
}

// initializations makes servers need the Job that initializes their cluster: whatever waits
// for them waits for the Job, and they are not ready before, as the record of a program says.
func (o jobOrder) initializations(j int) (refs []Reference) {
	for _, server := range o.InitializedBy(j) {
		r := inferred(o.Facts, server, j, "spec", Image, Exists, "is ready only after")
		if by, ok := o.Initialization(server); ok && slices.ContainsFunc(o.CommandLines(j), by.IsRunIn) {
			r.Need, r.Until, r.Source = Needs, Together, by.Source
		}
		refs = append(refs, r)
	}
	return refs
}

// initializes reports whether a reference is to a Job without which a server certainly is not
// ready.
func (r *Reference) initializes() bool {
	return r.Sign == Image && r.Need == Needs && r.Until == Together
}

// outsideSync makes objects need a hook of another phase: the readers of what it writes too
// late, the servers that it initializes, and the users of a migration, unless another one of
// their image runs in an earlier phase. The hook itself needs the stores that its settings and
// files name. Where something is only possible, the phases are the order. Tests, and hooks that
// run when a release is rolled back or deleted, do nothing in a sync.
func (o jobOrder) outsideSync(j int, needs map[int]Reference) (refs []Reference) {
	job := &o.Nodes[j]
	if !job.IsApplied() {
		return nil
	}
	refs = slices.Concat(o.changedWebhooks(j), o.initializations(j))
	for store, field := range o.StoreFields(j) {
		if _, known := needs[store]; !known && !o.OnlyLooks(j) && !doesNeed(o.set, j, store) {
			refs = append(refs, callTo(o.Facts, j, store, field, Healthy))
		}
	}
	if o.MigrationWord(j) != "" && !o.IsGuard(j) && !o.followsMigration(j) {
		_, users := o.usersOfJob(j, needs)
		refs = append(refs, users...)
	}
	refs = slices.DeleteFunc(refs, func(r Reference) bool { return r.Need != Needs })
	reads := o.ReadIn(job.Key.Namespace)
	for i := range reads {
		if m := &reads[i]; len(o.ByKey(m.ID)) == 0 && slices.Contains(o.CreatorsFor(m).Later, j) {
			refs = append(refs, o.writtenFor(m, j))
		}
	}
	return refs
}

// followsMigration reports whether another migration of its image runs in an earlier phase.
func (o jobOrder) followsMigration(j int) bool {
	return slices.ContainsFunc(o.Images(j), func(image string) bool {
		return slices.ContainsFunc(o.byImage[[2]string{o.Nodes[j].Key.Namespace, image}].migrations, func(m int) bool {
			return o.Nodes[j].IsAfter(&o.Nodes[m])
		})
	})
}
