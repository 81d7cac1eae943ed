package graph

import (
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
)

// findCompanions makes the workloads of a controller's chart, and those that it calls
// in the component, share its wave, where they cannot block each other. A controller
// is rarely ready alone: it waits for companions that write its certificates, store
// its data or take part in its leader election. Often no manifest shows this.
func (b *builder) findCompanions() {
	type chartKey struct {
		part   int
		origin string
	}
	firstControllers := map[chartKey]int{} // the first controller of each chart
	var queue []int
	for i, n := range b.Nodes {
		if n.Role != knowledge.Controllers {
			continue
		}
		queue = append(queue, i)
		if _, ok := firstControllers[chartKey{n.Part, origin(n)}]; !ok {
			firstControllers[chartKey{n.Part, origin(n)}] = i
		}
	}
	join := func(i int, why string) {
		// DaemonSets do more harm than good: one node that is not ready would block
		// everything after the controllers.
		if n := &b.Nodes[i]; serves(*n) && n.Role == "" && !n.Kind.EveryNode {
			b.giveRole(i, knowledge.Controllers, why)
			n.Companion = true
			queue = append(queue, i)
		}
	}
	if len(queue) == 0 {
		return
	}
	users := b.usersOfResources()
	b.addInjected(users)
	controllers := map[chartKey][]int{}
	for _, i := range queue {
		at := chartKey{b.Nodes[i].Part, origin(b.Nodes[i])}
		controllers[at] = append(controllers[at], i)
	}
	for i, n := range b.Nodes {
		at := chartKey{n.Part, origin(n)}
		if leader, ok := firstControllers[at]; ok && !users[i] && (n.Role == knowledge.Controllers || isRelated(b.Nodes[leader], n)) {
			join(i, "runs beside "+b.Nodes[leader].Key.String()+", a controller that may need it to start")
			// Controllers of one origin may depend on each other, too: one of them
			// often writes the certificates of another one.
			for _, c := range controllers[at] {
				if c != i && b.Nodes[i].Role == knowledge.Controllers && !b.Nodes[i].Kind.EveryNode {
					r := b.inferredReference(c, i, "spec.template", knowledge.NoOrder, "may need")
					r.Sign = Companion
					b.refer(r)
				}
			}
		}
	}
	calls := map[int][]int{}
	for _, r := range b.References {
		if r.Meaning == knowledge.NoOrder && r.Inferred {
			calls[r.From] = append(calls[r.From], r.To)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, to := range calls[queue[0]] {
			if users[to] || b.Nodes[to].Part != b.Nodes[queue[0]].Part {
				continue
			}
			join(to, "is called by "+b.Nodes[queue[0]].Key.String()+", a controller that may need it to start")
		}
	}
}

// placeSecretWriters makes a Job that only writes Secrets share the wave of the
// controllers of its chart or directory, where they cannot block each other. At
// startup a controller may wait for a Secret that it reads from the API server, so no
// manifest names it. In a later wave the Job would never run, because the sync waits
// for the controller.
func (b *builder) placeSecretWriters() {
	users := b.usersOfResources()
	for c := range b.Nodes {
		n := &b.Nodes[c]
		if n.Role != knowledge.Controllers || !b.mayReadSecrets(c) {
			continue
		}
		for _, j := range b.jobsOf(n.Part) {
			job := &b.Nodes[j]
			if job.InSync() && !users[j] && job.Role == "" && job.Key.Namespace == n.Key.Namespace &&
				origin(*job) == origin(*n) && b.onlyWritesSecrets(j) && len(b.jobNeeds(j)) == 0 {
				b.giveRole(j, knowledge.Controllers, "writes Secrets, for which "+n.Key.String()+" may wait when it starts")
				job.Companion = true
				b.refer(b.inferredReference(c, j, "spec.template", knowledge.Exists, "may wait for what is written by"))
			}
		}
	}
}

// dataResources are the resources that a program may read at startup and that a Job
// can create before.
var dataResources = []string{"secrets", "configmaps"}

// mayReadSecrets reports whether a workload may read all Secrets or ConfigMaps of
// its namespace.
func (b *builder) mayReadSecrets(i int) bool {
	namespace := b.Nodes[i].Key.Namespace
	return slices.ContainsFunc(b.rulesOfNode(i), func(r rule) bool {
		return (r.in == "" || r.in == namespace) && slices.ContainsFunc(dataResources, func(kind string) bool { return r.allows("", kind, "get", "list") })
	})
}

// onlyWritesSecrets reports whether a Job may write Secrets or ConfigMaps, and has
// no permission by which it could check whether something else exists.
func (b *builder) onlyWritesSecrets(j int) bool {
	writes := false
	for _, r := range b.rulesOfNode(j) {
		if slices.ContainsFunc(r.resources, func(resource string) bool { return !slices.Contains(dataResources, resource) }) {
			return false
		}
		writes = writes || slices.ContainsFunc(dataResources, func(kind string) bool { return r.allows("", kind, "create", "update", "patch") })
	}
	return writes
}

// addInjected adds to a set the workloads whose Pods a fail-closed webhook of another
// workload must admit: they cannot share the wave of that workload.
func (b *builder) addInjected(to map[int]bool) {
	for w, config := range b.Nodes {
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			for _, hook := range hooks.Value.Items() {
				backends := b.backendsOf(w, hook)
				parsed := readHook(hook)
				if failsOpen(hook) || len(backends) == 0 || !parsed.pods {
					continue
				}
				for i, n := range b.Nodes {
					if serves(n) && n.Role == "" && !slices.Contains(backends, i) && b.admitsPods(parsed, n) {
						to[i] = true
					}
				}
			}
		}
	}
}

// isRelated reports whether two workloads of one origin belong together. Those of one
// chart do. A directory may contain unrelated workloads, so there the labels
// decide.
func isRelated(x, y Node) bool {
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

// usersOfResources returns the nodes that depend on a custom resource that a
// controller of the component reconciles, such as an application whose database is
// created by an operator. None of them can help the controller to start.
func (b *builder) usersOfResources() map[int]bool {
	usedBy := map[int][]int{}
	var queue []int
	for _, r := range b.References {
		usedBy[r.To] = append(usedBy[r.To], r.From)
		if (r.Meaning == knowledge.Healthy || r.Meaning == knowledge.NoOrder) && r.IsAboutKind() && b.Nodes[r.To].Role == knowledge.Controllers {
			queue = append(queue, r.From)
		}
	}
	seen := map[int]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, user := range usedBy[queue[0]] {
			if !seen[user] && b.Nodes[user].Role != knowledge.Controllers {
				seen[user] = true
				queue = append(queue, user)
			}
		}
	}
	return seen
}

// origin returns the chart of an object or, outside of charts, its directory.
func origin(n Node) string {
	source := sourceOf(n)
	if at := strings.LastIndex(source, templates); at >= 0 {
		return source[:at]
	}
	return path.Dir(n.File)
}

// sourceOf returns the template of an object from the comment that Helm writes,
// which is also in manifests rendered earlier; otherwise the file.
func sourceOf(n Node) string {
	if comment, ok := strings.CutPrefix(n.Text(), "# Source: "); ok {
		source, _, _ := strings.Cut(comment, "\n")
		return strings.TrimSpace(source)
	}
	return n.File
}

const templates = "/templates/"

func isChart(n Node) bool { return strings.Contains(sourceOf(n), templates) }
