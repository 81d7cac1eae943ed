package fleet

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// A bootstrap runs before the cluster has a Pod network. Without it, the kubelet starts only
// Pods on the host network that tolerate a node that is not ready.

// podSpecs returns the Pod specs in an object.
func podSpecs(n *graph.Node) []object.Value {
	var all []object.Value
	for _, found := range n.Kind.Pod.Find(n.Root()) {
		all = append(all, found.Value.Get("spec"))
	}
	return all
}

// isNetwork reports whether Pods have a network once an object is ready.
func isNetwork(n *graph.Node) bool {
	if n.Key.GroupKind() != "DaemonSet.apps" {
		return false
	}
	return slices.ContainsFunc(podSpecs(n), func(spec object.Value) bool {
		return spec.Get("hostNetwork").True() && slices.ContainsFunc(spec.Get("volumes").Items(), func(v object.Value) bool {
			return slices.Contains(gates.Network.Paths, strings.TrimSuffix(v.Get("hostPath", "path").Text(), "/"))
		})
	})
}

// onHostNetwork reports whether the Pods of an object start without a Pod network.
func onHostNetwork(n *graph.Node) bool {
	specs := podSpecs(n)
	return len(specs) > 0 && !slices.ContainsFunc(specs, needsNetwork)
}

// needsNetwork reports whether an object has Pods that start only with a Pod network.
func needsNetwork(spec object.Value) bool {
	return !spec.Get("hostNetwork").True() || !slices.ContainsFunc(spec.Get("tolerations").Items(), func(t object.Value) bool {
		key, effect := t.Get("key").Text(), t.Get("effect").Text()
		return (key == "" && t.Get("operator").Text() == "Exists" || key == gates.Network.Taint) && (effect == "" || effect == "NoSchedule")
	})
}

// isCrowded reports whether the replicas of a Deployment cannot all be ready on one
// node: they must not share one, or the same port of it.
func isCrowded(n *graph.Node) bool {
	replicas, _ := n.Get("spec", "replicas").Int()
	if n.Key.GroupKind() != "Deployment.apps" || replicas < 2 {
		return false
	}
	return slices.ContainsFunc(podSpecs(n), func(spec object.Value) bool {
		apart := spec.Get("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution").Items()
		port := slices.ContainsFunc(spec.Get("containers").Items(), func(c object.Value) bool {
			return slices.ContainsFunc(c.Get("ports").Items(), func(p object.Value) bool {
				return spec.Get("hostNetwork").True() || p.Get("hostPort").Exists()
			})
		})
		return port || slices.ContainsFunc(apart, func(term object.Value) bool {
			return term.Get("topologyKey").Text() == "kubernetes.io/hostname" && meetsItself(n, term.Get("labelSelector"))
		})
	})
}

// meetsItself reports whether a selector matches the Pods of the object itself.
func meetsItself(n *graph.Node, selector object.Value) bool {
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
func (f *Fleet) networkFirst(all []*Application) ([]*Application, []finding.Finding) {
	network, uses := map[*Application]bool{}, map[*Application]bool{}
	for i := range f.Objects.Nodes {
		n := &f.Objects.Nodes[i]
		app := f.Applications[n.Part]
		network[app] = network[app] || isNetwork(n)
		uses[app] = uses[app] || n.InSync() && len(podSpecs(n)) > 0 && !onHostNetwork(n)
	}
	last := -1
	for i, app := range all {
		if network[app] {
			last = i
		}
	}
	if last < 0 {
		return all, nil
	}
	needed := f.neededBy(all, network)
	var ahead, moved []*Application
	for _, app := range all[:last] {
		if !needed[app] && (uses[app] || slices.ContainsFunc(moved, func(to *Application) bool { return f.needs(app, to) })) {
			moved = append(moved, app)
		} else {
			ahead = append(ahead, app)
		}
	}
	var notes []finding.Finding
	for _, app := range moved {
		notes = append(notes, finding.Finding{Severity: finding.Note, Rule: "network-first", File: app.File, Line: app.Line(app.PhaseKey()),
			Message: app.Name + " is applied after " + all[last].Name + ", the Pod network, although its step is not later: its Pods do not start without the network",
			Remedy:  "give " + app.Name + " a later step"})
	}
	return slices.Concat(ahead, all[last:last+1], moved, all[last+1:]), notes
}

// neededBy returns some Applications with all their dependencies.
func (f *Fleet) neededBy(all []*Application, some map[*Application]bool) map[*Application]bool {
	needed := map[*Application]bool{}
	for _, app := range all {
		needed[app] = some[app]
	}
	for more := true; more; {
		more = false
		for _, l := range f.Links {
			from, to := f.Applications[l.From], f.Applications[l.To]
			if l.Strength() >= Exists && needed[from] && !needed[to] {
				needed[to], more = true, true
			}
		}
	}
	return needed
}

// needs reports whether an Application depends on another one.
func (f *Fleet) needs(from, to *Application) bool {
	return slices.ContainsFunc(f.Links, func(l Link) bool {
		return l.Strength() >= Exists && f.Applications[l.From] == from && f.Applications[l.To] == to
	})
}

// awaitBehindNetwork moves gates that need the Pod network after the gate of the network.
func awaitBehindNetwork(steps []BootstrapStep) {
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
