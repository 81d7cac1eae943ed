package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// conventionFacts is what the fields of custom resources show by conventional keys and
// structures, or by their descriptions in the CRD.
type conventionFacts struct {
	mentions []Mention
	// unmet are mentions of objects that no component contains or writes.
	unmet []Mention
	// likely are nodes that probably write an object.
	likely map[object.ID][]int
}

// Conventions returns the fields of custom resources that name other objects by
// convention. A record of the kind for the same field takes precedence, since it also says
// what an operator writes. Each pair of nodes occurs once.
func (f *Facts) Conventions() []Mention { return f.conventions().mentions }

// UnmetConventions returns the fields that by convention name an object which no component
// contains or writes.
func (f *Facts) UnmetConventions() []Mention { return f.conventions().unmet }

// LikelyProducers returns the nodes that by convention write an object.
func (f *Facts) LikelyProducers(id object.ID) []int { return f.conventions().likely[id] }

func (f *Facts) conventions() *conventionFacts {
	if !f.conventional.known {
		r := conventionReader{Facts: f, records: f.Base.Conventions(), covered: f.fields().covered, seen: map[[2]int]bool{},
			conventionFacts: conventionFacts{likely: map[object.ID][]int{}}}
		r.readAll()
		f.conventional.get(func() conventionFacts { return r.conventionFacts })
	}
	return &f.conventional.value
}

// conventionReader reads the fields of custom resources.
type conventionReader struct {
	*Facts
	records []knowledge.Convention
	covered map[nodeField]bool
	seen    map[[2]int]bool // pairs of mentions
	// found are the names in the fields. They are resolved when all are known, since one
	// object may read what another one writes.
	found []Mention
	conventionFacts
}

func (r *conventionReader) readAll() {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if r.Base.Builtin(n.ID.Group) {
			continue
		}
		t := r.schemaOf(n)
		for _, field := range n.Root().Fields() {
			switch field.Key {
			case "apiVersion", "kind", "metadata", "status":
				continue
			}
			r.visit(i, field.Value, position{field.Key, field.Key, t.child(field.Key)})
		}
	}
	for _, m := range r.found {
		targets := slices.Clone(m.Targets) // they may be a part of the index
		if m.Record.To != nil {
			targets = slices.Concat(targets, r.Producers(m.ID), r.likely[m.ID])
		}
		if len(targets) == 0 && len(m.Record.To) > 0 && !m.Optional {
			r.unmet = append(r.unmet, m)
		}
		m.Targets = nil
		for _, to := range targets {
			if pair := [2]int{m.From, to}; to != m.From && !r.seen[pair] {
				r.seen[pair] = true
				m.Targets = append(m.Targets, to)
			}
		}
		if len(m.Targets) > 0 {
			r.mentions = append(r.mentions, m)
		}
	}
}

// position is the location of a value in a custom resource, with the schema of its
// field.
type position struct {
	field, key string
	schema     *fieldSchema
}

// visit visits the values below a field of a custom resource.
func (r *conventionReader) visit(i int, v object.Value, at position) {
	if !r.covered[nodeField{i, at.field}] {
		r.readKeyOrWords(i, v, at)
	}
	if v.IsMap() {
		r.readObjectReference(i, v, at)
	}
	for _, field := range v.Fields() {
		r.visit(i, field.Value, position{knowledge.Join(at.field, field.Key), field.Key, at.schema.child(field.Key)})
	}
	for n, item := range v.Items() {
		r.visit(i, item, position{at.field + "[" + strconv.Itoa(n) + "]", "", at.schema.child("")})
	}
}

// readKeyOrWords interprets a field by its key or, failing that, by its description.
func (r *conventionReader) readKeyOrWords(i int, v object.Value, at position) {
	match := slices.IndexFunc(r.records, func(c knowledge.Convention) bool { return c.Fits(at.key) })
	if match >= 0 {
		r.follow(i, r.records[match], v, at)
		return
	}
	if at.schema == nil {
		return // a record covers the field
	}
	r.readSiblingKey(i, v, at)
	if c, ok := r.describedConvention(v, at.schema); ok {
		r.follow(i, c, v, at)
	}
}

