package facts

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Objects that Pods read and no manifest contains are often created by another object
// of the component: an operator's custom resource, a Job that creates certificates, a
// hook, a sibling. Only records, permissions and sometimes words show which.

type productFacts struct {
	writers    map[partID][]writer
	blockedBy  index[object.ID, []int] // workloads whose Pods do not start without an object
	ownPVCs    index[[2]string, bool]
	unresolved memo[[]Unresolved]
}

// Producers returns the nodes that according to records write an object at run time.
func (f *Facts) Producers(id object.ID) []int { return f.products()[id] }

// products maps objects to the nodes that according to records write them.
func (f *Facts) products() map[object.ID][]int { return f.fields().written }

// MayBeMade reports whether an object may be written at run time: according to a record, or
// because of its name.
func (f *Facts) MayBeMade(id object.ID) bool {
	return len(f.Producers(id)) > 0 || id.GroupKind() == "Service" && f.IsAssumed(id)
}

// Products returns the objects that according to records are written at run time, in
// order.
func (f *Facts) Products() []object.ID { return slices.SortedFunc(maps.Keys(f.products()), CompareIDs) }

// ProducerAnywhere finds the writer of an object by name in any namespace, if there
// is exactly one.
func (f *Facts) ProducerAnywhere(id object.ID) []int {
	var all []int
	for other, producers := range f.products() {
		if other.Group == id.Group && other.Kind == id.Kind && other.Name == id.Name {
			all = append(all, producers...)
		}
	}
	if len(all) == 1 {
		return all
	}
	return nil
}

// write records that a node writes an object, or copies of it in several namespaces.
func (r *fieldReader) write(from int, rec *knowledge.Reference, id object.ID) {
	if isVariable(id.Name) {
		return
	}
	var patterns []string
	for _, v := range rec.Namespaces.Find(r.Nodes[from].Root()) {
		patterns = append(patterns, strings.Split(v.Value.Text(), ",")...)
	}
	add := func(id object.ID) {
		if id != r.Nodes[from].Key && !slices.Contains(r.written[id], from) {
			r.written[id] = append(r.written[id], from)
		}
		if rec.Early {
			r.early[product{from, id}] = true
		}
	}
	switch {
	case isVariable(id.Namespace), len(patterns) == 0 && rec.Namespace == everyNamespace:
		patterns = []string{".*"}
	case len(patterns) == 0:
		add(id)
	}
	for _, pattern := range patterns {
		matches := namespacePattern(strings.TrimSpace(pattern))
		for _, id.Namespace = range r.namespaces() {
			if matches(id.Namespace) {
				add(id)
			}
		}
	}
}

// product is an object that a node writes.
type product struct {
	by int
	id object.ID
}

// WritesUnready reports whether a producer writes an object before it is healthy.
func (f *Facts) WritesUnready(by int, id object.ID) bool { return f.fields().early[product{by, id}] }

// isVariable reports whether a policy computes a text from the object that triggers it.
func isVariable(text string) bool { return strings.Contains(text, "{{") }

const everyNamespace = "every"

// namespacePattern reads a name, or a regular expression for names.
func namespacePattern(text string) func(string) bool {
	if pattern, err := regexp.Compile("^(?:" + text + ")$"); err == nil {
		return pattern.MatchString
	}
	return func(name string) bool { return text == "*" || name == text }
}

// addClones records the copies that a node makes of objects with a label, under their own
// names.
func (r *fieldReader) addClones(from int, rec *knowledge.Reference, v object.Value) {
	clones := v.Get(rec.Clones)
	for _, versionedKind := range Texts(clones.Get("kinds")) {
		apiVersion, kind, _ := cutLast(versionedKind, "/")
		group, _ := cutVersion(apiVersion)
		for _, i := range r.NodesOf(knowledge.GroupKind{Group: group, Kind: kind}) {
			source := &r.Nodes[i]
			if source.Key.Namespace == clones.Get("namespace").Text() && selectorAllows(clones.Get("selector"), source.Get("metadata", "labels")) {
				id := source.Key
				id.Namespace = v.Get("namespace").Text()
				r.write(from, rec, id)
			}
		}
	}
}

// writer is a workload that may write objects of a kind in a namespace.
type writer struct {
	node int
	// creates means that its permissions are not limited to certain names.
	creates bool
	// in is the phase in which it runs first.
	in object.Phase
}

// partID is an object of a component.
type partID struct {
	part int
	id   object.ID
}

