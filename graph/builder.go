package graph

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

type builder struct {
	*Graph
	base *knowledge.Base
	opt  Options
	// joined means that the graph covers several components.
	joined bool
	// byKey maps keys to nodes. A hook may share the key of a plain object.
	byKey map[object.ID][]int
	// byName finds nodes if the namespace is unknown.
	byName map[object.ID][]int
	// byKindName finds nodes if only kind and name are known.
	byKindName map[string][]int
	// covered marks the fields in which a record found a reference.
	covered map[nodeField]bool
	// defined maps kinds to the CRDs of the component.
	defined map[knowledge.GroupKind]definedKind
	// reads are references by field to objects that must exist, and producers the
	// nodes that write an object at run time.
	reads     []read
	producers map[object.ID][]int
	// likelyProducers are nodes that probably write an object, by convention.
	likelyProducers map[object.ID][]int
	// backends maps each Service to its workloads.
	backends map[int][]int
	// convertersOf maps the node of a CRD to the workloads that convert its objects.
	convertersOf map[int][]int
	grants       grants
	// wordsOf holds the words of each workload.
	wordsOf map[int][]word
	// serviceNames are the Services that words may name.
	serviceNames map[object.ID]bool
	// assumed marks Services that probably exist at run time, inferred from a name.
	assumed map[object.ID]bool
	// nameableKinds are the other kinds that words may name.
	nameableKinds []knowledge.GroupKind
	// notAfter are pairs for which the user said that the first need not wait for
	// the second, with the annotation that says so.
	notAfter map[[2]int]string
	// pairs indexes the references by their two nodes.
	pairs  map[[2]int][]int
	faults []finding.Finding

	// Indexes of nodes and references (see kinds.go).
	kindRanges        []kindRange
	installers        []installer
	roleNodes         []int
	definedByGroup    index[string, []definedKind]
	definedByPart     index[int, []knowledge.GroupKind]
	byWord            index[string, []int]
	runtimes          map[string][]int // by namespace, custom resources that start workloads
	byImage           index[[2]string, []int]
	jobs, pods        index[int, []int]
	jobsByImage       index[[2]string, imageJobs]
	hooksServed       map[int]ownHooks
	writers           map[partID][]writer
	tokensOf          map[int]map[string]bool
	blockedBy         index[object.ID, []int] // workloads whose Pods do not start without an object
	ownPVCs           index[[2]string, bool]
	namespaceNames    index[string, bool]
	reported          map[reportKey]bool
	waitTargetsByName index[[2]string, []int]
	waitTargets       map[int]map[int]bool // nodes that the containers of a node wait for
	readsByNamespace  index[string, []read]
	isPrecondition    map[int]bool // Jobs that run before a part of the component
	originsOf         map[knowledge.GroupKind]origins
	schemas           map[kindVersion]*fieldSchema
	names             index[string, bool]         // names of objects, and of objects that are read or created
	installersOf      index[int, []installer]     // by component, without packages
	packages          index[int, map[string]bool] // packages by component
	edges             edges
}

// definedKind is a kind as a CRD of the component defines it.
type definedKind struct {
	node    int
	plural  string
	cluster bool
	by      knowledge.DefinedKind
}

// read is a reference to an object that the component may or may not contain.
type read struct {
	Reference
	id       object.ID
	anywhere bool // the namespace is unknown
	starts   bool // the Pods do not start without it
}

func newBuilder(parts []Part, base *knowledge.Base, opt Options) *builder {
	size := 0
	for _, p := range parts {
		size += len(p.Objects)
	}
	b := &builder{
		Graph: &Graph{}, base: base, opt: opt,
		byKey: map[object.ID][]int{}, byName: map[object.ID][]int{}, byKindName: map[string][]int{}, covered: map[nodeField]bool{},
		defined:   map[knowledge.GroupKind]definedKind{},
		producers: map[object.ID][]int{}, backends: map[int][]int{}, convertersOf: map[int][]int{},
		wordsOf: map[int][]word{}, serviceNames: map[object.ID]bool{},
		pairs: map[[2]int][]int{}, notAfter: map[[2]int]string{}, likelyProducers: map[object.ID][]int{}, isPrecondition: map[int]bool{},
		writers: map[partID][]writer{}, tokensOf: map[int]map[string]bool{}, originsOf: map[knowledge.GroupKind]origins{}, schemas: map[kindVersion]*fieldSchema{},
	}
	b.Nodes = make([]Node, 0, size)
	b.References = make([]Reference, 0, 4*size) // enough for most components
	for part, p := range parts {
		for _, o := range p.Objects {
			kind := base.Of(o)
			n := Node{Object: o, Kind: &kind, Part: part, Stub: p.Stubs, hook: o.IsHook(), phases: o.Phases(), destination: p.Namespace}
			n.External = opt.IsExternal != nil && opt.IsExternal(o)
			n.Health, n.HasHealth = n.Kind.HealthOf(o)
			n.Idle = isIdle(n)
			if n.HasHealth && n.Health.Never == "" {
				n.Health.Never = neverReady(n, base)
			}
			b.Nodes = append(b.Nodes, n)
		}
	}
	b.nameableKinds = b.findNameableKinds()
	return b
}

