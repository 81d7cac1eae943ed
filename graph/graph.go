// Package graph finds what the objects of a component refer to.
//
// An order can only be computed from what is written in the manifests: a
// Deployment names the Secret that it mounts, a Certificate the Secret that it
// writes, a webhook configuration the Service that its server stands behind.
// Each such fact becomes a Reference, with the field it was read from and a
// reason in words, so that every wave can be explained later.
//
// Which fields refer to what is data (package knowledge). What is not a field
// but a relation, such as "this workload may write the status of that kind, so
// it reconciles it", is a rule; the rules are listed in Build.
//
// The package is pure: objects in, references out.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Node is an object in its component.
type Node struct {
	object.Object
	// Key identifies the object in the cluster: ID with the namespace that
	// Argo CD will give it.
	Key object.ID
	// Kind is what is known about objects of this kind.
	Kind *knowledge.Kind
	// Role is what the object does in this component, if that says more than
	// its kind: the name of a rung; empty otherwise.
	Role string
	// RoleWhy says what gave the role away.
	RoleWhy string
	// Partner is true for a controller by company: nothing shows that it
	// reconciles or serves a kind, but a controller may need it to start.
	Partner bool
	// Reconciles are the groups, other than Kubernetes' own, of which a controller
	// may watch kinds and write their status.
	Reconciles []string
	// Idle means that its Pods do not run for now: it is scaled to nothing,
	// paused or suspended.
	Idle bool
	// Foreign means that the definition of its kind is neither in the component
	// nor part of Kubernetes or Argo CD.
	Foreign bool
	// Elsewhere means that another Application applies the object, so that it is
	// there before this component comes. It orders others, and is not written.
	Elsewhere bool
	// Lifted means that the definition of its kind is such an object.
	Lifted bool
	// Part is the number of the component that holds it, where the graph is of
	// several.
	Part int
	// Waits says what Argo CD waits for once the object is applied; it has a
	// meaning only if HasHealth is true.
	Waits     knowledge.Health
	HasHealth bool
	// Doubt says why nothing should wait for the object without need, although
	// it becomes healthy as far as one knows; empty if there is no reason.
	Doubt string
	// Passes says how the object may be Degraded on its way to health, because of
	// another object of the component. What would fail without it waits for it all the
	// same.
	Passes string

	hook   bool
	phases []object.Phase
	home   string // the destination of its Application
}

// Uncertain says why nothing should wait for the object without need.
func (n *Node) Uncertain() string {
	if !n.HasHealth {
		return ""
	}
	return cmp.Or(n.Waits.Uncertain(), n.Doubt)
}

// IsHook, Phases and InSync answer as the object does, without reading it again.
func (n *Node) IsHook() bool { return n.hook }

// Phases returns when Argo CD applies the object.
func (n *Node) Phases() []object.Phase { return n.phases }

// InSync reports whether the object takes part in the waves.
func (n *Node) InSync() bool { return slices.Contains(n.phases, object.Sync) }

// Reference says that From refers to To. Both are indices of Graph.Nodes.
type Reference struct {
	From, To int
	// Field is where From says so, such as "spec.volumes[0].secret".
	Field   string
	Meaning knowledge.Meaning
	// Hard means that without To the API server refuses From, or its start
	// cannot succeed later by itself.
	Hard bool
	// Unless says when the API server takes From all the same, if Hard is only so
	// for some; empty if it is so for all.
	Unless string
	// Inferred means that no record says so, but a convention or a sign.
	Inferred bool
	// Explicit means that a person wrote it down, in an annotation.
	Explicit bool
	// Optional means that the object does without the target.
	Optional bool
	// Refused means that the API server refuses From while To does not answer.
	Refused bool
	// Data means that From works on wrong data without To.
	Data bool
	// Patient means that From is Progressing, not Degraded, while To is not healthy.
	Patient bool
	// Why is the verb of a sentence: From, why, To.
	Why string
	// Because is a sentence that says more, where the two objects alone do not
	// tell; empty if they do.
	Because string
	// Source is where the fact comes from.
	Source string
	// Written is what To writes at run time, if it is that which From reads.
	Written object.ID
}

