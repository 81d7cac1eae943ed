package graph

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referToNamespaces makes an object depend on its namespace.
func (b *builder) referToNamespaces() {
	for i, n := range b.Nodes {
		if n.Key.Namespace == "" {
			continue
		}
		for _, to := range b.byKey[object.ID{Kind: "Namespace", Name: n.Key.Namespace}] {
			b.refer(Reference{From: i, To: to, Field: namespaceField, Meaning: knowledge.Exists, Hard: true, Why: "is in",
				Source: "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/"})
		}
	}
}

// referToCRDs makes a custom resource depend on its CRD, which must be established.
func (b *builder) referToCRDs() {
	for i, n := range b.Nodes {
		def, ok := b.defined[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}]
		if !ok {
			continue
		}
		// Several components may contain the CRD, of which not all are deployed.
		for _, to := range b.byKey[b.Nodes[def.node].Key] {
			b.refer(Reference{From: i, To: to, Field: kindField, Meaning: knowledge.Healthy, Hard: true, Why: "is defined by",
				Source: b.Nodes[to].Kind.Source})
		}
	}
}

// referToInstallers makes a custom resource whose kind is installed at run time wait
// for the installer.
func (b *builder) referToInstallers() {
	for to, n := range b.Nodes {
		if group := n.Kind.Serves.Text(n.Root()); !n.Kind.Serves.IsZero() && group != "" {
			for _, kind := range b.kindRanges {
				for i := kind.from; i < kind.to && kind.group == group; i++ {
					if b.Nodes[i].CRDMissing {
						b.refer(Reference{From: i, To: to, Field: kindField, Meaning: knowledge.Healthy, Hard: true, Why: "has a kind that is served by", Source: n.Kind.Source})
					}
				}
			}
		}
	}
	for _, by := range b.installers {
		n := &b.Nodes[by.node]
		for _, kind := range b.kindRanges {
			// The kind of an installer exists before it.
			other := &b.Nodes[kind.from]
			if !other.CRDMissing || other.ID.Group == n.ID.Group && other.ID.Kind == n.ID.Kind || !by.installsGroup(kind.group) {
				continue
			}
			installs := map[int]bool{} // by component
			for i := kind.from; i < kind.to; i++ {
				part := b.Nodes[i].Part
				if _, known := installs[part]; !known {
					installs[part] = b.installsKind(by, kind, part)
				}
				if !installs[part] {
					continue
				}
				r := Reference{From: i, To: by.node, Field: kindField, Meaning: knowledge.Healthy, Inferred: true, Refused: true, Why: "uses a CRD that may be installed by", Source: by.source}
				if part == n.Part && b.isOnlySource(by, kind) {
					r.Inferred, r.Why = false, "uses a CRD installed by"
				}
				b.refer(r)
			}
		}
	}
}

// referToDiscoveredCRDs makes a program that discovers kinds once at startup depend on
// their CRDs.
func (b *builder) referToDiscoveredCRDs() {
	for i, n := range b.Nodes {
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for _, c := range tmpl.Value.Get("spec", "containers").Items() {
				p, ok := b.base.Discoverer(c.Get("image").Text())
				if !ok {
					continue
				}
				flag := slices.IndexFunc(b.words(i), func(w word) bool { return p.IsEnabledBy(w.name, w.value) })
				if flag < 0 {
					continue
				}
				for _, group := range p.Seeks {
					for _, def := range b.definedIn(group) {
						b.refer(Reference{From: i, To: def.node, Field: b.words(i)[flag].field, Meaning: knowledge.Healthy, Why: p.Why, Source: p.Source})
					}
				}
			}
		}
	}
}

// installedGroups returns a function that reports whether a node installs the kinds of
// a group at run time, by its own kind or by its program, and the source of that fact;
// nil if it installs none.
func (b *builder) installedGroups(n Node) (installsGroup func(group string) bool, source string) {
	if len(n.Kind.Installs) > 0 {
		return n.Kind.InstallsGroup, n.Kind.Source
	}
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, c := range tmpl.Value.Get("spec", list).Items() {
				if i, ok := b.base.Installer(c.Get("image").Text()); ok {
					return i.InstallsGroup, i.Source
				}
			}
		}
	}
	return nil, ""
}

// referByFields applies the records of each kind and of Pods.
func (b *builder) referByFields() {
	for i, n := range b.Nodes {
		for _, rec := range n.Kind.References {
			b.applyRecord(i, rec, n.Root(), "")
		}
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for _, rec := range b.base.PodReferences() {
				b.applyRecord(i, rec, tmpl.Value, tmpl.Field)
			}
		}
	}
}

