package facts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Mention is a field of an object that names other objects, according to a record.
type Mention struct {
	From int
	// Field is the field of From, such as "spec.volumes[0].secret".
	Field string
	// Record says what the field means.
	Record *knowledge.Reference
	// ID is the identity that the field names; zero if the record is about every
	// object of some kinds.
	ID object.ID
	// Targets are the nodes with that identity.
	Targets []int
	// Optional means that the object works without the target.
	Optional bool
}

// Anywhere reports whether the namespace of the target is unknown.
func (m *Mention) Anywhere() bool { return m.Record.Namespace == anyNamespace }

// target is the identity of the target, without a namespace if that is unknown.
func (m *Mention) target() object.ID {
	id := m.ID
	if m.Anywhere() {
		id.Namespace = ""
	}
	return id
}

// Leads reports whether the named Service only leads to the workloads behind it.
func (m *Mention) Leads() bool {
	return m.Record.ToBackends && (m.Record.Meaning == knowledge.With || m.Record.Address)
}

// Manifest is a field with an object, or the name of a kind, of which From creates
// objects later.
type Manifest struct {
	From   int
	Field  string
	Record *knowledge.Reference
	Kind   knowledge.GroupKind
	// Definition is the node that defines the kind; -1 if there is none.
	Definition int
}

// Doubts is what the targets of an object's fields imply about its health.
type Doubts struct {
	// Never says why the object never becomes healthy.
	Never string
	// Uncertain is the reason to wait for the object only where the other object would
	// fail without the wait.
	Uncertain string
	// Entry is the entry of expects that ends Uncertain.
	Entry string
	// TemporarilyDegraded says why the object may be Degraded for a while.
	TemporarilyDegraded string
}

// mentionFacts is what fields show.
type mentionFacts struct {
	read             memo[fieldFacts]
	conventional     memo[conventionFacts]
	readsByNamespace index[string, []Mention]
	names            index[string, bool] // names of objects, and of objects that are read or created
}

// fieldFacts is what the fields show for which there is a record.
type fieldFacts struct {
	mentions  []Mention
	reads     []Mention
	manifests []Manifest
	written   map[object.ID][]int
	early     map[product]bool
	doubts    map[int]Doubts
	// covered marks the fields of custom resources in which a record found a
	// reference.
	covered map[nodeField]bool
}

// Mentions returns the fields that name other objects, according to the records of
// kinds and of Pods.
func (f *Facts) Mentions() []Mention { return f.fields().mentions }

// Reads returns the mentions of objects that must exist, whether the components contain
// them or not.
func (f *Facts) Reads() []Mention { return f.fields().reads }

// Manifests returns the fields with objects that are created later.
func (f *Facts) Manifests() []Manifest { return f.fields().manifests }

// DoubtsOf returns what the fields of a node imply about its health.
func (f *Facts) DoubtsOf(node int) Doubts { return f.fields().doubts[node] }

// ReadIn returns the reads of objects in a namespace.
func (f *Facts) ReadIn(namespace string) []Mention {
	return f.readsByNamespace.at(namespace, func(all index[string, []Mention]) {
		for _, r := range f.Reads() {
			all[r.ID.Namespace] = append(all[r.ID.Namespace], r)
		}
	})
}

func (f *Facts) fields() *fieldFacts {
	if !f.read.known {
		r := fieldReader{f, fieldFacts{written: map[object.ID][]int{}, early: map[product]bool{}, doubts: map[int]Doubts{},
			covered: map[nodeField]bool{}}}
		r.readAll()
		f.read.get(func() fieldFacts { return r.fieldFacts })
	}
	return &f.read.value
}

// fieldReader applies the records.
type fieldReader struct {
	*Facts
	fieldFacts
}

func (r *fieldReader) readAll() {
	pods := r.Base.PodReferences()
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for at := range n.Kind.References {
			r.apply(i, &n.Kind.References[at], n.Root(), "")
		}
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for at := range pods {
				r.apply(i, &pods[at], tmpl.Value, tmpl.Field)
			}
		}
	}
}

// apply applies a record to an object, below the given value.
func (r *fieldReader) apply(from int, rec *knowledge.Reference, at object.Value, prefix string) {
	if !rec.AppliesTo(r.Nodes[from].Object) {
		return
	}
	if !rec.Via.At.IsZero() {
		r.applyVia(from, rec, at, prefix)
		return
	}
	if !rec.Within.IsZero() {
		r.applyWithin(from, rec, at, prefix)
		return
	}
	if rec.Every {
		r.applyToEvery(from, rec)
		return
	}
	if rec.Named != "" {
		r.add(from, rec, name{gk: rec.To[0], name: r.expand(rec.Named, from), field: "metadata.name"})
		return
	}
	found := rec.At.Find(at)
	for _, v := range found {
		if prefix != "" && r.isUnmounted(from, at, v.Field) {
			continue
		}
		r.cover(from, Join(prefix, v.Field))
		if rec.Manifest {
			r.addManifest(from, rec, v.Value, Join(prefix, v.Field))
			continue
		}
		if v.Value.IsMap() {
			r.cover(from, Join(prefix, v.Field)+"."+rec.Name)
			r.addClones(from, rec, v.Value)
		}
		for _, m := range readNames(rec, v) {
			m.field = Join(prefix, m.field)
			r.add(from, rec, m)
		}
	}
	if len(found) == 0 && rec.Default != "" {
		r.add(from, rec, name{gk: rec.To[0], name: r.expand(rec.Default, from), field: Join(prefix, rec.At.String())})
	}
}