// writersOf returns the workloads of a component that may write objects of a kind
// in a namespace, by their permissions or the known commands that they run, and run during
// a sync.
func (f *Facts) writersOf(part int, id object.ID) []writer {
	id.Name = ""
	at := partID{part, id}
	if known, ok := f.writers[at]; ok {
		return known
	}
	var all []writer
	resource := knowledge.Plural(id.Kind)
	for _, i := range f.PodsOf(part) {
		n := &f.Nodes[i]
		if n.Kind.Runs == "later" || !n.IsApplied() {
			continue
		}
		w := writer{node: i, in: n.FirstPhase()}
		writes := id.GroupKind() == "Secret" && n.Key.Namespace == id.Namespace && len(f.Base.SecretsOf(f.commands(i))) > 0
		for _, r := range f.RulesOfNode(i) {
			if r.In == "" || r.In == id.Namespace {
				writes = writes || r.Allows(id.Group, resource, "create", "update", "patch")
				w.creates = w.creates || len(r.Names) == 0 && r.Allows(id.Group, resource, "create")
			}
		}
		if writes || n.Kind.Runs == "once" && f.scriptCreates(i, id.Kind) {
			all = append(all, w)
		}
	}
	if f.writers == nil {
		f.writers = map[partID][]writer{}
	}
	f.writers[at] = all
	return all
}

// HasCreator reports whether a workload of a component may create objects of a kind, whatever
// their name, in the namespace of an object.
func (f *Facts) HasCreator(part int, id object.ID) bool {
	return slices.ContainsFunc(f.writersOf(part, id), func(w writer) bool { return w.creates && w.in != object.PostSync })
}

// scriptCreates reports whether a script of a workload, or a manifest that it mounts,
// creates objects of a kind. Who grants the permission may lie outside the component.
func (f *Facts) scriptCreates(i int, kind string) bool {
	return slices.ContainsFunc(f.Words(i), func(w Word) bool { return text.Creates(w.Value, kind) })
}

// MayWrite reports whether a workload runs a command that is known to write an object,
// whether its ServiceAccount may write it, and its permissions, also to read, or its words
// name it, or whether a Job's script creates it.
func (f *Facts) MayWrite(i int, id object.ID) bool {
	n := &f.Nodes[i]
	if f.startsOnlyWith(i, id) {
		return false
	}
	if id.GroupKind() == "Secret" && n.Key.Namespace == id.Namespace && slices.Contains(f.Base.SecretsOf(f.commands(i)), id.Name) {
		return true
	}
	if n.Kind.Runs == "once" && id.Group == "" && f.Tokens(i)[id.Name] && f.scriptCreates(i, id.Kind) {
		return true
	}
	resource := knowledge.Plural(id.Kind)
	about := slices.DeleteFunc(f.RulesOfNode(i), func(r Rule) bool {
		return r.In != "" && r.In != id.Namespace || len(r.Names) > 0 && !slices.Contains(r.Names, id.Name) ||
			!r.Allows(id.Group, resource, r.Verbs...)
	})
	return slices.ContainsFunc(about, func(r Rule) bool { return r.Allows(id.Group, resource, "create", "update", "patch") }) &&
		(f.Tokens(i)[id.Name] || slices.ContainsFunc(about, func(r Rule) bool { return len(r.Names) > 0 }))
}

// startsOnlyWith reports whether a node cannot create an object because its Pods start no
// program without it. A container whose variables come from the object starts after the
// init containers, which may create it.
func (f *Facts) startsOnlyWith(i int, id object.ID) bool {
	return slices.Contains(f.blockedBy.at(id, func(all index[object.ID, []int]) {
		for _, r := range f.Reads() {
			if n := &f.Nodes[r.From]; r.Record.Starts && !(strings.HasPrefix(r.Record.At.String(), "spec.containers[]") && hasInitContainers(n)) {
				all[r.ID] = append(all[r.ID], r.From)
			}
		}
	}), i)
}

// NamesUnread reports whether the words of a workload contain the name of an object that its
// Pods do not wait for.
func (f *Facts) NamesUnread(i int, id object.ID) bool {
	return f.Tokens(i)[id.Name] && !f.startsOnlyWith(i, id)
}

// hasInitContainers reports whether a program runs in the Pods of a node before the
// containers.
func hasInitContainers(n *Node) bool {
	return slices.ContainsFunc(n.Kind.Pod.Find(n.Root()), func(tmpl knowledge.Found) bool {
		return len(tmpl.Value.Get("spec", "initContainers").Items()) > 0
	})
}

