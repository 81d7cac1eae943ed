package graph

import (
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
)

// findPartners: a controller is rarely ready alone: it waits for siblings that
// write its certificates, keep its data or elect with it. Often no manifest
// says so. So the workloads of its chart, and those it calls in the
// component, stand with it: in one wave they cannot block each other.
func (b *builder) findPartners() {
	type of struct {
		part   int
		origin string
	}
	leads := map[of]int{} // the first controller of each chart
	var work []int
	for i, n := range b.Nodes {
		if n.Role != knowledge.Controllers {
			continue
		}
		work = append(work, i)
		if _, ok := leads[of{n.Part, origin(n)}]; !ok {
			leads[of{n.Part, origin(n)}] = i
		}
	}
	join := func(i int, why string) {
		// Agents on every node cost more than they bring: one node that is not
		// ready would hold up all that comes after the controllers.
		if n := &b.Nodes[i]; serves(*n) && n.Role == "" && !n.Kind.Everywhere {
			b.giveRole(i, knowledge.Controllers, why)
			n.Partner = true
			work = append(work, i)
		}
	}
	if len(work) == 0 {
		return
	}
	users := b.usersOfResources()
	b.injected(users)
	controllers := map[of][]int{}
	for _, i := range work {
		at := of{b.Nodes[i].Part, origin(b.Nodes[i])}
		controllers[at] = append(controllers[at], i)
	}
	for i, n := range b.Nodes {
		at := of{n.Part, origin(n)}
		if lead, ok := leads[at]; ok && !users[i] && (n.Role == knowledge.Controllers || alike(b.Nodes[lead], n)) {
			join(i, "runs beside "+b.Nodes[lead].Key.String()+", a controller that may need it to start")
			// Controllers of one origin may need each other, too: one of them often
			// writes the certificates that another one serves with.
			for _, c := range controllers[at] {
				if c != i && b.Nodes[i].Role == knowledge.Controllers && !b.Nodes[i].Kind.Everywhere {
					r := b.inferred(c, i, "spec.template", knowledge.Known, "may need")
					r.Sign = Company
					b.refer(r)
				}
			}
		}
	}
	called := map[int][]int{}
	for _, r := range b.References {
		if r.Meaning == knowledge.Known && r.Inferred {
			called[r.From] = append(called[r.From], r.To)
		}
	}
	for ; len(work) > 0; work = work[1:] {
		for _, to := range called[work[0]] {
			if users[to] || b.Nodes[to].Part != b.Nodes[work[0]].Part {
				continue
			}
			join(to, "is called by "+b.Nodes[work[0]].Key.String()+", a controller that may need it to start")
		}
	}
}

// bringSecretMakers: a controller may wait at its start for a Secret that it asks the
// API server for, so that no manifest names it. A Job of its own chart or directory that
// does nothing but write such is there when it starts: in one wave they cannot block each
// other, and otherwise whoever awaits the controller would wait for ever.
func (b *builder) bringSecretMakers() {
	users := b.usersOfResources()
	for c := range b.Nodes {
		n := &b.Nodes[c]
		if n.Role != knowledge.Controllers || !b.asksForSecrets(c) {
			continue
		}
		for _, j := range b.jobsOf(n.Part) {
			job := &b.Nodes[j]
			if job.InSync() && !users[j] && job.Role == "" && job.Key.Namespace == n.Key.Namespace &&
				origin(*job) == origin(*n) && b.onlyMakesSecrets(j) && len(b.jobNeeds(j)) == 0 {
				b.giveRole(j, knowledge.Controllers, "writes Secrets, for which "+n.Key.String()+" may wait when it starts")
				job.Partner = true
				b.refer(b.inferred(c, j, "spec.template", knowledge.Exists, "may wait for what is written by"))
			}
		}
	}
}

// secretKinds are what a program may read, that is made before it starts.
var secretKinds = []string{"secrets", "configmaps"}

// asksForSecrets reports whether a workload may read Secrets or ConfigMaps of its
// namespace, whatever their names.
func (b *builder) asksForSecrets(i int) bool {
	namespace := b.Nodes[i].Key.Namespace
	return slices.ContainsFunc(b.rulesOfNode(i), func(r rule) bool {
		return (r.in == "" || r.in == namespace) && slices.ContainsFunc(secretKinds, func(kind string) bool { return r.allows("", kind, "get", "list") })
	})
}

// onlyMakesSecrets reports whether a Job may write Secrets or ConfigMaps, and nothing
// that its account may do lets it look whether anything else is there.
func (b *builder) onlyMakesSecrets(j int) bool {
	writes := false
	for _, r := range b.rulesOfNode(j) {
		if slices.ContainsFunc(r.resources, func(resource string) bool { return !slices.Contains(secretKinds, resource) }) {
			return false
		}
		writes = writes || slices.ContainsFunc(secretKinds, func(kind string) bool { return r.allows("", kind, "create", "update", "patch") })
	}
	return writes
}

// injected adds the workloads whose Pods a fail-closed webhook of another
// workload must admit: they cannot come along with it.
func (b *builder) injected(to map[int]bool) {
	for w, config := range b.Nodes {
		for _, hooks := range config.Kind.Admits.Find(config.Root()) {
			for _, hook := range hooks.Value.Items() {
				backends := b.backendsOf(w, hook)
				asks := readHook(hook)
				if failsOpen(hook) || len(backends) == 0 || !asks.pods {
					continue
				}
				for i, n := range b.Nodes {
					if serves(n) && n.Role == "" && !slices.Contains(backends, i) && b.admitsPods(asks, n) {
						to[i] = true
					}
				}
			}
		}
	}
}

// alike reports whether two workloads of one origin belong together. Within a chart
// they do; a directory may hold what has nothing to do with each other, so that there
// their labels must say so.
func alike(x, y Node) bool {
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

// usersOfResources are the nodes that need, directly or not, a custom resource
// which a controller of the component reconciles, such as an application whose
// database an operator beside it makes. None of these can help the controller
// to start.
func (b *builder) usersOfResources() map[int]bool {
	usedBy := map[int][]int{}
	var work []int
	for _, r := range b.References {
		usedBy[r.To] = append(usedBy[r.To], r.From)
		if (r.Meaning == knowledge.Healthy || r.Meaning == knowledge.Known) && r.IsAboutKind() && b.Nodes[r.To].Role == knowledge.Controllers {
			work = append(work, r.From)
		}
	}
	seen := map[int]bool{}
	for ; len(work) > 0; work = work[1:] {
		for _, user := range usedBy[work[0]] {
			if !seen[user] && b.Nodes[user].Role != knowledge.Controllers {
				seen[user] = true
				work = append(work, user)
			}
		}
	}
	return seen
}

// origin is the chart that an object comes from or, outside of charts, the
// directory.
func origin(n Node) string {
	source := sourceOf(n)
	if at := strings.LastIndex(source, templates); at >= 0 {
		return source[:at]
	}
	return path.Dir(n.File)
}

// sourceOf is the template that an object was rendered from, as Helm writes it
// above the object, so that it is known of what was rendered before, too; or else
// the file.
func sourceOf(n Node) string {
	if comment, ok := strings.CutPrefix(n.Text(), "# Source: "); ok {
		source, _, _ := strings.Cut(comment, "\n")
		return strings.TrimSpace(source)
	}
	return n.File
}

const templates = "/templates/"

func isChart(n Node) bool { return strings.Contains(sourceOf(n), templates) }