// follow reads the names in a value according to a convention.
func (r *conventionReader) follow(i int, c knowledge.Convention, v object.Value, at position) {
	rec := &knowledge.Reference{To: c.To, Name: c.Name, Meaning: c.Meaning, Inferred: true, Why: c.Why, Source: c.Source}
	for _, item := range itemsOf(v) {
		if item.IsMap() == (c.Name == "") {
			continue
		}
		m, ok := readName(rec, knowledge.Found{Value: item, Field: at.field})
		if !ok {
			continue
		}
		id := r.identify(i, m)
		if c.Meaning == knowledge.Produces || len(r.byKey[id]) == 0 && r.isWritten(c, at.schema) {
			if len(r.byKey[id]) == 0 && !slices.Contains(r.likely[id], i) {
				r.likely[id] = append(r.likely[id], i)
			}
			continue
		}
		r.found = append(r.found, Mention{From: i, Field: m.field, Record: rec, ID: id, Targets: r.resolve(id, rec), Optional: m.optional})
	}
}

// itemsOf returns the elements of a list, and otherwise the value itself.
func itemsOf(v object.Value) []object.Value {
	if v.IsList() {
		return v.Items()
	}
	return []object.Value{v}
}

// refer adds a mention of nodes that no convention describes further.
func (r *conventionReader) refer(i int, field string, to ...int) {
	rec := &knowledge.Reference{Inferred: true, Why: "refers to", Source: r.Base.NamesSource()}
	r.found = append(r.found, Mention{From: i, Field: field, Record: rec, Targets: to})
}

// readObjectReference interprets a mapping with kind and name as an object reference of
// the Kubernetes API.
func (r *conventionReader) readObjectReference(i int, v object.Value, at position) {
	name := v.Get("name")
	kind := v.Get("kind").Text()
	if !name.IsText() || name.Text() == "" {
		return
	}
	if kind == "" && at.schema != nil && r.isNamed(v) {
		kind = at.schema.soleValue("kind")
	}
	if kind == "" {
		return
	}
	id := object.ID{Group: "*", Kind: kind, Name: name.Text(), Namespace: v.Get("namespace").Text()}
	if group, written := writtenGroup(v); written {
		id.Group = group
	}
	if id.Namespace == "" {
		id.Namespace = r.Nodes[i].Key.Namespace
	}
	if nodes := r.Match(id); len(nodes) == 1 { // otherwise it is ambiguous
		r.refer(i, at.field, nodes[0])
	}
}

// readSiblingKey interprets a key that is named after another kind of the same group in
// the component, such as clusterRef.
func (r *conventionReader) readSiblingKey(i int, v object.Value, at position) {
	stem, ok := r.Base.Sibling(at.key)
	if !ok {
		return
	}
	var kinds []knowledge.GroupKind
	for _, kind := range r.kindRanges {
		gk := r.KindOf(kind)
		if gk.Group == r.Nodes[i].ID.Group && strings.HasSuffix(strings.ToLower(gk.Kind), strings.ToLower(stem)) {
			kinds = append(kinds, gk)
		}
	}
	for _, item := range itemsOf(v) {
		for _, gk := range kinds {
			rec := &knowledge.Reference{To: knowledge.Targets{gk}, Name: "name"}
			m, ok := readName(rec, knowledge.Found{Value: item, Field: at.field})
			if !ok || m.gk != gk || item.IsMap() && item.Get("kind").Exists() {
				continue
			}
			if nodes := r.resolve(r.identify(i, m), rec); len(nodes) > 0 {
				r.refer(i, at.field, nodes...)
			}
		}
	}
}