// isUnmounted reports whether a field of a Pod is that of a volume which the kubelet ignores,
// because no container mounts it
// (pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go). The scheduler
// needs the PVCs of every volume, and whoever completes a template may add mounts.
func (r *fieldReader) isUnmounted(from int, pod object.Value, field string) bool {
	rest, isVolume := strings.CutPrefix(field, "spec.volumes[")
	number, source, _ := strings.Cut(rest, "].")
	if !isVolume || strings.HasPrefix(source, "persistentVolumeClaim") || strings.HasPrefix(source, "ephemeral") ||
		!r.Base.Builtin(r.Nodes[from].ID.Group) {
		return false
	}
	at, err := strconv.Atoi(number)
	volumes := pod.Get("spec", "volumes").Items()
	if err != nil || at >= len(volumes) || !pod.Get("spec", "containers").Exists() {
		return false
	}
	for range mountsOf(pod, volumes[at]) {
		return false
	}
	return true
}

// applyToEvery applies a record by which an object refers to all objects of some
// kinds.
func (r *fieldReader) applyToEvery(from int, rec *knowledge.Reference) {
	n := &r.Nodes[from]
	m := Mention{From: from, Field: "spec", Record: rec, Optional: rec.Optional}
	for _, gk := range rec.To {
		for _, to := range r.NodesOf(gk) {
			t := &r.Nodes[to]
			if t.Part == n.Part && (rec.Namespace == anyNamespace || t.Key.Namespace == n.Key.Namespace) {
				m.Targets = append(m.Targets, to)
			}
		}
	}
	r.mentions = append(r.mentions, m)
	r.addDoubt(from, rec.Doubt, m)
}

// add adds the mention of a name, and records what is read or created at run time.
func (r *fieldReader) add(from int, rec *knowledge.Reference, named name) {
	id := r.identify(from, named)
	m := Mention{From: from, Field: named.field, Record: rec, ID: id, Targets: r.resolve(id, rec), Optional: named.optional}
	switch {
	case rec.Meaning == knowledge.Produces:
		r.write(from, rec, id)
	case m.Leads():
	case !m.Optional && (rec.Meaning == knowledge.Exists || rec.Meaning == knowledge.Healthy):
		r.reads = append(r.reads, m)
	}
	r.mentions = append(r.mentions, m)
	r.addDoubt(from, rec.Doubt, m)
}

// addManifest adds an object that is created later.
func (r *fieldReader) addManifest(from int, rec *knowledge.Reference, manifest object.Value, field string) {
	group, written := writtenGroup(manifest)
	gk := knowledge.GroupKind{Group: group, Kind: manifest.Get("kind").Text()}
	if !written || gk.Kind == "" || r.Base.Builtin(group) {
		return
	}
	m := Manifest{From: from, Field: field, Record: rec, Kind: gk, Definition: -1}
	if def, ok := r.defined[gk]; ok {
		m.Definition = def.Node
	}
	r.manifests = append(r.manifests, m)
}

// addDoubt records what the targets of a reference imply about the health of the
// referring object. The first reason counts.
func (r *fieldReader) addDoubt(from int, doubt knowledge.Doubt, m Mention) {
	if doubt.Absent == "" && doubt.TemporarilyDegraded == "" && doubt.Why == "" {
		return
	}
	d := r.doubts[from]
	if doubt.Absent != "" && len(m.Targets) == 0 && d.Uncertain == "" && !r.Expects(from, m.target()) {
		d.Uncertain, d.Entry = doubt.Absent, r.ExpectedEntry(from, m.ID)
	}
	if len(m.Targets) > 0 {
		d.TemporarilyDegraded = cmp.Or(d.TemporarilyDegraded, doubt.TemporarilyDegraded)
	}
	for _, to := range m.Targets {
		if len(doubt.At.Find(r.Nodes[to].Root())) > 0 {
			d.Never = cmp.Or(d.Never, doubt.Why)
		}
	}
	if d != (Doubts{}) {
		r.doubts[from] = d
	}
}

func (r *fieldReader) expand(template string, node int) string {
	return strings.ReplaceAll(template, "{name}", r.Nodes[node].ID.Name)
}