// applyRecord applies a record to an object, below the given value.
func (b *builder) applyRecord(from int, rec knowledge.Reference, at object.Value, prefix string) {
	if !rec.Via.At.IsZero() {
		b.applyRecordVia(from, rec, at, prefix)
		return
	}
	if rec.Every {
		b.applyToEvery(from, rec)
		return
	}
	if rec.Named != "" {
		b.addMention(from, rec, mention{gk: rec.To[0], name: b.expand(rec.Named, from), field: "metadata.name"})
		return
	}
	found := rec.At.Find(at)
	for _, f := range found {
		b.cover(from, join(prefix, f.Field))
		if rec.Manifest {
			b.referToManifestKind(from, rec, f.Value, join(prefix, f.Field))
			continue
		}
		if f.Value.IsMap() {
			b.cover(from, join(prefix, f.Field)+"."+rec.Name)
		}
		if m, ok := readMention(rec, f); ok {
			m.field = join(prefix, m.field)
			b.addMention(from, rec, m)
		}
	}
	if len(found) == 0 && rec.Default != "" {
		b.addMention(from, rec, mention{gk: rec.To[0], name: b.expand(rec.Default, from), field: join(prefix, rec.At.String())})
	}
}

// applyToEvery applies a record by which an object refers to all objects of some
// kinds.
func (b *builder) applyToEvery(from int, rec knowledge.Reference) {
	n := &b.Nodes[from]
	var targets []int
	for _, gk := range rec.To {
		for _, to := range b.nodesOf(gk) {
			t := &b.Nodes[to]
			if t.Part == n.Part && (rec.Namespace == anyNamespace || t.Key.Namespace == n.Key.Namespace) {
				b.refer(Reference{From: from, To: to, Field: "spec", Meaning: rec.Meaning, Hard: rec.Hard, Unless: rec.Unless, Inferred: rec.Inferred, Optional: rec.Optional, StaysProgressing: rec.StaysProgressing, Why: rec.Why, Source: rec.Source})
				targets = append(targets, to)
			}
		}
	}
	b.addDoubt(from, rec.Doubt, targets)
}

// applyRecordVia applies a record that holds only if the object refers to a third one
// with certain content, which contains the target.
func (b *builder) applyRecordVia(from int, rec knowledge.Reference, at object.Value, prefix string) {
	third := knowledge.Reference{To: rec.Via.To, Name: "name"}
	for _, f := range rec.Via.At.Find(b.Nodes[from].Root()) {
		m, ok := readMention(third, f)
		if !ok {
			continue
		}
		for _, by := range b.resolve(b.identify(from, m), third) {
			n := b.Nodes[by]
			if len(rec.Via.Has.Find(n.Root())) == 0 {
				continue
			}
			for _, f := range rec.At.Find(at) {
				if m, ok := readMention(rec, f); ok {
					m.field = join(prefix, m.field)
					m.namespace = cmp.Or(m.namespace, rec.Via.Namespace.Text(n.Root()), rec.Via.Default)
					b.addMention(from, rec, m)
				}
			}
		}
	}
}

func join(prefix, field string) string {
	if prefix == "" {
		return field
	}
	return prefix + "." + field
}

func (b *builder) expand(template string, node int) string {
	return strings.ReplaceAll(template, "{name}", b.Nodes[node].ID.Name)
}

// mention is the name of another object as written in a field.
type mention struct {
	gk        knowledge.GroupKind
	name      string
	namespace string // as written, or empty
	optional  bool
	field     string
}

// readMention reads a mention from a value: a name, or a mapping that contains one.
func readMention(rec knowledge.Reference, f knowledge.Found) (mention, bool) {
	m := mention{gk: rec.To[0], field: f.Field, optional: rec.Optional}
	if !f.Value.IsMap() {
		m.name = f.Value.Text()
		if rec.Address {
			m.name, m.namespace = serviceAt(m.name)
		}
		if rec.Qualified {
			m.namespace, m.name, _ = strings.Cut(m.name, "/")
		}
		return m, m.name != ""
	}
	m.name = f.Value.Get(rec.Name).Text()
	m.namespace = f.Value.Get("namespace").Text()
	m.optional = rec.Optional || f.Value.Get("optional").True()
	kind := f.Value.Get("kind").Text()
	if kind == "" { // a type that is one of the kinds, as in caProvider of External Secrets
		named := f.Value.Get("type").Text()
		if slices.ContainsFunc(rec.To, func(to knowledge.GroupKind) bool { return to.Kind == named }) {
			kind = named
		}
	}
	if kind == "" || m.name == "" {
		return m, m.name != ""
	}
	group, written := writtenGroup(f.Value)
	for _, to := range rec.To {
		if to.Kind == kind && (!written || to.Group == group) {
			m.gk = to
			return m, true
		}
	}
	// A reference with kind and group is unambiguous.
	m.gk = knowledge.GroupKind{Group: group, Kind: kind}
	return m, written
}