// commands returns the command lines of a node's containers.
func (f *Facts) commands(i int) (all []string) {
	n := &f.Nodes[i]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, c := range tmpl.Value.Get("spec", list).Items() {
				all = append(all, f.scripts(i, tmpl.Value, c)...)
			}
		}
	}
	return all
}

// soleJob returns the only Job of the Sync phase that may create a Secret that no
// workload names. No earlier hook and no other Job may create it.
func (f *Facts) soleJob(part int, id object.ID) (int, bool) {
	if id.Group != "" || id.Kind != "Secret" {
		return 0, false
	}
	var jobs []int
	for _, w := range f.writersOf(part, id) {
		n := &f.Nodes[w.node]
		switch {
		case !w.creates || n.Kind.Runs != "once" || f.startsOnlyWith(w.node, id) || w.in == object.PostSync:
		case w.in == object.PreSync:
			return 0, false
		case n.Key.Namespace == id.Namespace:
			jobs = append(jobs, w.node)
		}
	}
	if len(jobs) != 1 {
		return 0, false
	}
	return jobs[0], true
}

// Creators are the workloads of a component that may create what one of them reads.
type Creators struct {
	// InTime run no later than the reader.
	InTime []int
	// Before means that one of them ends before the phase of the reader.
	Before bool
	// Later are those that name it and run only in a later phase; empty if others run in time.
	Later []int
}

// CreatorsFor returns the workloads of a component that may create what one of them reads:
// those that name it, or else the other Jobs before the Sync phase that
// may create any Secret, or else the only workload that may.
func (f *Facts) CreatorsFor(r *Mention) (c Creators) {
	reader := &f.Nodes[r.From]
	starts := reader.FirstPhase()
	var creators, firstJobs []int
	for _, w := range f.writersOf(reader.Part, r.ID) {
		n := &f.Nodes[w.node]
		endsBefore := w.in.Order() < starts.Order() && n.Kind.Runs == "once"
		switch {
		case w.in.Order() > starts.Order():
			if w.node != r.From && f.MayWrite(w.node, r.ID) {
				c.Later = append(c.Later, w.node)
			}
			continue
		case f.startsOnlyWith(w.node, r.ID) || w.node == r.From && !f.MayWrite(w.node, r.ID):
			if w.creates {
				creators = append(creators, w.node)
			}
			continue
		case w.creates:
			creators = append(creators, w.node)
			if w.in == object.PreSync && n.Kind.Runs == "once" {
				firstJobs = append(firstJobs, w.node)
			}
		}
		if f.MayWrite(w.node, r.ID) {
			c.InTime = append(c.InTime, w.node)
			c.Before = c.Before || endsBefore
		}
	}
	if len(c.InTime) == 0 && r.ID.Group == "" && r.ID.Kind == "Secret" && len(f.InAnyNamespace(r.ID)) == 0 {
		job, sole := f.soleJob(reader.Part, r.ID)
		switch {
		case len(firstJobs) > 0: // one of them may create it, under a name that it composes
			c.InTime, c.Before = firstJobs, true
		case len(c.Later) > 0: // it says so by the name
		case sole && job != r.From:
			c.InTime = []int{job}
		case len(creators) == 1 && creators[0] != r.From && !f.startsOnlyWith(creators[0], r.ID):
			c.InTime = creators
		}
	}
	if len(c.InTime) > 0 {
		c.Later = nil
	}
	return c
}

// HasOwnWriter reports whether a Job of the component that reads an object may
// write it.
func (f *Facts) HasOwnWriter(r Mention) bool {
	for _, j := range f.JobsOf(f.Nodes[r.From].Part) {
		if j != r.From && f.Nodes[j].Key.Namespace == r.ID.Namespace && f.MayWrite(j, r.ID) {
			return true
		}
	}
	return false
}

// hasPVCTemplate reports whether a workload creates a PVC itself: the volume of a template
// replaces one of the same name in the Pods
// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/stateful-set-v1/#StatefulSetSpec).
func (n *Node) hasPVCTemplate(name string) bool {
	return slices.ContainsFunc(n.Get("spec", "volumeClaimTemplates").Items(), func(v object.Value) bool {
		return v.Get("metadata", "name").Text() == name
	})
}

