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
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/facts"
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

// rewritten returns the objects with their decisions applied.
func rewritten(objs []object.Object, all []Decision) ([]object.Object, error) {
	of := map[object.Object]*Decision{}
	for i := range all {
		of[all[i].before] = &all[i]
	}
	out := make([]object.Object, 0, len(objs))
	for _, o := range objs {
		d := of[o]
		if d == nil {
			out = append(out, o)
			continue
		}
		var err error
		if d.After, err = d.rewrite(); err != nil {
			return nil, err
		}
		if d.Form != Dropped {
			out = append(out, d.After)
		}
	}
	return out, nil
}

// decisions returns an open decision for each Helm hook of a sync: every one moves. Those
// whose name does not tell them apart stay, and repetitions of ordinary objects are dropped.
func decisions(objs []object.Object, base *knowledge.Base, opt Options) ([]Decision, error) {
	f, findings := facts.New([]facts.Part{{Objects: objs, Namespace: opt.Graph.Namespace}}, base,
		facts.Options{IsExternal: opt.Graph.IsExternal})
	if err := finding.Err(findings); err != nil {
		return nil, err
	}
	var all []Decision
	for i := range f.Nodes {
		n := &f.Nodes[i]
		events, ok := n.HelmEvents()
		if !ok || n.External {
			continue
		}
		d := Decision{Key: n.Key, Events: events, Phases: n.Phases(), before: n.Object, kind: n.Kind}
		d.Weight, _ = n.Wave()
		d.Form, d.Cause = Ordinary, NotAJob
		if d.runsOnce() || len(events.Delete) > 0 {
			d.Form = SyncHook
		}
		d.isHome = n.Key.Kind == "Namespace" && n.Key.Group == "" && slices.ContainsFunc(f.Nodes, func(in facts.Node) bool {
			return in.Key.Namespace == n.Key.Name && (in.Kind.Recreated.Kept || len(in.Get("spec", "volumeClaimTemplates").Items()) > 0)
		})
		isEndless := false
		if d.runsOnce() {
			commands := f.CommandLines(i)
			d.looks = f.OnlyLooks(i)
			isEndless = slices.ContainsFunc(commands, base.IsEndless)
			for _, command := range commands {
				d.risk = cmp.Or(d.risk, base.Risk(command))
			}
		}
		switch named := f.ByKey(n.Key); {
		case slices.ContainsFunc(named, func(j int) bool { return j != i && !f.Nodes[j].IsHook() }):
			d.Form, d.Cause = Dropped, Repeats
		case len(named) > 1, n.Generated && !d.runsOnce():
			d.Form, d.Cause = Stays, Ambiguous
		case isEndless:
			d.Form, d.Cause = Stays, Endless
		case opt.varies(&d):
			d.Form, d.Cause = Stays, Varies
		}
		all = append(all, d)
	}
	return all, nil
}

// varies reports whether the content of a hook differs on every rendering, as far as its
// template shows.
func (opt Options) varies(d *Decision) bool {
	return slices.Contains(opt.Drawn, d.before.File) && d.holdsSecrets()
}

// holdsSecrets reports whether an object is of a kind for which templates draw values: keys,
// certificates and passwords are in Secrets, and certificates also in what trusts them.
func (d *Decision) holdsSecrets() bool {
	return d.Key.Kind == "Secret" && d.Key.Group == "" || !d.kind.Admits.IsZero() || !d.kind.CA.IsZero()
}