// Explained is what to write behind the sentence of a reference, if there is more
// to say.
func (r Reference) Explained() string {
	if r.Because == "" {
		return ""
	}
	return ": " + r.Because
}

// Graph is a component: its objects and their references, both sorted, so that
// it does not depend on the order in which objects came.
type Graph struct {
	Nodes      []Node
	References []Reference
	// Absent is what objects need to start or to be healthy and nothing in the
	// component makes.
	Absent []Absent
	// Made are kinds of which objects are made later.
	Made []Made
	// Findings are faults that leave the graph usable.
	Findings []finding.Finding
}

// Absent is an object that From needs, and that the component neither holds nor makes
// before From. Somebody else may: a person, an operator, a Job whose manifest does not
// tell.
type Absent struct {
	From  int
	ID    object.ID
	Field string
	// Why is the verb of a sentence: From, why, ID.
	Why string
	// Starts means that Pods of From do not start without it. Otherwise From, which
	// has no Pods, is Degraded or not ready until it is there.
	Starts bool
	// Elsewhere is an object of that kind and name in another namespace of the
	// component, if there is one.
	Elsewhere object.ID
	// Makers are workloads of the component that may make it when they run; only
	// where Starts is false, since Pods wait by themselves.
	Makers []int
}

// Options say where the component goes.
type Options struct {
	// Namespace is the destination of the Application, in which objects land
	// that name none.
	Namespace string
	// Elsewhere, if not nil, says which objects another Application applies.
	Elsewhere func(object.Object) bool
}

// Build finds the references between objects. Its error joins a finding for
// each pair of objects with the same identity, and for each annotation of ours
// that cannot be read.
func Build(objs []object.Object, base *knowledge.Base, opt Options) (*Graph, error) {
	return build(newBuilder([]Part{{Objects: objs, Namespace: opt.Namespace}}, base, opt))
}

// Part is one of the components that a graph is of.
type Part struct {
	Objects []object.Object
	// Namespace is the destination of its Application.
	Namespace string
}

// Join finds the references between the objects of several components, and
// within each. Objects that several hold are no fault: each is a node.
func Join(parts []Part, base *knowledge.Base) (*Graph, error) {
	b := newBuilder(parts, base, Options{})
	b.joined = true
	return build(b)
}

func build(b *builder) (*Graph, error) {
	if err := b.index(); err != nil {
		return nil, err
	}
	for _, rule := range []func(*builder){
		(*builder).granted,     // who has which rights
		(*builder).explicit,    // what people wrote into annotations
		(*builder).namespaces,  // an object needs its namespace
		(*builder).definitions, // a custom resource needs its definition
		(*builder).installed,   // a custom resource needs what brings its kind
		(*builder).fields,      // what the fields of kinds and Pods name
		(*builder).sought,      // which kinds a program looks for when it starts
		(*builder).conventions, // what the fields of custom resources name by convention
		(*builder).produced,    // who reads what another object writes at run time
		(*builder).housed,      // an object needs its namespace, which an operator makes
		(*builder).backends,    // who stands behind webhooks and APIs
		(*builder).ownPods,     // which webhooks would refuse their own servers
		(*builder).calls,       // whom a workload calls, as far as its variables and arguments tell
		(*builder).waits,       // for whom init containers and Jobs wait by themselves
		(*builder).rights,      // a workload needs the rights of its account
		(*builder).served,      // a workload needs the APIs that it has rights on
		(*builder).controllers, // which workloads reconcile or serve kinds
		(*builder).reconciled,  // a custom resource needs its controller
		(*builder).watched,     // a controller needs the definitions of its kinds
		(*builder).addressed,   // whom a custom resource calls, as far as its fields tell
		(*builder).partners,    // what the controllers need to start
		(*builder).operators,   // what operators need that are installed out of packages
		(*builder).smokes,      // what only checks the rest
		(*builder).tiers,       // which Jobs come between the workloads, and which after them
		(*builder).admitted,    // an object needs the webhook that must admit it
		(*builder).absent,      // what nothing in the component makes
		(*builder).missing,     // what is named and not there, probably by mistake
	} {
		rule(b)
	}
	b.released()
	b.sort()
	finding.Sort(b.faults)
	if err := finding.Err(b.faults); err != nil {
		return nil, err
	}
	return b.Graph, nil
}

