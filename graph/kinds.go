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

// index is a map that is filled when a value is first looked up.
type index[K comparable, V any] map[K]V

// at returns the value of a key. build fills the index.
func (x *index[K, V]) at(key K, build func(index[K, V])) V {
	if *x == nil {
		*x = index[K, V]{}
		build(*x)
	}
	return (*x)[key]
}

// kindRange is the range of the nodes of one kind: Nodes is sorted by kind.
type kindRange struct {
	from, to      int
	group, plural string
}

func (b *builder) findKindRanges() {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if last := len(b.kindRanges) - 1; last >= 0 {
			if before := &b.Nodes[b.kindRanges[last].from]; before.ID.Group == n.ID.Group && before.ID.Kind == n.ID.Kind {
				b.kindRanges[last].to = i + 1
				continue
			}
		}
		b.kindRanges = append(b.kindRanges, kindRange{i, i + 1, n.ID.Group, b.plural(*n)})
	}
}

// nodesOf returns the nodes of a kind. Group "*" matches any group.
func (b *builder) nodesOf(gk knowledge.GroupKind) []int {
	var all []int
	for _, kind := range b.kindRanges {
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
	node          int
	installsGroup func(group string) bool
	source        string
}

func (b *builder) findInstallers() {
	for i := range b.Nodes {
		if installsGroup, source := b.installedGroups(b.Nodes[i]); installsGroup != nil {
			b.installers = append(b.installers, installer{i, installsGroup, source})
		}
	}
}

// definedIn returns the kinds of a group that the components define.
func (b *builder) definedIn(group string) []definedKind {
	return b.definedByGroup.at(group, func(all index[string, []definedKind]) {
		for gk, def := range b.defined {
			all[gk.Group] = append(all[gk.Group], def)
		}
	})
}

// definedBy returns the kinds that a component defines.
func (b *builder) definedBy(part int) []knowledge.GroupKind {
	return b.definedByPart.at(part, func(all index[int, []knowledge.GroupKind]) {
		for gk, def := range b.defined {
			at := b.Nodes[def.node].Part
			all[at] = append(all[at], gk)
		}
	})
}

// workloadsWith returns the workloads that have a word.
func (b *builder) workloadsWith(value string) []int {
	return b.byWord.at(value, func(all index[string, []int]) {
		for i := range b.Nodes {
			if !serves(b.Nodes[i]) {
				continue
			}
			for _, w := range b.words(i) {
				if known := all[w.value]; len(known) == 0 || known[len(known)-1] != i {
					all[w.value] = append(known, i)
				}
			}
		}
	})
}

// runners returns the workloads of a namespace that run an image, now or on a
// schedule.
func (b *builder) runners(namespace, image string) []int {
	return b.byImage.at([2]string{namespace, image}, func(all index[[2]string, []int]) {
		for w := range b.Nodes {
			n := &b.Nodes[w]
			if !n.InSync() || n.Kind.Runs != "later" && !serves(*n) {
				continue
			}
			for _, image := range b.images(w) {
				at := [2]string{n.Key.Namespace, image}
				all[at] = append(all[at], w)
			}
		}
	})
}

// imageJobs are the Jobs of the Sync phase that run an image.
type imageJobs struct{ migrations, others []int }

// jobsRunning returns the Jobs of a namespace that run an image.
func (b *builder) jobsRunning(namespace, image string) imageJobs {
	return b.jobsByImage.at([2]string{namespace, image}, func(all index[[2]string, imageJobs]) {
		for j := range b.Nodes {
			n := &b.Nodes[j]
			if n.Kind.Runs != "once" || !n.InSync() || n.Role != "" {
				continue
			}
			isMigration := b.migrationWord(j) != ""
			for _, image := range b.images(j) {
				at := [2]string{n.Key.Namespace, image}
				jobs := all[at]
				if isMigration {
					jobs.migrations = append(jobs.migrations, j)
				} else {
					jobs.others = append(jobs.others, j)
				}
				all[at] = jobs
			}
		}
	})
}

// podsOf returns the nodes of a component that have Pods.
func (b *builder) podsOf(part int) []int {
	return b.pods.at(part, b.byPart(func(n *Node) bool { return !n.Kind.Pod.IsZero() }))
}

// jobsOf returns the nodes of a component that run once.
func (b *builder) jobsOf(part int) []int {
	return b.jobs.at(part, b.byPart(func(n *Node) bool { return n.Kind.Runs == "once" }))
}

// byPart fills an index of some nodes by their component.
func (b *builder) byPart(is func(*Node) bool) func(index[int, []int]) {
	return func(all index[int, []int]) {
		for i := range b.Nodes {
			if n := &b.Nodes[i]; is(n) {
				all[n.Part] = append(all[n.Part], i)
			}
		}
	}
}

// readIn returns the reads of objects in a namespace.
func (b *builder) readIn(namespace string) []read {
	return b.readsByNamespace.at(namespace, func(all index[string, []read]) {
		for _, r := range b.reads {
			all[r.id.Namespace] = append(all[r.id.Namespace], r)
		}
	})
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
