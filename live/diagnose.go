package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// State is how a sync goes.
type State string

const (
	// Healthy: the last sync ended, and nothing is wrong.
	Healthy State = "healthy"
	// Slow: the sync goes on, and nothing shows that it will not end.
	Slow State = "slow"
	// Hangs: the sync waits for what will not come by itself.
	Hangs State = "hangs"
	// Failed: the sync failed, or waits to be tried again.
	Failed State = "failed"
)

// Step is one link of a chain of causes.
type Step struct {
	// Object is what the step is about: it, or an object that belongs to it, shows the cause.
	Object object.ID
	Cause
}

// Chain leads from what the sync waits for to what is behind it.
type Chain struct {
	// Awaited is the object that the sync waits for or failed at.
	Awaited object.ID
	Steps   []Step
}

// root is the innermost cause.
func (c Chain) root() Step { return c.Steps[len(c.Steps)-1] }

// evidence is that of the best shown step.
func (c Chain) evidence() (best Evidence) {
	for _, s := range c.Steps {
		best = max(best, s.Evidence)
	}
	return best
}

// isYoung reports whether a step may be normal.
func (c Chain) isYoung() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.IsYoung })
}

// Diagnosis says why an Application is not synced and healthy.
type Diagnosis struct {
	Application object.ID
	State       State
	// Operation is the phase of the operation, and Message what Argo CD says about it.
	Operation, Message string
	// At is where the sync is. Seconds is how long it has been running, or over if it has ended.
	At      position
	Seconds int64
	// Retries counts the attempts after the first, of at most Limit; IsRetrying means that it
	// waits for the last of these.
	Retries, Limit int
	IsRetrying     bool
	// Chains are the causes, the best shown first. A healthy or slow sync has none.
	Chains []Chain
	// Awaited are the objects that the sync waits for, with their progress, and Later is how many
	// it applies after them.
	Awaited []Progress
	Later   int
	// Blocked says that a newer commit waits behind the operation; zero if none does.
	Blocked Cause
	// Notes say what else matters, such as what could not be read.
	Notes []string
	// IsDeleted means that the Application is being deleted, and IsBehind that its manifests have
	// changed since it was synced.
	IsDeleted, IsBehind bool
	// NeverSynced means that the Application has no operation, and nothing says why.
	NeverSynced bool
	// IsAsked means that a sync was asked for, or is automatic, and Argo CD has not begun.
	IsAsked bool
}

// Progress says how far an object is.
type Progress struct {
	Object object.ID
	Text   string
}

// ExitCode is that of cmp why: 0 healthy, 1 hangs or failed, 3 slow.
func (d Diagnosis) ExitCode() int {
	switch d.State {
	case Healthy:
		return 0
	case Slow:
		return 3
	}
	return 1
}

// Diagnose says why the Application of a snapshot hangs or failed. It needs the Application, and
// says less the less there is of the other objects.
func Diagnose(snap Snapshot, base *knowledge.Base) Diagnosis {
	s := newScene(snap, base)
	s.relate()
	app, ok := s.objects[snap.Application]
	if !ok {
		return Diagnosis{Application: snap.Application, State: Failed, NeverSynced: true}
	}
	op := s.operationOf(app)
	d := Diagnosis{Application: snap.Application, Operation: op.phase, Message: op.message, Retries: op.retries, Limit: op.limit,
		IsRetrying: op.isRetrying(), At: s.place(app, op)}
	if since := max(op.started, op.finished); since > 0 {
		d.Seconds = s.Now - since
	}
	for _, id := range s.unfinished(app) {
		d.Awaited = append(d.Awaited, Progress{id, s.progress(id)})
	}
	d.Later = s.notApplied(app, op)
	chains := s.rank(s.chains(snap.Application))
	old := slices.DeleteFunc(slices.Clone(chains), Chain.isYoung)
	d.IsAsked = op.phase == "" && (op.isAsked || argo.IsAutomated(app.Get("spec")) && s.created(app) < briefly)
	health := app.Get("status", "health", "status").Text()
	switch {
	case op.hasFailed():
		d.State, d.Chains = Failed, old
		if len(old) == 0 {
			d.Chains = chains
		}
	case len(old) > 0 && op.phase != running && op.phase != terminating &&
		(health == "Degraded" || slices.Contains([]string{"application-condition", "sync-error"}, old[0].root().Rule)):
		d.State, d.Chains = Failed, old
	case len(old) > 0:
		d.State, d.Chains = Hangs, old
	case op.phase == running || op.phase == terminating || op.isAsked || d.IsAsked || health == "Progressing" ||
		health == "Missing" || isTerminating(app):
		d.State = Slow
	case health == "Degraded":
		d.State = Failed
	default:
		d.State = Healthy
	}
	d.NeverSynced = op.phase == "" && !d.IsAsked && len(d.Chains) == 0 && app.Get("status", "sync", "status").Text() != "Synced"
	d.IsBehind = app.Get("status", "sync", "status").Text() == "OutOfSync"
	if d.IsDeleted = isTerminating(app); d.IsDeleted {
		d.Seconds = s.age(app.Get("metadata", "deletionTimestamp").Text())
	}
	d.Blocked = s.blockedFix(app, op, d.State)
	if snap.IsExport && len(d.Chains) == 0 && d.State != Healthy && d.Seconds >= aWhile {
		if lacking := s.notInFile(d.Awaited); lacking != "" {
			d.Notes = append(d.Notes, "unknown, because the file lacks it: "+lacking)
		}
	}
	for _, what := range snap.Denied {
		d.Notes = append(d.Notes, "not read: "+what)
	}
	return d
}

