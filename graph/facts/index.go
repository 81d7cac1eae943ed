// Package facts reads what the objects of a component say, without a decision: which
// kinds they are of and define, what their fields, programs and permissions name, and
// which workloads are behind their Services.
//
// New builds the index once. Everything else is computed from it on first use, and nothing
// can be set afterwards, so the rules of package graph may ask in any order. What the
// facts mean for the order is not decided here.
//
// The package is pure: objects in, facts out. A value of Facts is for one goroutine.
package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Node is an object of a component.
type Node struct {
	object.Object
	// Key identifies the object in the cluster: its ID with the namespace that Argo
	// CD will set.
	Key object.ID
	// Kind is what Ladder knows about the object's kind.
	Kind *knowledge.Kind
	// Idle means that the object runs no Pods at present: it is scaled to zero,
	// paused or suspended.
	Idle bool
	// CRDMissing means that the CRD of the object is not in the graph, and that its kind
	// belongs neither to Kubernetes nor to Argo CD.
	CRDMissing bool
	// External means that another Application applies the object before this
	// component. It affects the order but is not part of the output.
	External bool
	// Stub means that the node stands for an object of a chart that is not available.
	Stub bool
	// ExternalCRD means that another Application applies the CRD of the object.
	ExternalCRD bool
	// Part is the number of the object's component if there are several.
	Part int
	// Destination is the destination namespace of its Application.
	Destination string
	// Health says what Argo CD waits for once the object is applied. It is valid only if
	// HasHealth is true.
	Health    knowledge.Health
	HasHealth bool

	hook   bool
	phases []object.Phase
}

// IsHook reports whether the object is a hook. Like Phases and InSync, it is computed once.
func (n *Node) IsHook() bool { return n.hook }

// Phases returns the phases in which Argo CD applies the object.
func (n *Node) Phases() []object.Phase { return n.phases }

// FirstPhase returns the first phase in which Argo CD applies the object; PostDelete if it
// never does.
func (n *Node) FirstPhase() object.Phase {
	if len(n.phases) == 0 {
		return object.PostDelete
	}
	return n.phases[0]
}

// IsApplied reports whether a sync applies the object, unless it fails.
func (n *Node) IsApplied() bool { return n.FirstPhase().Order() <= object.PostSync.Order() }

// IsAfter reports whether a sync applies an object in a later phase than another one.
func (n *Node) IsAfter(other *Node) bool {
	return n.IsApplied() && n.FirstPhase().Order() > other.FirstPhase().Order()
}

// InSync reports whether the object is applied in the Sync phase, and so has a
// wave.
func (n *Node) InSync() bool { return slices.Contains(n.phases, object.Sync) }

// Serves reports whether the object is a long-running workload and not a hook.
func (n *Node) Serves() bool {
	return !n.Kind.Pod.IsZero() && n.Kind.Runs == "" && !n.IsHook()
}

// Part is a component.
type Part struct {
	Objects []object.Object
	// Namespace is the destination of its Application.
	Namespace string
	// Expects lists what exists outside of the component; see ReadExpected.
	Expects []string
	// Stubs means that Objects only stand for those of a chart that is not available.
	Stubs bool
}

// Options describe the components. The zero value is for one component that no other
// Application helps.
type Options struct {
	// IsExternal, if not nil, reports whether another Application applies an object.
	IsExternal func(object.Object) bool
	// Joined means that the parts are several components.
	Joined bool
}

// Facts is the index of one or several components, with what can be read from it.
type Facts struct {
	// Nodes are the objects, sorted by identity. They must not be changed.
	Nodes []Node
	Base  *knowledge.Base
	// Joined means that there may be several components.
	Joined bool

	// expected is what exists outside, by part.
	expected [][]Expected
	// byKey maps keys to nodes. A hook may share the key of a plain object.
	byKey map[object.ID][]int
	// byName finds nodes if the namespace is unknown.
	byName map[object.ID][]int
	// byKindName finds nodes if only kind and name are known.
	byKindName map[string][]int
	// defined maps kinds to the CRDs of the component.
	defined    map[knowledge.GroupKind]DefinedKind
	kindRanges []KindRange

	// What is computed on first use, by the file that computes it.
	kindIndexes    // kinds.go
	mentionFacts   // mentions.go, conventions.go
	programFacts   // programs.go
	waitFacts      // waits.go
	grantFacts     // grants.go
	backendFacts   // backends.go
	productFacts   // products.go
	requestFacts   // requests.go
	storeFacts     // stores.go
	schemasByKind  map[kindVersion]*fieldSchema
	originsByKind  map[knowledge.GroupKind]origins
	namespaceNames index[string, bool]
	allNamespaces  memo[[]string]
}

