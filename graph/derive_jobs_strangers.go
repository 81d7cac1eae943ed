package graph

import (
	"slices"
	"strings"
)

// What Jobs call, beside programs of which nothing shows whether they come before or after.

// withStrangers returns the need of a Job for a program that it calls. It only may need it if
// another application beside them is a stranger, or another Job of which nothing is known:
// it may need what the Job prepares, or the program may need it. In a wave of its own the
// program would be awaited with it, or without it, in vain.
func (o jobOrder) withStrangers(r Reference, needs map[int]Reference) Reference {
	job, server := &o.Nodes[r.From], &o.Nodes[r.To]
	if r.Until != Healthy || job.Part != server.Part || job.Get("spec", "backoffLimit").Text() == "0" || o.IsStore(r.To) ||
		!server.Serves() || !job.InSync() {
		return r
	}
	anyUnknown := o.isAnyUnknown(r.From)
	for _, i := range o.PodsOf(server.Part) {
		n := &o.Nodes[i]
		if i == r.To || !n.Serves() || !n.InSync() || n.Idle || n.Kind.EveryNode || n.Key.Namespace != server.Key.Namespace ||
			o.IsStore(i) || o.roles.Of(i) != "" {
			continue
		}
		if anyUnknown || o.isStranger(i, r, needs) {
			r.Need, r.Until, r.Because = MayNeed, Together, "no wait, since nothing shows whether "+n.Key.String()+" needs one of the two"
			return r
		}
	}
	return r
}

// isStranger reports whether nothing shows if an application comes after a program that a Job
// calls, or before the Job. Only command lines show it, and what waits: a variable may be an
// address that a program calls later, or hands on.
func (o jobOrder) isStranger(application int, r Reference, needs map[int]Reference) bool {
	isAfter := o.commands(application, r.To) && !o.reached(r.To)[application] || o.WaitTargets(application)[r.From]
	called, isCalled := needs[application]
	isBefore := o.commands(r.To, application) && !o.reached(application)[r.To] || o.WaitTargets(r.From)[application] ||
		isCalled && called.Until == Healthy && isInCommand(&called)
	return !isAfter && !isBefore
}

// commands reports whether the command line of a workload addresses another one.
func (o jobOrder) commands(from, to int) bool {
	for r := range o.set.Between(from, to) {
		if r.Sign == Wait || r.Sign == Try || r.Sign == Call && isInCommand(r) {
			return true
		}
	}
	return false
}

// isInCommand reports whether a reference is in a command line.
func isInCommand(r *Reference) bool { return strings.HasSuffix(r.Field, ".args") }

// isAnyUnknown reports whether nothing is known of another Job beside one.
func (o jobOrder) isAnyUnknown(job int) bool {
	at := &o.Nodes[job]
	return slices.ContainsFunc(o.unknown(), func(j int) bool {
		return j != job && o.Nodes[j].Part == at.Part && o.Nodes[j].Key.Namespace == at.Key.Namespace
	})
}

// findUnknown returns the Jobs of which nothing is known: what they call, or what they do for
// others.
func (o jobOrder) findUnknown() (all []int) {
	for j := range o.Nodes {
		n := &o.Nodes[j]
		if n.Kind.Runs != "once" || n.Kind.Pod.IsZero() || n.Idle || !n.InSync() || o.roles.Of(j) != "" || o.IsGuard(j) ||
			o.MigrationWord(j) != "" || len(o.WaitTargets(j)) > 0 {
			continue
		}
		if needs := o.needsOf(j); len(needs) == 0 && len(o.writtenSecrets(j, needs)) == 0 {
			all = append(all, j)
		}
	}
	return all
}
