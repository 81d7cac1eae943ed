// Package hooks takes the Helm hooks of a chart into the order of the Sync phase.
//
// Helm runs hooks at events: those of pre-install one after the other before it applies the
// chart, those of post-install right after that, without waiting for health. Argo CD makes
// PreSync and PostSync hooks of them, and starts PostSync only when everything is healthy. So
// a chart hangs if a workload waits for a post-install Job, or if a pre-install Job needs an
// ordinary object. And objects other than Jobs are deleted and made anew at each sync, and
// neither compared nor healed.
//
// Take decides what each hook becomes, from what the objects need (package graph), and
// rewrites the annotations. Taken.Order adds what remains of Helm's order: events and weights
// become references that yield to every need.
//
// The package is pure: objects in, objects out.
package hooks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Mode says how to treat Helm hooks.
type Mode string

const (
	// Keep leaves them to Argo CD. It is the default.
	Keep Mode = "keep"
	// Order takes them into the computed order.
	Order Mode = "order"
)

// Options describe a component.
type Options struct {
	Graph graph.Options
	// Drawn and Looked are the templates whose output contains values that differ on every
	// rendering, and those that read the cluster, which an offline rendering cannot.
	Drawn, Looked []string
}

// Form is what a Helm hook becomes.
type Form string

const (
	// Stays: its phase is right, so nothing changes.
	Stays Form = "stays"
	// SyncHook: a hook of the Sync phase, which Argo CD deletes before it runs again.
	SyncHook Form = "sync-hook"
	// Ordinary: an object that Argo CD compares, heals and prunes.
	Ordinary Form = "ordinary"
	// Dropped: it repeats an ordinary object, which Argo CD would ignore for its sake.
	Dropped Form = "dropped"
)

// Cause says why a hook becomes what it does.
type Cause string

const (
	// RightPhase: it needs nothing of a later phase, and nothing of an earlier one needs it.
	RightPhase Cause = "right-phase"
	// NeedsOther: it needs an object that is not in an earlier phase.
	NeedsOther Cause = "needs"
	// NeededByOther: an object of an earlier phase needs it.
	NeededByOther Cause = "needed-by"
	// BothSides: Helm runs it before the chart and after it.
	BothSides Cause = "both-sides"
	// OfJobs: only Jobs of the Sync phase use it, and it is to go with them.
	OfJobs Cause = "of-jobs"
	// NotAJob: it runs nothing to completion, so nothing is gained by remaking it.
	NotAJob Cause = "not-a-job"
	// Repeats: an ordinary object has its name.
	Repeats Cause = "repeats"
	// Varies: its content differs on every rendering, which Argo CD does not see on hooks.
	Varies Cause = "varies"
	// Endless: it never ends, and Argo CD waits for each hook.
	Endless Cause = "endless"
	// Ambiguous: several hooks have its name, or Argo CD names it.
	Ambiguous Cause = "ambiguous"
)

// Decision is what becomes of a Helm hook.
type Decision struct {
	// Key identifies the object.
	Key object.ID
	// Events are Helm's, and Weight the order in them.
	Events object.HelmEvents
	Weight int
	// Phases are those in which Argo CD applies the hook as it is.
	Phases []object.Phase
	Form   Form
	Cause  Cause
	// Other is the object of NeedsOther and NeededByOther.
	Other object.ID

	// before is the object as the chart has it, and After as it becomes.
	before, After object.Object
	kind          *knowledge.Kind
	// outlives means that it was to be deleted on success, and no longer is.
	outlives bool
	// isHome means that other objects of the component keep data in it, a namespace.
	isHome bool
	// looks means that it only validates something.
	looks bool
	// risk are the words by which it stops, keeps or removes what is there.
	risk string
}

// Was is the position of the hook in a sync as the chart has it: Helm's types, and Argo CD's
// phases.
func (d *Decision) Was() string {
	var phases []string
	for _, p := range d.Phases {
		if p.Order() <= object.PostSync.Order() {
			phases = append(phases, string(p))
		}
	}
	return fmt.Sprintf("%s (%s)", strings.Join(d.Events.Sync, ", "), strings.Join(phases, ", "))
}

// moves reports whether the hook leaves its phase.
func (d *Decision) moves() bool { return d.Form == SyncHook || d.Form == Ordinary }

// runsOnce reports whether the hook is a Job or a Pod.
func (d *Decision) runsOnce() bool { return d.kind.Runs == "once" && !d.kind.Pod.IsZero() }

// isTask reports whether the hook is one that its phase ends with: a Job, a Pod, or a workload
// that is deleted when the sync succeeds.
func (d *Decision) isTask() bool {
	return d.runsOnce() || !d.kind.Pod.IsZero() && slices.Contains(d.before.DeletePolicies(), object.HookSucceeded)
}

// Taken is a component whose Helm hooks are in the order.
type Taken struct {
	// Objects are all objects, without the dropped ones.
	Objects []object.Object
	// Decisions say what became of each Helm hook of a sync, in the order of the objects.
	Decisions []Decision
	opt       Options
	again     []finding.Finding // about moved Jobs that should not run at every sync
}

// Take decides what becomes of the Helm hooks among objects, and rewrites them.
func Take(objs []object.Object, base *knowledge.Base, opt Options) (Taken, error) {
	found, err := decisions(objs, base, opt)
	if err != nil || len(found) == 0 {
		return Taken{Objects: objs, opt: opt}, err
	}
	again, err := decide(found, objs, base, opt)
	if err != nil {
		return Taken{}, err
	}
	t := Taken{Decisions: found, opt: opt, again: again}
	if t.Objects, err = rewritten(objs, found); err != nil {
		return Taken{}, err
	}
	return t, nil
}
