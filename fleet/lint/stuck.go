package lint

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/fleet/appofapps"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// gates finds what may hold up a rollout forever.
func (l *checker) gates() []fault { return append(l.endlessHooks(), l.stuck()...) }

// stuck finds Applications that do not become healthy by themselves although others wait for them,
// and those that Argo CD rejects: one finding for each reason.
func (l *checker) stuck() []fault {
	if !l.InPlace() {
		return nil
	}
	around := l.surroundings()
	var all []fault
	names := map[int][]string{} // by finding
	for i, app := range l.Applications {
		n := l.Tree.Nodes[app.Node]
		generated := n.Parent != inplace.None && l.Tree.Nodes[n.Parent].IsSet
		awaited := l.isAwaited(app.Node)
		for _, o := range around.Obstacles(n.Object, l.contents(i), generated) {
			if !awaited && o.Kind != argocd.Refused {
				continue
			}
			message := "Argo CD does not sync it: " + o.Why
			if awaited {
				message = fmt.Sprintf("later Applications wait for it in %s, but %s", l.place(app.Node), o.Why)
			}
			at := slices.IndexFunc(all, func(f fault) bool { return f.About == o.Why && f.Remedy == o.Remedy })
			if at < 0 {
				f := l.at(finding.Warning, app, message, o.Remedy)
				f.Object, f.About = n.Object.ID.String(), o.Why
				all = append(all, f)
				continue
			}
			names[at] = append(names[at], app.Name)
		}
	}
	for at, others := range names {
		all[at].Message += "; the same holds for " + finding.Several(others)
	}
	return all
}

// isAwaited reports whether others come after an Application: siblings in a later wave, or later
// steps.
func (l *checker) isAwaited(node int) bool {
	n := l.Tree.Nodes[node]
	if n.Parent != inplace.None && l.Tree.Nodes[n.Parent].IsSet {
		return n.Step > 0 && n.Step < l.Tree.Nodes[n.Parent].Steps
	}
	return slices.ContainsFunc(l.Tree.Children(n.Parent), func(other int) bool { return l.Tree.Nodes[other].Wave.Number > n.Wave.Number })
}

// surroundings are the AppProjects and clusters that were read.
func (l *checker) surroundings() argocd.Surroundings {
	objs := slices.Clone(l.Around)
	for _, app := range l.Applications {
		objs = append(objs, app.Objects...)
	}
	return argocd.NewSurroundings(objs)
}

// contents returns the objects of an Application whose scope is known.
func (l *checker) contents(app int) []argocd.Content {
	return appofapps.Contents(l.Objects, l.Base, func(n *graph.Node) bool { return n.Part == app && !n.Stub })
}