type builder struct {
	*Graph
	base *knowledge.Base
	opt  Options
	// joined means that the graph is of several components.
	joined bool
	// byKey finds nodes; hooks may share the key of a plain object.
	byKey map[object.ID][]int
	// byName finds nodes where the namespace is not known.
	byName map[object.ID][]int
	// byKindName finds nodes where only these two are known.
	byKindName map[string][]int
	// covered are the fields that records have found something in.
	covered map[covered]bool
	// defined are the kinds that objects of the component define.
	defined map[knowledge.GroupKind]definition
	// reads are the fields that name an object which must be there, and
	// producers the nodes that write an object at run time.
	reads     []read
	producers map[object.ID][]int
	// likely are nodes that write an object by convention.
	likely map[object.ID][]int
	// behind are the workloads behind each Service, by node.
	behind map[int][]int
	// converting are the workloads that convert the objects of a kind, by the node
	// that defines it.
	converting map[int][]int
	grants     grants
	// said are the words each workload is given, serviceNames the Services they
	// may lead to, and nameable the other kinds.
	said         map[int][]word
	serviceNames map[object.ID]bool
	nameable     []knowledge.GroupKind
	// releases are pairs of which somebody said that the first need not wait for the
	// second.
	releases map[[2]int]bool
	// pairs are the references found so far, by the two nodes.
	pairs  map[[2]int][]int
	faults []finding.Finding

	// Ways to nodes and references (see kinds.go). Those that are maps are made
	// when they are first asked for.
	runs             []run
	bringers         []bringer
	roleNodes        []int
	definedByGroup   map[string][]definition
	definedByPart    map[int][]knowledge.GroupKind
	byWord           map[string][]int
	runtimes         map[string][]int // by namespace, custom resources that run something
	byImage          map[[2]string][]int
	jobs, pods       map[int][]int
	jobsByImage      map[[2]string]imageJobs
	hooksServed      map[int]ownHooks
	writers          map[partID][]writer
	tokensOf         map[int]map[string]bool
	starters         map[object.ID][]int // whose Pods do not start without an object
	claimed          map[[2]string]bool
	namespaceNames   map[string]bool
	found            map[saying]bool
	waitables        map[[2]string][]int
	waitsFor         map[int]map[int]bool // what the containers of a node wait for
	readsByNamespace map[string][]read
	guarding         map[int]bool // Jobs that come before a part of the component
	brought          map[knowledge.GroupKind]origins
	toldAbout        map[learnable]*told
	names            map[string]bool         // of objects, and of what is read or made
	bringersOf       map[int][]bringer       // by component, but for packages
	packages         map[int]map[string]bool // packages by component
	edges            edges
}

// definition is a kind as a CustomResourceDefinition of the component has it.
type definition struct {
	node    int
	plural  string
	cluster bool
	by      knowledge.Definition
}

// read is a reference to an object that may or may not be in the component.
type read struct {
	Reference
	id       object.ID
	anywhere bool // the namespace is not known
	starts   bool // the Pods do not start without it
}

func newBuilder(parts []Part, base *knowledge.Base, opt Options) *builder {
	size := 0
	for _, p := range parts {
		size += len(p.Objects)
	}
	b := &builder{
		Graph: &Graph{}, base: base, opt: opt,
		byKey: map[object.ID][]int{}, byName: map[object.ID][]int{}, byKindName: map[string][]int{}, covered: map[covered]bool{},
		defined:   map[knowledge.GroupKind]definition{},
		producers: map[object.ID][]int{}, behind: map[int][]int{}, converting: map[int][]int{},
		said: map[int][]word{}, serviceNames: map[object.ID]bool{},
		pairs: map[[2]int][]int{},
	}
	b.Nodes = make([]Node, 0, size)
	b.References = make([]Reference, 0, 4*size) // as many as most components have
	for part, p := range parts {
		for _, o := range p.Objects {
			kind := base.Of(o)
			n := Node{Object: o, Kind: &kind, Part: part, hook: o.IsHook(), phases: o.Phases(), home: p.Namespace}
			n.Elsewhere = opt.Elsewhere != nil && opt.Elsewhere(o)
			n.Waits, n.HasHealth = n.Kind.HealthOf(o)
			n.Idle = isIdle(n)
			if n.HasHealth && n.Waits.Never == "" {
				n.Waits.Never = neverReady(n, base)
			}
			b.Nodes = append(b.Nodes, n)
		}
	}
	b.nameable = b.nameableKinds()
	return b
}

