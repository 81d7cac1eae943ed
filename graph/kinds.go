package graph

import (
	"iter"
	"slices"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Rules that compare every pair of objects take minutes for a thousand components.
// The indexes below let them iterate over kinds, of which there are few, or look up
// the relevant objects directly.

// run is the range of the nodes of one kind: Nodes is sorted by kind.
type run struct {
	from, to      int
	group, plural string
}

func (b *builder) findRuns() {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if last := len(b.runs) - 1; last >= 0 {
			if before := &b.Nodes[b.runs[last].from]; before.ID.Group == n.ID.Group && before.ID.Kind == n.ID.Kind {
				b.runs[last].to = i + 1
				continue
			}
		}
		b.runs = append(b.runs, run{i, i + 1, n.ID.Group, b.plural(*n)})
	}
}

// nodesOf returns the nodes of a kind. Group "*" matches any group.
func (b *builder) nodesOf(gk knowledge.GroupKind) []int {
	var all []int
	for _, kind := range b.runs {
		if (kind.group == gk.Group || gk.Group == "*") && b.Nodes[kind.from].ID.Kind == gk.Kind {
			for i := kind.from; i < kind.to; i++ {
				all = append(all, i)
			}
		}
	}
	return all
}

// installer is a node that installs kinds at run time.
type installer struct {
	node   int
	brings func(group string) bool
	source string
}

func (b *builder) findInstallers() {
	for i := range b.Nodes {
		if brings, source := b.installedGroups(b.Nodes[i]); brings != nil {
			b.installers = append(b.installers, installer{i, brings, source})
		}
	}
}

// definedIn returns the kinds of a group that the components define.
func (b *builder) definedIn(group string) []definition {
	if b.definedByGroup == nil {
		b.definedByGroup = map[string][]definition{}
		for gk, def := range b.defined {
			b.definedByGroup[gk.Group] = append(b.definedByGroup[gk.Group], def)
		}
	}
	return b.definedByGroup[group]
}

// definedBy returns the kinds that a component defines.
func (b *builder) definedBy(part int) []knowledge.GroupKind {
	if b.definedByPart == nil {
		b.definedByPart = map[int][]knowledge.GroupKind{}
		for gk, def := range b.defined {
			at := b.Nodes[def.node].Part
			b.definedByPart[at] = append(b.definedByPart[at], gk)
		}
	}
	return b.definedByPart[part]
}

// workloadsWith returns the workloads that have a word.
func (b *builder) workloadsWith(value string) []int {
	if b.byWord == nil {
		b.byWord = map[string][]int{}
		for i := range b.Nodes {
			if !serves(b.Nodes[i]) {
				continue
			}
			for _, w := range b.words(i) {
				if all := b.byWord[w.value]; len(all) == 0 || all[len(all)-1] != i {
					b.byWord[w.value] = append(all, i)
				}
			}
		}
	}
	return b.byWord[value]
}

// runners returns the workloads of a namespace that run an image, now or on a
// schedule.
func (b *builder) runners(namespace, image string) []int {
	if b.byImage == nil {
		b.byImage = map[[2]string][]int{}
		for w := range b.Nodes {
			n := &b.Nodes[w]
			if !n.InSync() || n.Kind.Runs != "later" && !serves(*n) {
				continue
			}
			for _, image := range b.images(w) {
				at := [2]string{n.Key.Namespace, image}
				b.byImage[at] = append(b.byImage[at], w)
			}
		}
	}
	return b.byImage[[2]string{namespace, image}]
}

// imageJobs are the Jobs of the Sync phase that run an image.
type imageJobs struct{ migrations, others []int }

// jobsRunning returns the Jobs of a namespace that run an image.
func (b *builder) jobsRunning(namespace, image string) imageJobs {
	if b.jobsByImage == nil {
		b.jobsByImage = map[[2]string]imageJobs{}
		for j := range b.Nodes {
			n := &b.Nodes[j]
			if n.Kind.Runs != "once" || !n.InSync() || n.Role != "" {
				continue
			}
			isMigration := b.migrationWord(j) != ""
			for _, image := range b.images(j) {
				at := [2]string{n.Key.Namespace, image}
				jobs := b.jobsByImage[at]
				if isMigration {
					jobs.migrations = append(jobs.migrations, j)
				} else {
					jobs.others = append(jobs.others, j)
				}
				b.jobsByImage[at] = jobs
			}
		}
	}
	return b.jobsByImage[[2]string{namespace, image}]
}

