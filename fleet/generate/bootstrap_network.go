package generate

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/link"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// onHostNetwork reports whether the Pods of an object start without a Pod network.
func onHostNetwork(n *graph.Node) bool { return len(link.PodSpecs(n)) > 0 && !link.NeedsNetwork(n) }

// isCrowded reports whether the replicas of a Deployment cannot all be ready on one
// node: they must not share one, or the same port of it.
func isCrowded(n *graph.Node) bool {
	replicas, _ := n.Get("spec", "replicas").Int()
	if n.Key.GroupKind() != "Deployment.apps" || replicas < 2 {
		return false
	}
	return slices.ContainsFunc(link.PodSpecs(n), func(spec object.Value) bool {
		antiAffinity := spec.Get("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution").Items()
		port := slices.ContainsFunc(spec.Get("containers").Items(), func(c object.Value) bool {
			return slices.ContainsFunc(c.Get("ports").Items(), func(p object.Value) bool {
				return spec.Get("hostNetwork").True() || p.Get("hostPort").Exists()
			})
		})
		return port || slices.ContainsFunc(antiAffinity, func(term object.Value) bool {
			return term.Get("topologyKey").Text() == "kubernetes.io/hostname" && selectsItself(n, term.Get("labelSelector"))
		})
	})
}

// selectsItself reports whether a selector matches the Pods of the object itself.
func selectsItself(n *graph.Node, selector object.Value) bool {
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, want := range selector.Get("matchLabels").Fields() {
			if tmpl.Value.Get("metadata", "labels", want.Key).Text() != want.Value.Text() {
				return false
			}
		}
	}
	return true
}

// networkFirst moves the Applications that need a Pod network, and their dependents, after the
// network. Dependencies of the network stay before it. The findings name the Applications that
// moved.
func networkFirst(f *fleet.Fleet, all []*fleet.Application) ([]*fleet.Application, []finding.Finding) {
	network, uses := map[*fleet.Application]bool{}, map[*fleet.Application]bool{}
	for i, app := range f.Applications {
		_, network[app] = f.Networks.Providers[i]
		_, uses[app] = f.Networks.Users[i]
	}
	last := -1
	for i, app := range all {
		if network[app] {
			last = i
		}
	}
	if last < 0 {
		return all, noNetwork(f, all, uses)
	}
	needed := withDependencies(f, slices.DeleteFunc(slices.Clone(all), func(app *fleet.Application) bool { return !network[app] }))
	var ahead, moved []*fleet.Application
	for _, app := range all[:last] {
		if !needed[app] && (uses[app] || slices.ContainsFunc(moved, func(to *fleet.Application) bool { return dependsOn(f, app, to) })) {
			moved = append(moved, app)
		} else {
			ahead = append(ahead, app)
		}
	}
	var notes []finding.Finding
	for _, app := range moved {
		notes = append(notes, finding.Finding{Severity: finding.Note, Rule: finding.Rollout, File: app.File, Line: app.Line(app.StepKey()),
			Message: app.Name + " is applied after " + all[last].Name +
				", the Pod network, although its step is not later: its Pods do not start without the network",
			Remedy: "give " + app.Name + " a later step"})
	}
	return slices.Concat(ahead, all[last:last+1], moved, all[last+1:]), notes
}

// noNetwork notes that Pods wait for a network that nothing provides, as far as Ladder knows: an
// operator may create it, or the cluster may have one.
func noNetwork(f *fleet.Fleet, all []*fleet.Application, uses map[*fleet.Application]bool) []finding.Finding {
	at := slices.IndexFunc(all, func(app *fleet.Application) bool { return uses[app] })
	if at < 0 || len(f.Networks.Providers) > 0 { // else the user left it out
		return nil
	}
	app := all[at]
	return []finding.Finding{{Severity: finding.Note, Rule: finding.Rollout, File: app.File, Line: app.Line(app.StepKey()),
		Message: "the Pods of " + app.Name + " need a Pod network, and none of these components is known to provide one",
		Remedy: "make sure that the cluster has a network already, or that the component which creates it is in an earlier " +
			f.Profile.Noun()}}
}

// withDependencies returns some Applications with all their dependencies.
func withDependencies(f *fleet.Fleet, some []*fleet.Application) map[*fleet.Application]bool {
	dependencies := map[*fleet.Application][]*fleet.Application{}
	for _, l := range f.Links {
		if from := f.Applications[l.From]; l.Strength() >= fleet.Exists {
			dependencies[from] = append(dependencies[from], f.Applications[l.To])
		}
	}
	return digraph.Reachable(some, func(app *fleet.Application) []*fleet.Application { return dependencies[app] })
}

// dependsOn reports whether an Application depends on another one.
func dependsOn(f *fleet.Fleet, from, to *fleet.Application) bool {
	return slices.ContainsFunc(f.Links, func(l fleet.Link) bool {
		return l.Strength() >= fleet.Exists && f.Applications[l.From] == from && f.Applications[l.To] == to
	})
}

// moveGatesAfterNetwork moves gates that need the Pod network after the gate of the network.
func moveGatesAfterNetwork(steps []BootstrapStep) {
	last := -1
	for i, s := range steps {
		if slices.ContainsFunc(s.Gates, func(w WaitFor) bool { return w.network }) {
			last = i
		}
	}
	if last < 0 {
		return
	}
	var later []WaitFor
	for i := range steps[:last+1] {
		var now []WaitFor
		for _, w := range steps[i].Gates {
			if w.early || w.network {
				now = append(now, w)
			} else {
				later = append(later, w)
			}
		}
		steps[i].Gates = now
	}
	steps[last].Gates = append(steps[last].Gates, later...)
}