// isIdle reports whether a workload runs no Pods for now.
func isIdle(n Node) bool {
	if n.Kind.Pod.IsZero() {
		return false
	}
	replicas, scaled := n.Get("spec", "replicas").Int()
	return scaled && replicas == 0 || n.Get("spec", "paused").True() || n.Get("spec", "suspend").True()
}

// neverReady says why the Pods of a workload do not become ready by
// themselves; empty if nothing is known against it.
func neverReady(n Node, base *knowledge.Base) string {
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, c := range tmpl.Value.Get("spec", "containers").Items() {
			if p, ok := base.Program(c.Get("image").Text(), append(texts(c.Get("command")), texts(c.Get("args"))...),
				c.Get("readinessProbe", "httpGet", "path").Text()); ok {
				return p.Never
			}
		}
	}
	return ""
}

// index gives every object its identity in the cluster and finds doubles.
func (b *builder) index() error {
	b.readDefinitions() // which say what has a namespace, and more of kinds without a record
	b.learn()
	for i := range b.Nodes {
		n := &b.Nodes[i]
		n.Key = n.ID
		if b.clusterScoped(knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}) {
			n.Key.Namespace = ""
		} else if n.Key.Namespace == "" {
			n.Key.Namespace = n.home
		}
	}
	b.Nodes = inOrder(b.Nodes)
	b.readDefinitions() // again, because they have moved
	b.findRuns()
	b.findBringers()
	for i := range b.Nodes {
		n := &b.Nodes[i]
		def, ok := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
		// Argo CD looks for definitions of Kubernetes' own kind only.
		seen := ok && b.base.Builtin(b.Nodes[def.node].ID.Group)
		n.Lifted = seen && b.Nodes[def.node].Elsewhere
		n.Foreign = !seen && !n.Kind.Assured && !b.base.Builtin(n.ID.Group)
	}
	var faults []finding.Finding
	for i, n := range b.Nodes {
		faults = append(faults, b.duplicates(n)...)
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
	pointers := make([]*Node, len(nodes)) // for a node is large
	for i := range nodes {
		pointers[i] = &nodes[i]
	}
	slices.SortStableFunc(pointers, func(x, y *Node) int {
		if c := compareIDs(x.Key, y.Key); c != 0 {
			return c
		}
		// Hooks and plain objects may share an identity. Their texts, which are
		// megabytes, decide only between what no author means to have twice.
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

func (b *builder) readDefinitions() {
	for i, n := range b.Nodes {
		for _, d := range n.Kind.Defines {
			if !d.Of(n.Object) {
				continue
			}
			gk := knowledge.GroupKind{Group: cmp.Or(first(d.Group, n), d.GroupIs), Kind: first(d.Kind, n)}
			if gk.Kind != "" {
				b.defined[gk] = definition{i, first(d.Plural, n), strings.HasSuffix(cmp.Or(first(d.Scope, n), d.ScopeIs), "Cluster"), d}
			}
		}
	}
}

// maxDuplicates is how many objects with the same identity as another are named.
// A file may hold thousands, and each would be reported against each.
const maxDuplicates = 3

// duplicates compares an object with those before it.
func (b *builder) duplicates(n Node) []finding.Finding {
	var found []finding.Finding
	wrong := false
	for _, other := range b.byKey[n.Key] {
		if b.Nodes[other].Part != n.Part {
			continue
		}
		if len(found) >= maxDuplicates {
			if wrong || n.IsHook() {
				break
			}
			if b.Nodes[other].IsHook() {
				continue // a warning more
			}
		}
		if f, double := duplicate(b.Nodes[other], n); double {
			found = append(found, f)
			wrong = wrong || f.Severity == finding.Error
		}
	}
	return found
}

// duplicate reports two objects that Argo CD takes for one, of which it then
// applies only the last. Plain objects must not share an identity; a hook and
// a plain object do in some charts of Helm's, where that is legal.
func duplicate(a, b Node) (finding.Finding, bool) {
	if a.Generated || b.Generated {
		return finding.Finding{}, false
	}
	f := finding.Finding{Severity: finding.Error, Rule: "duplicate-object", File: b.File, Line: b.Line, Object: b.Key.String(),
		Message: "the same object is also in " + place(a), Remedy: "keep one of the two"}
	if a.IsHook() || b.IsHook() {
		f.Severity = finding.Warning
		f.Message = "the same object is also in " + place(a) + ", one of them as a hook; Argo CD applies only one"
	}
	return f, true
}

func place(n Node) string {
	if n.Line > 0 {
		return fmt.Sprintf("%s:%d", n.File, n.Line)
	}
	return n.File
}

func first(p knowledge.Path, n Node) string {
	for _, found := range p.Find(n.Root()) {
		return found.Value.Text()
	}
	return ""
}

// clusterScoped reports whether objects of a kind have no namespace. A kind
// that nobody knows is taken to have one.
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

// refer adds a reference unless it is there already or refers to itself.
func (b *builder) refer(r Reference) {
	pair := [2]int{r.From, r.To}
	if r.From == r.To || slices.ContainsFunc(b.pairs[pair], func(i int) bool { return b.References[i] == r }) {
		return
	}
	b.pairs[pair] = append(b.pairs[pair], len(b.References))
	b.References = append(b.References, r)
}

// Add puts in references that are known otherwise than from the objects.
func (g *Graph) Add(refs ...Reference) {
	g.References = append(g.References, refs...)
	g.sort()
}

// sort brings the references into an order that follows from the objects.
func (g *Graph) sort() {
	slices.SortFunc(g.References, func(x, y Reference) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.Meaning, y.Meaning),
			cmp.Compare(x.Field, y.Field), cmp.Compare(x.Why, y.Why), cmp.Compare(x.Because, y.Because))
	})
	finding.Sort(g.Findings)
}