// serviceAt returns the Service in an address such as
// http://web.shop.svc:8080/health; empty if there is none.
func serviceAt(address string) (name, namespace string) {
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	parts := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
	switch {
	case len(parts) == 1:
		return parts[0], ""
	case len(parts) == 2 || parts[2] == "svc":
		return parts[0], parts[1]
	}
	return "", ""
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

// addMention adds references to the objects that a name refers to, and records reads
// of objects that exist only at run time.
func (b *builder) addMention(from int, rec knowledge.Reference, m mention) {
	id := b.identify(from, m)
	r := Reference{From: from, Field: m.field, Meaning: rec.Meaning, Hard: rec.Hard && !m.optional, Unless: rec.Unless, Inferred: rec.Inferred, Optional: m.optional, StaysProgressing: rec.StaysProgressing, Why: rec.Why, Source: rec.Source}
	switch {
	case rec.Meaning == knowledge.Produces:
		b.producers[id] = append(b.producers[id], from)
	case rec.ToBackends && (rec.Meaning == knowledge.With || rec.Address):
		r.Meaning = knowledge.Exists // the Service only leads to the workload
	case !m.optional && (rec.Meaning == knowledge.Exists || rec.Meaning == knowledge.Healthy):
		b.reads = append(b.reads, read{r, id, rec.Namespace == anyNamespace, rec.Starts})
	}
	targets := b.resolve(id, rec)
	for _, to := range targets {
		r.To = to
		b.refer(r)
	}
	b.addDoubt(from, rec.Doubt, targets)
}

// addDoubt records what the targets of a reference imply about the health of the
// referring object.
func (b *builder) addDoubt(from int, doubt knowledge.Doubt, targets []int) {
	n := &b.Nodes[from]
	if len(targets) == 0 {
		n.Doubt = cmp.Or(n.Doubt, doubt.Absent)
	}
	if len(targets) > 0 {
		n.TemporarilyDegraded = cmp.Or(n.TemporarilyDegraded, doubt.TemporarilyDegraded)
	}
	for _, to := range targets {
		if len(doubt.At.Find(b.Nodes[to].Root())) > 0 {
			n.Health.Never = cmp.Or(n.Health.Never, doubt.Why)
		}
	}
}

// identify returns the identity that a mention refers to.
func (b *builder) identify(from int, m mention) object.ID {
	id := object.ID{Group: m.gk.Group, Kind: m.gk.Kind, Name: m.name}
	if b.clusterScoped(m.gk) {
		return id
	}
	id.Namespace = m.namespace
	if id.Namespace == "" {
		id.Namespace = b.Nodes[from].Key.Namespace
	}
	if id.Namespace == "" {
		// Without a namespace, a cluster-scoped object refers to the namespace of
		// the release, as the subjects of many ClusterRoleBindings do.
		id.Namespace = b.Nodes[from].destination
	}
	return id
}

// resolve returns the nodes with an identity.
func (b *builder) resolve(id object.ID, rec knowledge.Reference) []int {
	if nodes := b.byKey[id]; len(nodes) > 0 || rec.Namespace != anyNamespace {
		return b.preferPlain(nodes)
	}
	id.Namespace = ""
	if nodes := b.byName[id]; len(nodes) == 1 {
		return nodes
	}
	return nil
}

const anyNamespace = "any"

// preferPlain removes hooks that share the identity of a plain object. If several
// components contain the same object, all of them count.
func (b *builder) preferPlain(nodes []int) []int {
	var plain []int
	for _, n := range nodes {
		if !b.Nodes[n].IsHook() && !slices.ContainsFunc(plain, func(p int) bool { return b.Nodes[p].Part == b.Nodes[n].Part }) {
			plain = append(plain, n)
		}
	}
	if plain != nil {
		return plain
	}
	return nodes
}