// isIdle reports whether a workload currently runs no Pods.
func isIdle(n Node) bool {
	if n.Kind.Pod.IsZero() {
		return false
	}
	replicas, scaled := n.Get("spec", "replicas").Int()
	return scaled && replicas == 0 || n.Get("spec", "paused").True() || n.Get("spec", "suspend").True()
}

// neverReady says why the Pods of a workload cannot become ready by themselves;
// empty if there is no known reason.
func neverReady(n Node, base *knowledge.Base) string {
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			if p, ok := base.Program(c.Get("image").Text(), commandOf(c), c.Get("readinessProbe", "httpGet", "path").Text()); ok {
				return p.Never
			}
		}
	}
	return ""
}

// commandOf returns the command line of a container.
func commandOf(container object.Value) []string {
	return append(texts(container.Get("command")), texts(container.Get("args"))...)
}

// index assigns every object its identity in the cluster and finds duplicates.
func (b *builder) index() error {
	b.readDefinedKinds() // they say which kinds are namespaced, and describe kinds without a record
	b.addSchemas()
	for i := range b.Nodes {
		n := &b.Nodes[i]
		n.Key = n.ID
		if b.clusterScoped(knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}) {
			n.Key.Namespace = ""
		} else if n.Key.Namespace == "" {
			n.Key.Namespace = n.destination
		}
	}
	b.Nodes = inOrder(b.Nodes)
	b.readDefinedKinds() // again, because sorting moved them
	b.findKindRanges()
	b.findInstallers()
	for i := range b.Nodes {
		n := &b.Nodes[i]
		def, ok := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
		// Argo CD considers only CustomResourceDefinitions, not CRDs of other API
		// groups.
		seen := ok && b.base.Builtin(b.Nodes[def.node].ID.Group)
		n.ExternalCRD = seen && b.Nodes[def.node].External
		n.CRDMissing = !seen && !n.Kind.AlwaysInstalled && !b.base.Builtin(n.ID.Group)
	}
	var faults []finding.Finding
	reported := map[finding.Finding]bool{}
	for i, n := range b.Nodes {
		for _, f := range b.duplicates(n) { // a template may render several duplicates at the same place
			if !reported[f] {
				reported[f] = true
				faults = append(faults, f)
			}
		}
		b.byKey[n.Key] = append(b.byKey[n.Key], i)
		anywhere := n.Key
		anywhere.Namespace = ""
		b.byName[anywhere] = append(b.byName[anywhere], i)
		b.byKindName[kindName(n.Key)] = append(b.byKindName[kindName(n.Key)], i)
	}
	for _, f := range faults {
		if f.Severity != finding.Error {
			b.Findings = append(b.Findings, f)
		}
	}
	return finding.Err(faults)
}

// inOrder sorts nodes by their identity.
func inOrder(nodes []Node) []Node {
	pointers := make([]*Node, len(nodes)) // pointers, since a node is large
	for i := range nodes {
		pointers[i] = &nodes[i]
	}
	slices.SortStableFunc(pointers, func(x, y *Node) int {
		if c := compareIDs(x.Key, y.Key); c != 0 {
			return c
		}
		// Hooks and plain objects may share an identity. Their texts, which can be
		// megabytes, are compared only for accidental duplicates.
		if c := slices.Compare(x.phases, y.phases); c != 0 || x.hook != y.hook {
			return cmp.Or(c, map[bool]int{false: -1, true: 1}[x.hook])
		}
		if x.Part != y.Part {
			return cmp.Compare(x.Part, y.Part)
		}
		return strings.Compare(x.Text(), y.Text())
	})
	sorted := make([]Node, len(nodes))
	for i, n := range pointers {
		sorted[i] = *n
	}
	return sorted
}