// podsOf returns the nodes of a component that have Pods.
func (b *builder) podsOf(part int) []int {
	if b.pods == nil {
		b.pods = map[int][]int{}
		for i := range b.Nodes {
			if n := &b.Nodes[i]; !n.Kind.Pod.IsZero() {
				b.pods[n.Part] = append(b.pods[n.Part], i)
			}
		}
	}
	return b.pods[part]
}

// jobsOf returns the nodes of a component that run once.
func (b *builder) jobsOf(part int) []int {
	if b.jobs == nil {
		b.jobs = map[int][]int{}
		for j := range b.Nodes {
			if n := &b.Nodes[j]; n.Kind.Runs == "once" {
				b.jobs[n.Part] = append(b.jobs[n.Part], j)
			}
		}
	}
	return b.jobs[part]
}

// readIn returns the reads of objects in a namespace.
func (b *builder) readIn(namespace string) []read {
	if b.readsByNamespace == nil {
		b.readsByNamespace = map[string][]read{}
		for _, r := range b.reads {
			b.readsByNamespace[r.id.Namespace] = append(b.readsByNamespace[r.id.Namespace], r)
		}
	}
	return b.readsByNamespace[namespace]
}

// edges indexes references by their ends, as chains: for each node the latest
// reference, and for each reference the previous one, counted from 1. It is updated
// lazily with new references.
type edges struct {
	from, to         []int32 // by node
	nextFrom, nextTo []int32 // by reference
}

func (b *builder) edgesNow() *edges {
	e := &b.edges
	if e.from == nil {
		e.from, e.to = make([]int32, len(b.Nodes)), make([]int32, len(b.Nodes))
		e.nextFrom, e.nextTo = make([]int32, 0, cap(b.References)), make([]int32, 0, cap(b.References))
	}
	for i := len(e.nextFrom); i < len(b.References); i++ {
		r := &b.References[i]
		e.nextFrom, e.nextTo = append(e.nextFrom, e.from[r.From]), append(e.nextTo, e.to[r.To])
		e.from[r.From], e.to[r.To] = int32(i+1), int32(i+1)
	}
	return e
}

// referencesOf iterates over the references from a node.
func (b *builder) referencesOf(node int) iter.Seq[*Reference] {
	e := b.edgesNow()
	return b.chain(e.from[node], e.nextFrom)
}

// referencesTo iterates over the references to a node.
func (b *builder) referencesTo(node int) iter.Seq[*Reference] {
	e := b.edgesNow()
	return b.chain(e.to[node], e.nextTo)
}

func (b *builder) chain(at int32, next []int32) iter.Seq[*Reference] {
	return func(yield func(*Reference) bool) {
		for ; at > 0; at = next[at-1] {
			if !yield(&b.References[at-1]) {
				return
			}
		}
	}
}

// referrers returns the nodes that refer to a node, in order.
func (b *builder) referrers(to int) []int {
	var all []int
	for r := range b.referencesTo(to) {
		all = append(all, r.From)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hook holds the rules of a webhook, parsed once.
type hook struct {
	object.Value
	rules []rule
	// pods reports whether the webhook is called when Pods are created.
	pods bool
}

func readHook(v object.Value) hook {
	h := hook{Value: v}
	for _, r := range v.Get("rules").Items() {
		rule := rule{groups: texts(r.Get("apiGroups")), resources: texts(r.Get("resources")), verbs: texts(r.Get("operations"))}
		h.pods = h.pods || containsAny(rule.verbs, "*", "CREATE") && containsAny(rule.groups, "*", "") && containsAny(rule.resources, "*", "*/*", "pods")
		if containsAny(rule.verbs, "*", "CREATE", "UPDATE") {
			h.rules = append(h.rules, rule)
		}
	}
	return h
}

// covers reports whether the webhook is called when objects of a kind are written.
// The API server calls none for webhook configurations and admission policies:
// k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules,
// IsExemptAdmissionConfigurationResource.
func (h hook) covers(group, plural string) bool {
	return group != admission && slices.ContainsFunc(h.rules, func(r rule) bool {
		return containsAny(r.groups, "*", group) && containsAny(r.resources, "*", "*/*", plural)
	})
}