// place is where a sync is: at the first object that it waits for or failed at, else at the last
// that it applied.
func (s *scene) place(app object.Object, op operation) position {
	if all := op.awaited(); len(all) > 0 {
		return s.positionOf(app, all[0])
	}
	if len(op.entries) > 0 {
		return s.positionOf(app, op.entries[len(op.entries)-1])
	}
	return position{}
}

// notApplied counts the objects that a running sync has not applied yet. Hooks that do not exist
// yet are in no status.
func (s *scene) notApplied(app object.Object, op operation) (n int) {
	if !op.isRunning() || op.isSelective {
		return 0
	}
	done := map[object.ID]bool{}
	for _, e := range op.entries {
		done[e.id] = true
	}
	for _, r := range s.resourcesOf(app) {
		if !done[r.id] && !r.hook && r.status != "Synced" {
			n++
		}
	}
	return n
}

// unfinished returns what an Application waits for: while it syncs, the entries that are running
// or have failed; afterwards, what is not healthy.
func (s *scene) unfinished(app object.Object) (all []object.ID) {
	op := s.operationOf(app)
	add := func(id object.ID) {
		if !slices.Contains(all, id) && id != app.ID {
			all = append(all, id)
		}
	}
	for _, e := range op.awaited() {
		add(e.id)
	}
	if !op.isRunning() && !op.hasFailed() && !slices.Contains([]string{"Healthy", "Suspended"}, app.Get("status", "health", "status").Text()) {
		for _, e := range op.entries {
			if e.state == running { // the last wave, for which nothing waits
				add(e.id)
			}
		}
		for _, r := range s.resourcesOf(app) {
			if r.health != "" && r.health != "Healthy" {
				add(r.id)
			}
		}
	}
	if id, ok := inMessage(app, op); ok && op.isRunning() {
		add(id)
	}
	for _, r := range s.resourcesOf(app) { // an Application is deleted after its objects
		if o, ok := s.objects[r.id]; ok && isTerminating(app) && isTerminating(o) {
			add(r.id)
		}
	}
	for _, r := range s.resourcesOf(app) { // without a health check, a parent does not wait for its children
		if child, ok := s.objects[r.id]; ok && argo.IsApplication(r.id) && s.isBehind(child) {
			add(r.id)
		}
	}
	return all
}

// isBehind reports whether an Application syncs, has failed or is not healthy.
func (s *scene) isBehind(app object.Object) bool {
	op := s.operationOf(app)
	return op.phase != "" && op.phase != succeeded || app.Get("status", "health", "status").Text() == "Degraded" ||
		app.Get("status", "sync", "status").Text() == "Unknown"
}

// progress says how far an object is, in a few words; empty if it does not say.
func (s *scene) progress(id object.ID) string {
	o, ok := s.objects[id]
	switch {
	case !ok && s.IsExport:
		return "not in the file"
	case !ok:
		return ""
	}
	status := o.Get("status")
	switch id.GroupKind() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps":
		return fewest(status, number(o.Get("spec", "replicas"), 1), "updatedReplicas", "readyReplicas", "availableReplicas")
	case "DaemonSet.apps":
		return fewest(status, number(status.Get("desiredNumberScheduled"), 0), "updatedNumberScheduled", "numberReady", "numberAvailable")
	case "Job.batch":
		return fmt.Sprintf("%d active, %d failed", number(status.Get("active"), 0), number(status.Get("failed"), 0))
	case "Application.argoproj.io":
		return cmp.Or(s.operationOf(o).phase, "no operation") + ", " + status.Get("health", "status").Text()
	}
	for _, c := range conditionsOf(o) {
		if c.status == "False" && c.reason != "RolloutHealthy" {
			return cmp.Or(c.message, c.kind+" is False")
		}
	}
	return status.Get("phase").Text()
}

// fewest says how many Pods are updated, ready and available: the lowest of the numbers.
func fewest(status object.Value, want int, updated, ready, available string) string {
	least, is := number(status.Get(ready), 0), "ready"
	if n := number(status.Get(available), 0); n < least {
		least, is = n, "available"
	}
	if n := number(status.Get(updated), 0); n < least {
		least, is = n, "updated"
	}
	return fmt.Sprintf("%d of %d Pods are %s", least, want, is)
}

// notInFile says what an export lacks that might show a cause.
func (s *scene) notInFile(awaited []Progress) string {
	has := func(kind string) bool {
		return slices.ContainsFunc(s.Objects, func(o object.Object) bool { return o.ID.Kind == kind })
	}
	var lacking []string
	pods := false
	for _, p := range awaited {
		pods = pods || s.runsPods(p.Object)
	}
	if pods && !has("Pod") {
		lacking = append(lacking, "Pods")
	}
	if len(awaited) > 0 && !has("Event") {
		lacking = append(lacking, "Events")
	}
	return strings.Join(lacking, ", ")
}