func (b *builder) readDefinedKinds() {
	for i, n := range b.Nodes {
		for _, d := range n.Kind.Defines {
			if !d.AppliesTo(n.Object) {
				continue
			}
			gk := knowledge.GroupKind{Group: cmp.Or(d.Group.Text(n.Root()), d.GroupIs), Kind: d.Kind.Text(n.Root())}
			if gk.Kind != "" {
				b.defined[gk] = definedKind{i, d.Plural.Text(n.Root()), strings.HasSuffix(cmp.Or(d.Scope.Text(n.Root()), d.ScopeIs), "Cluster"), d}
			}
		}
	}
}

// duplicateRule is the rule for duplicate objects.
const duplicateRule = "duplicate-object"

// isCopy reports whether two plain objects of a component are equal. Sorting places
// these next to each other, regardless of layout.
func isCopy(a, b Node) bool {
	return a.Key == b.Key && a.Part == b.Part && !a.IsHook() && !b.IsHook() && !a.Generated && !b.Generated &&
		(a.Same(b.Object) || a.Key.Namespace == "" && reflect.DeepEqual(withoutNamespace(a), withoutNamespace(b)))
}

// withoutNamespace returns the content of a cluster-scoped object without the namespace
// that a kustomization writes into it, which the API server ignores.
func withoutNamespace(n Node) any {
	content := n.Root().Plain()
	if fields, ok := content.(map[string]any); ok {
		if metadata, ok := fields["metadata"].(map[string]any); ok {
			delete(metadata, "namespace")
		}
	}
	return content
}

// maxDuplicates is how many duplicates of one identity are reported. A file may
// contain thousands, which would all be compared with each other.
const maxDuplicates = 3

// duplicates compares an object with those before it.
func (b *builder) duplicates(n Node) []finding.Finding {
	others := b.byKey[n.Key]
	if last := len(others) - 1; last >= 0 && isCopy(b.Nodes[others[last]], n) {
		if last > 0 && isCopy(b.Nodes[others[last-1]], n) {
			return nil // enough are reported
		}
		return []finding.Finding{{Severity: finding.Warning, Rule: duplicateRule, File: n.File, Line: n.Line, Object: n.Key.String(),
			Message: "the same object is also in " + b.Nodes[others[last]].Place() + ": Argo CD applies it once and warns (RepeatedResourceWarning)", Remedy: "keep one of the two"}}
	}
	var findings []finding.Finding
	wrong := false
	for _, other := range others {
		if b.Nodes[other].Part != n.Part {
			continue
		}
		if len(findings) >= maxDuplicates {
			if wrong || n.IsHook() {
				break
			}
			if b.Nodes[other].IsHook() {
				continue // only another warning; there are enough
			}
		}
		if f, isDuplicate := duplicate(b.Nodes[other], n); isDuplicate {
			findings = append(findings, f)
			wrong = wrong || f.Severity == finding.Error
		}
	}
	return findings
}

// duplicate reports two objects with the same identity for Argo CD, which would
// apply only the last one (controller/state.go, DeduplicateTargetObjects). In some
// Helm charts a hook and a plain object share an identity, which is legal.
func duplicate(a, b Node) (finding.Finding, bool) {
	if a.Generated || b.Generated {
		return finding.Finding{}, false
	}
	f := finding.Finding{Severity: finding.Error, Rule: duplicateRule, File: b.File, Line: b.Line, Object: b.Key.String(),
		Message: "the same object with different content is also in " + a.Place() + ": Argo CD applies only one of them", Remedy: "keep one of the two"}
	if a.IsHook() || b.IsHook() {
		f.Severity = finding.Warning
		f.Message = "the same object is also in " + a.Place() + ", one of them as a hook; Argo CD applies only one"
	}
	return f, true
}

// clusterScoped reports whether a kind is cluster-scoped. Unknown kinds count as
// namespaced.
func (b *builder) clusterScoped(gk knowledge.GroupKind) bool {
	if def, ok := b.defined[gk]; ok {
		return def.cluster
	}
	k, _ := b.base.Kind(gk.Group, gk.Kind)
	return k.Scope == "cluster"
}

// compareIDs orders by group, kind, namespace and name.
func compareIDs(x, y object.ID) int {
	return cmp.Or(strings.Compare(x.Group, y.Group), strings.Compare(x.Kind, y.Kind),
		strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
}

// refer adds a reference unless it exists or refers to its own object.
func (b *builder) refer(r Reference) {
	pair := [2]int{r.From, r.To}
	if r.From == r.To || slices.ContainsFunc(b.pairs[pair], func(i int) bool { return b.References[i] == r }) {
		return
	}
	b.pairs[pair] = append(b.pairs[pair], len(b.References))
	b.References = append(b.References, r)
}
