package graph

import (
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
)

// companions makes the workloads of a controller's chart, and those that it calls in the
// component, share its wave, where they cannot block each other. A controller is rarely
// ready alone: it waits for companions that write its certificates, store its data or
// take part in its leader election. Often no manifest shows this.
func companions(f *facts.Facts, roles Roles, s Set) (claims []Claim, refs []Reference) {
	queue := roles.Controllers()
	if len(queue) == 0 {
		return nil, nil
	}
	isController := map[int]bool{}
	controllers := map[chartKey][]int{}
	for _, c := range queue {
		isController[c] = true
		at := chartOf(f, c)
		controllers[at] = append(controllers[at], c)
	}
	users := usersOfResources(roles, s)
	addInjected(f, roles, users)
	join := func(i int, why string) {
		// DaemonSets do more harm than good: one node that is not ready would block
		// everything after the controllers.
		if n := &f.Nodes[i]; n.Serves() && roles.Of(i) == "" && !isController[i] && !n.Kind.EveryNode && !n.Kind.RungChanged {
			claims = append(claims, Claim{Node: i, By: Nearby, Rung: knowledge.Controllers, Why: why, Companion: true})
			isController[i] = true
			queue = append(queue, i)
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		leaders := controllers[chartOf(f, i)]
		if len(leaders) == 0 || users[i] || !roles.IsController(i) && !isRelated(f.Nodes[leaders[0]], *n) {
			continue
		}
		join(i, "runs beside "+f.Nodes[leaders[0]].Key.String()+", a controller that may need it to start")
		// Controllers of one origin may depend on each other, too: one of them
		// often writes the certificates of another one.
		for _, c := range leaders {
			if isController[i] && !n.Kind.EveryNode {
				r := inferred(f, c, i, "spec.template", Companion, Together, "may need")
				r.Need = MayNeed
				refs = append(refs, r)
			}
		}
	}
	calls := map[int][]int{}
	extended := s.With(refs)
	for r := range extended.All() {
		if r.Until == Together && r.Inferred() {
			calls[r.From] = append(calls[r.From], r.To)
		}
	}
	for _, called := range calls {
		slices.Sort(called)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, to := range calls[queue[0]] {
			if users[to] || f.Nodes[to].Part != f.Nodes[queue[0]].Part {
				continue
			}
			join(to, "is called by "+f.Nodes[queue[0]].Key.String()+", a controller that may need it to start")
		}
	}
	return claims, refs
}

// addInjected adds to a set the workloads whose Pods a fail-closed webhook of another
// workload must admit: they cannot share the wave of that workload.
func addInjected(f *facts.Facts, roles Roles, to map[int]bool) {
	webhooks := f.Webhooks()
	for at := range webhooks {
		h := &webhooks[at]
		if h.FailsOpen || len(h.Servers) == 0 || !h.IsForPods() {
			continue
		}
		for i := range f.Nodes {
			if f.Nodes[i].Serves() && roles.Of(i) == "" && !slices.Contains(h.Servers, i) && f.AdmitsPods(h, i) {
				to[i] = true
			}
		}
	}
}

// usersOfResources returns the nodes that depend on a custom resource that a
// controller of the component reconciles, such as an application whose database is
// created by an operator. None of them can help the controller to start.
func usersOfResources(roles Roles, s Set) map[int]bool {
	var queue []int
	for r := range s.All() {
		if (r.Need == Needs && r.Until == Healthy || r.Until == Together) && r.IsAboutKind() && roles.IsController(r.To) {
			queue = append(queue, r.From)
		}
	}
	seen := map[int]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		for r := range s.To(queue[0]) {
			if !seen[r.From] && !roles.IsController(r.From) {
				seen[r.From] = true
				queue = append(queue, r.From)
			}
		}
	}
	return seen
}

// isRelated reports whether two workloads of one origin belong together. Those of one
// chart do. A directory may contain unrelated workloads, so there the labels
// decide.
func isRelated(x, y facts.Node) bool {
	if isChart(x) && isChart(y) {
		return true
	}
	shared := false
	for _, label := range []string{"app.kubernetes.io/part-of", "app.kubernetes.io/instance"} {
		if x.Label(label) != "" && x.Label(label) != y.Label(label) {
			return false
		}
		shared = shared || x.Label(label) != ""
	}
	return shared
}

// chartKey is a chart, or a directory, of a component.
type chartKey struct {
	part   int
	origin string
}

func chartOf(f *facts.Facts, i int) chartKey { return chartKey{f.Nodes[i].Part, origin(f.Nodes[i])} }

// origin returns the chart of an object or, outside of charts, its directory.
func origin(n facts.Node) string {
	source := sourceOf(n)
	if at := strings.LastIndex(source, templates); at >= 0 {
		return source[:at]
	}
	return path.Dir(n.File)
}

// sourceOf returns the template of an object from the comment that Helm writes,
// which is also in manifests rendered earlier; otherwise the file.
func sourceOf(n facts.Node) string {
	if source, ok := strings.CutPrefix(n.FirstLine(), "# Source: "); ok {
		return strings.TrimSpace(source)
	}
	return n.File
}

const templates = "/templates/"

func isChart(n facts.Node) bool { return strings.Contains(sourceOf(n), templates) }