// String draws the graph as text, for people and tests: each object that
// refers to anything, with what it refers to below it.
func (g *Graph) String() string {
	var b strings.Builder
	last := -1
	for _, r := range g.References {
		if r.From != last {
			n := g.Nodes[r.From]
			b.WriteString(n.Key.String())
			if n.Role != "" {
				fmt.Fprintf(&b, "  [%s: %s]", n.Role, n.RoleWhy)
			}
			b.WriteByte('\n')
			last = r.From
		}
		var marks []string
		if r.Hard {
			marks = append(marks, "hard")
		}
		if r.Refused {
			marks = append(marks, "refused")
		}
		if r.Data {
			marks = append(marks, "data")
		}
		if r.Inferred {
			marks = append(marks, "inferred")
		}
		if r.Explicit {
			marks = append(marks, "explicit")
		}
		if r.Optional {
			marks = append(marks, "optional")
		}
		mark := ""
		if marks != nil {
			mark = " (" + strings.Join(marks, ", ") + ")"
		}
		fmt.Fprintf(&b, "  %-8s %s %s%s%s\n", r.Meaning, r.Why, g.Nodes[r.To].Key, r.Explained(), mark)
	}
	for _, a := range g.Absent {
		starts, elsewhere := "", ""
		if a.Starts {
			starts = " (starts)"
		}
		if a.Elsewhere != (object.ID{}) {
			elsewhere = ", there is " + a.Elsewhere.String()
		}
		fmt.Fprintf(&b, "absent: %s %s %s%s%s\n", g.Nodes[a.From].Key, a.Why, a.ID, starts, elsewhere)
		for _, m := range a.Makers {
			fmt.Fprintf(&b, "  may be made by %s\n", g.Nodes[m].Key)
		}
	}
	return b.String()
}