// memo is a value that is computed when it is first needed.
type memo[T any] struct {
	known bool
	value T
}

func (m *memo[T]) get(compute func() T) T {
	if !m.known {
		m.value, m.known = compute(), true
	}
	return m.value
}

// DefinedKind is a kind as a CRD of the component defines it.
type DefinedKind struct {
	// Node is the CRD.
	Node int
	// Plural is the name of the resource; Cluster means that it is cluster-scoped.
	Plural  string
	Cluster bool
	// By is the record by which the object defines the kind.
	By knowledge.DefinedKind
}

// New builds the index. It returns a finding for each pair of objects with the same
// identity; with an error among them, Argo CD would apply only one of two different
// objects, and the index must not be used.
func New(parts []Part, base *knowledge.Base, opt Options) (*Facts, []finding.Finding) {
	size := 0
	for _, p := range parts {
		size += len(p.Objects)
	}
	f := &Facts{
		Nodes: make([]Node, 0, size), Base: base, Joined: opt.Joined,
		byKey: make(map[object.ID][]int, size), byName: make(map[object.ID][]int, size), byKindName: make(map[string][]int, size),
		schemasByKind: map[kindVersion]*fieldSchema{}, originsByKind: map[knowledge.GroupKind]origins{},
	}
	for part, p := range parts {
		f.expected = append(f.expected, expectedIn(p))
		for _, o := range p.Objects {
			kind := base.Of(o)
			n := Node{Object: o, Kind: &kind, Part: part, Stub: p.Stubs, hook: o.IsHook(), phases: o.Phases(), Destination: p.Namespace}
			n.External = opt.IsExternal != nil && opt.IsExternal(o)
			n.Health, n.HasHealth = n.Kind.HealthOf(o)
			n.Idle = isIdle(n)
			if n.HasHealth && n.Health.Never == "" {
				n.Health.Never = neverReady(n, base)
			}
			f.Nodes = append(f.Nodes, n)
		}
	}
	f.defined = f.readDefinedKinds() // they say which kinds are namespaced, and describe kinds without a record
	f.addSchemas()
	for i := range f.Nodes {
		n := &f.Nodes[i]
		n.Key = n.ID
		if f.ClusterScoped(knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}) {
			n.Key.Namespace = ""
		} else if n.Key.Namespace == "" {
			n.Key.Namespace = n.Destination
		}
	}
	f.Nodes = inOrder(f.Nodes)
	f.defined = f.readDefinedKinds() // again, because sorting moved them
	f.kindRanges = f.findKindRanges()
	for i := range f.Nodes {
		n := &f.Nodes[i]
		def, ok := f.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
		// Argo CD considers only CustomResourceDefinitions, not CRDs of other API
		// groups.
		seen := ok && f.Base.Builtin(f.Nodes[def.Node].ID.Group)
		n.ExternalCRD = seen && f.Nodes[def.Node].External
		n.CRDMissing = !seen && !n.Kind.AlwaysInstalled && !f.Base.Builtin(n.ID.Group)
	}
	return f, f.indexNames()
}

// indexNames makes the nodes available by name, and returns the duplicates.
func (f *Facts) indexNames() []finding.Finding {
	var all []finding.Finding
	reported := map[finding.Finding]bool{}
	for i, n := range f.Nodes {
		for _, d := range f.duplicates(n) { // a template may render several duplicates at the same place
			if !reported[d] {
				reported[d] = true
				all = append(all, d)
			}
		}
		f.byKey[n.Key] = append(f.byKey[n.Key], i)
		anywhere := n.Key
		anywhere.Namespace = ""
		f.byName[anywhere] = append(f.byName[anywhere], i)
		f.byKindName[kindName(n.Key)] = append(f.byKindName[kindName(n.Key)], i)
	}
	return all
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
// empty if there is no known reason. A Job with the image of a server is a client.
func neverReady(n Node, base *knowledge.Base) string {
	if n.Kind.Runs != "" {
		return ""
	}
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			if p, ok := base.Program(c.Get("image").Text(), commandOf(c), probeOf(c)); ok {
				return p.Never
			}
		}
	}
	return ""
}