// nodeField is a field of a node.
type nodeField struct {
	node  int
	field string
}

// cover marks a field and its parent, such as the list that contains it, as described
// by a record. It is needed for custom resources only, whose fields are also read by
// convention.
func (r *fieldReader) cover(node int, field string) {
	if r.Base.Builtin(r.Nodes[node].ID.Group) {
		return
	}
	r.covered[nodeField{node, field}] = true
	if end := strings.LastIndexAny(field, ".["); end > 0 {
		r.covered[nodeField{node, field[:end]}] = true
	}
}

// Join appends a field to the field that contains it.
func Join(prefix, field string) string {
	if prefix == "" {
		return field
	}
	return prefix + "." + field
}

// name is the name of another object as written in a field.
type name struct {
	gk        knowledge.GroupKind
	name      string
	namespace string // as written, or empty
	optional  bool
	field     string
}

// readName reads a name from a value: the name itself, or a mapping that contains one.
func readName(rec *knowledge.Reference, v knowledge.Found) (name, bool) {
	m := name{gk: rec.To[0], field: v.Field, optional: rec.Optional}
	if !v.Value.IsMap() {
		m.name = v.Value.Text()
		if rec.Address {
			m.name, m.namespace = text.ServiceAt(m.name)
		}
		if rec.Qualified {
			m.namespace, m.name, _ = strings.Cut(m.name, "/")
		}
		return m, m.name != ""
	}
	m.name = v.Value.Get(rec.Name).Text()
	m.namespace = v.Value.Get("namespace").Text()
	m.optional = rec.Optional || v.Value.Get("optional").True()
	kind := v.Value.Get("kind").Text()
	if kind == "" { // a type that is one of the kinds, as in caProvider of External Secrets
		named := v.Value.Get("type").Text()
		if slices.ContainsFunc(rec.To, func(to knowledge.GroupKind) bool { return to.Kind == named }) {
			kind = named
		}
	}
	if kind == "" || m.name == "" {
		return m, m.name != ""
	}
	group, written := writtenGroup(v.Value)
	for _, to := range rec.To {
		if strings.EqualFold(to.Kind, kind) && (!written || to.Group == group) {
			m.gk = to
			return m, true
		}
	}
	// A reference with kind and group is unambiguous.
	m.gk = knowledge.GroupKind{Group: group, Kind: kind}
	return m, written
}

// writtenGroup reads the group of an object reference from group, apiGroup or
// apiVersion.
func writtenGroup(v object.Value) (string, bool) {
	for _, key := range []string{"group", "apiGroup"} {
		if g := v.Get(key); g.Exists() {
			return g.Text(), true
		}
	}
	if av := v.Get("apiVersion"); av.Exists() {
		group, _, hasGroup := strings.Cut(av.Text(), "/")
		if !hasGroup {
			group = ""
		}
		return group, true
	}
	return "", false
}

// Named returns the identity that a record finds in a value of a node; false if there is
// none.
func (f *Facts) Named(from int, rec *knowledge.Reference, v knowledge.Found) (id object.ID, field string, ok bool) {
	m, ok := readName(rec, v)
	if !ok {
		return object.ID{}, "", false
	}
	return f.identify(from, m), m.field, true
}

// identify returns the identity that a mention refers to.
func (f *Facts) identify(from int, m name) object.ID {
	id := object.ID{Group: m.gk.Group, Kind: m.gk.Kind, Name: m.name}
	if f.ClusterScoped(m.gk) {
		return id
	}
	id.Namespace = m.namespace
	if id.Namespace == "" {
		id.Namespace = f.Nodes[from].Key.Namespace
	}
	if id.Namespace == "" {
		// Without a namespace, a cluster-scoped object refers to the namespace of
		// the release, as the subjects of many ClusterRoleBindings do.
		id.Namespace = f.Nodes[from].Destination
	}
	return id
}

// resolve returns the nodes with an identity.
func (f *Facts) resolve(id object.ID, rec *knowledge.Reference) []int {
	if nodes := f.byKey[id]; len(nodes) > 0 || rec.Namespace != anyNamespace {
		return f.preferPlain(nodes)
	}
	id.Namespace = ""
	if nodes := f.byName[id]; len(nodes) == 1 {
		return nodes
	}
	return nil
}

const anyNamespace = "any"

// preferPlain removes hooks that share the identity of a plain object. If several
// components contain the same object, all of them count.
func (f *Facts) preferPlain(nodes []int) []int {
	var plain []int
	for _, n := range nodes {
		if !f.Nodes[n].IsHook() && !slices.ContainsFunc(plain, func(p int) bool { return f.Nodes[p].Part == f.Nodes[n].Part }) {
			plain = append(plain, n)
		}
	}
	if plain != nil {
		return plain
	}
	return nodes
}