// isFromTemplate reports whether a workload of the component creates a PVC from a
// template: its name consists of the names of template and workload, and a number
// (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-storage).
func (f *Facts) isFromTemplate(id object.ID) bool {
	if k, _ := f.Base.Kind(id.Group, id.Kind); k.Placement != knowledge.WithConsumer {
		return false
	}
	name, number, ok := cutLast(id.Name, "-")
	return ok && strings.Trim(number, "0123456789") == "" && f.ownPVCs.at([2]string{id.Namespace, name}, func(all index[[2]string, bool]) {
		for _, n := range f.Nodes {
			for _, t := range n.Get("spec", "volumeClaimTemplates").Items() {
				all[[2]string{n.Key.Namespace, t.Get("metadata", "name").Text() + "-" + n.ID.Name}] = true
			}
		}
	})
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// Unresolved is a read of an object that the component does not contain.
type Unresolved struct {
	*Mention
	// Makers are workloads that may create the object.
	Makers []int
	// Created means that they do so in time: before the reader, or while its Pods wait.
	Created bool
	// Later are those that do so only in a later phase than that of the reader.
	Later []int
	// Named means that the object is named after a custom resource beside the reader, whose
	// operator probably makes it.
	Named bool
}

// Unresolved returns the reads of objects that Pods need to start, or another object
// needs to be healthy, and that the component neither contains nor, according to records,
// creates.
func (f *Facts) Unresolved() []Unresolved { return f.unresolved.get(f.findUnresolved) }

func (f *Facts) findUnresolved() (all []Unresolved) {
	reads := f.Reads()
	for i := range reads {
		m := &reads[i]
		n := &f.Nodes[m.From]
		pods := !n.Kind.Pod.IsZero()
		needed := pods && (m.Record.Starts || m.Record.Hard) && f.Namespaced(m.ID) || !pods && n.HasHealth && IsData(m.ID)
		if !needed || len(f.ByKey(m.ID)) > 0 || len(f.Producers(m.ID)) > 0 || len(f.LikelyProducers(m.ID)) > 0 ||
			f.Base.Everywhere(m.ID.Kind, m.ID.Name) || f.isFromTemplate(m.ID) || n.hasPVCTemplate(m.ID.Name) || f.Expects(m.From, m.target()) {
			continue
		}
		if m.Anywhere() && (len(f.InAnyNamespace(m.ID)) > 0 || len(f.ProducerAnywhere(m.ID)) > 0) {
			continue
		}
		by := f.CreatorsFor(m)
		all = append(all, Unresolved{m, by.InTime, by.Before || pods && len(by.InTime) > 0, by.Later, IsData(m.ID) && f.isNamedAfterCustom(m.ID)})
	}
	return all
}

// IsMet reports whether something in the components is, or creates, the target of a mention, or
// it exists without them.
func (f *Facts) IsMet(m *Mention) bool {
	if len(m.Targets)+len(f.ByKey(m.ID))+len(f.Producers(m.ID))+len(f.LikelyProducers(m.ID)) > 0 ||
		f.Base.Everywhere(m.ID.Kind, m.ID.Name) || f.Expects(m.From, m.target()) {
		return true
	}
	return m.Anywhere() && len(f.InAnyNamespace(m.ID))+len(f.ProducerAnywhere(m.ID)) > 0
}

// isNamedAfterCustom reports whether the name of an object contains that of a custom resource of
// its namespace which runs something: between dots or, if no record says which Secrets its kind
// writes, at the beginning before a hyphen, as in db-auth.
func (f *Facts) isNamedAfterCustom(id object.ID) bool {
	for _, kind := range f.Kinds() {
		if f.Base.Builtin(kind.Group) {
			continue
		}
		for i := kind.From; i < kind.To; i++ {
			n := &f.Nodes[i]
			if n.Key.Namespace != id.Namespace || !n.Kind.Pod.IsZero() || n.Kind.Rung != knowledge.Workloads &&
				n.Kind.Rung != knowledge.Bootstraps || n.ID.Name == "" {
				continue
			}
			writesSecrets := slices.ContainsFunc(n.Kind.References, func(rec knowledge.Reference) bool {
				return rec.Meaning == knowledge.Produces && len(rec.To) > 0 && rec.To[0].Kind == "Secret"
			})
			if strings.Contains("."+id.Name+".", "."+n.ID.Name+".") || !writesSecrets &&
				(id.Name == n.ID.Name || strings.HasPrefix(id.Name, n.ID.Name+"-")) {
				return true
			}
		}
	}
	return false
}