// probeOf returns what the readiness probe of a container asks: the path of a URL, or a command.
func probeOf(container object.Value) string {
	probe := container.Get("readinessProbe")
	return strings.Join(append(Texts(probe.Get("exec", "command")), probe.Get("httpGet", "path").Text()), " ")
}

// commandOf returns the command line of a container.
func commandOf(container object.Value) []string {
	return append(Texts(container.Get("command")), Texts(container.Get("args"))...)
}

// inOrder sorts nodes by their identity.
func inOrder(nodes []Node) []Node {
	pointers := make([]*Node, len(nodes)) // pointers, since a node is large
	for i := range nodes {
		pointers[i] = &nodes[i]
	}
	slices.SortStableFunc(pointers, func(x, y *Node) int {
		if c := CompareIDs(x.Key, y.Key); c != 0 {
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

func (f *Facts) readDefinedKinds() map[knowledge.GroupKind]DefinedKind {
	all := map[knowledge.GroupKind]DefinedKind{}
	for i, n := range f.Nodes {
		for _, d := range n.Kind.Defines {
			if !d.AppliesTo(n.Object) {
				continue
			}
			gk := knowledge.GroupKind{Group: cmp.Or(d.Group.Text(n.Root()), d.GroupIs), Kind: d.Kind.Text(n.Root())}
			if gk.Kind != "" {
				all[gk] = DefinedKind{i, d.Plural.Text(n.Root()), strings.HasSuffix(cmp.Or(d.Scope.Text(n.Root()), d.ScopeIs), "Cluster"), d}
			}
		}
	}
	return all
}

// ClusterScoped reports whether a kind is cluster-scoped. Unknown kinds count as
// namespaced.
func (f *Facts) ClusterScoped(gk knowledge.GroupKind) bool {
	if def, ok := f.defined[gk]; ok {
		return def.Cluster
	}
	k, _ := f.Base.Kind(gk.Group, gk.Kind)
	return k.Scope == "cluster"
}

// CompareIDs orders by group, kind, namespace and name.
func CompareIDs(x, y object.ID) int {
	return cmp.Or(strings.Compare(x.Group, y.Group), strings.Compare(x.Kind, y.Kind),
		strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
}

// ByKey returns the nodes with a key: several if a hook shares the identity of a plain
// object, or if several components contain it.
func (f *Facts) ByKey(id object.ID) []int { return f.byKey[id] }

// HasNamed reports whether there is an object of a kind and name, in lower case and
// separated by a slash, in any group and namespace.
func (f *Facts) HasNamed(kindName string) bool { return len(f.byKindName[kindName]) > 0 }

// InAnyNamespace returns the objects of a kind and name in any namespace.
func (f *Facts) InAnyNamespace(id object.ID) []int {
	id.Namespace = ""
	return f.byName[id]
}

// Match finds objects by an identity whose group and namespace may be "*".
func (f *Facts) Match(id object.ID) []int {
	var all []int
	for _, i := range f.byKindName[kindName(id)] {
		k := f.Nodes[i].Key
		if (id.Group == "*" || k.Group == id.Group) && (id.Namespace == "*" || k.Namespace == id.Namespace || k.Namespace == "") {
			all = append(all, i)
		}
	}
	return all
}

func kindName(id object.ID) string { return strings.ToLower(id.Kind) + "/" + id.Name }

// Namespaced reports whether objects of the kind of an identity are in namespaces.
func (f *Facts) Namespaced(id object.ID) bool {
	return !f.ClusterScoped(knowledge.GroupKind{Group: id.Group, Kind: id.Kind})
}

// IsData reports whether an object only contains data that others read.
func IsData(id object.ID) bool {
	return id.Group == "" && (id.Kind == "Secret" || id.Kind == "ConfigMap")
}

// IsNamespace reports whether a word is the name of a namespace of the component.
// Such a word probably tells the workload where it runs.
func (f *Facts) IsNamespace(word string) bool {
	return f.namespaceNames.at(word, func(all index[string, bool]) {
		for _, name := range f.namespaces() {
			all[name] = true
		}
	})
}

// namespaces returns the namespaces of the components.
func (f *Facts) namespaces() []string {
	return f.allNamespaces.get(func() (all []string) {
		for i := range f.Nodes {
			n := &f.Nodes[i]
			if n.Key.Namespace != "" {
				all = append(all, n.Key.Namespace)
			} else if n.Key.Group == "" && n.Key.Kind == "Namespace" {
				all = append(all, n.Key.Name)
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	})
}
