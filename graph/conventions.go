package graph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referByConventions adds references from custom resources that name other objects by
// conventional keys and structures. These references are inferred. A record of the
// kind for the same field takes precedence, since it also says what an operator
// writes.
func (b *builder) referByConventions() {
	records := b.base.Conventions()
	for i, n := range b.Nodes {
		if b.base.Builtin(n.ID.Group) {
			continue
		}
		t := b.schemaOf(&n)
		for _, f := range n.Root().Fields() {
			switch f.Key {
			case "apiVersion", "kind", "metadata", "status":
				continue
			}
			b.byConvention(i, f.Value, position{f.Key, f.Key, t.child(f.Key)}, records)
		}
	}
}

// position is the location of a value in a custom resource, with the schema of its
// field.
type position struct {
	field, key string
	schema     *fieldSchema
}

// byConvention visits the values below a field of a custom resource.
func (b *builder) byConvention(i int, v object.Value, at position, records []knowledge.Convention) {
	if !b.covered[nodeField{i, at.field}] {
		b.byKeyOrWords(i, v, at, records)
	}
	if v.IsMap() {
		b.objectReference(i, v, at)
	}
	for _, f := range v.Fields() {
		b.byConvention(i, f.Value, position{knowledge.Join(at.field, f.Key), f.Key, at.schema.child(f.Key)}, records)
	}
	for n, item := range v.Items() {
		b.byConvention(i, item, position{at.field + "[" + strconv.Itoa(n) + "]", "", at.schema.child("")}, records)
	}
}

// byKeyOrWords interprets a field by its key or, failing that, by its description.
func (b *builder) byKeyOrWords(i int, v object.Value, at position, records []knowledge.Convention) {
	match := slices.IndexFunc(records, func(c knowledge.Convention) bool { return c.Fits(at.key) })
	if match >= 0 {
		b.follow(i, records[match], v, at)
		return
	}
	if at.schema == nil {
		return // a record covers the field
	}
	b.referBySiblingKey(i, v, at)
	if c, ok := b.describedConvention(v, at.schema); ok {
		b.follow(i, c, v, at)
	}
}

// follow reads the names in a value according to a convention.
func (b *builder) follow(i int, c knowledge.Convention, v object.Value, at position) {
	values := []object.Value{v}
	if v.IsList() {
		values = v.Items()
	}
	rec := knowledge.Reference{To: c.To, Name: c.Name, Meaning: c.Meaning, Why: c.Why, Source: c.Source}
	for _, item := range values {
		if item.IsMap() == (c.Name == "") {
			continue
		}
		m, ok := readMention(rec, knowledge.Found{Value: item, Field: at.field})
		if !ok {
			continue
		}
		id := b.identify(i, m)
		if c.Meaning == knowledge.Produces || len(b.byKey[id]) == 0 && b.isWritten(c, at.schema) {
			b.addLikelyProducer(i, id)
			continue
		}
		r := b.inferredReference(i, 0, m.field, c.Meaning, c.Why)
		r.Source, r.Optional = c.Source, m.optional
		for _, to := range slices.Concat(b.resolve(id, rec), b.producers[id], b.likelyProducers[id]) {
			if !b.refersTo(i, to) && !b.refersTo(to, i) {
				r.To = to
				b.refer(r)
			}
		}
	}
}

// addLikelyProducer records that by convention a custom resource writes an object.
func (b *builder) addLikelyProducer(i int, id object.ID) {
	if len(b.byKey[id]) > 0 || slices.Contains(b.likelyProducers[id], i) {
		return
	}
	b.likelyProducers[id] = append(b.likelyProducers[id], i)
}

// objectReference interprets a mapping with kind and name as an object reference of
// the Kubernetes API.
func (b *builder) objectReference(i int, v object.Value, at position) {
	name := v.Get("name")
	kind := v.Get("kind").Text()
	if !name.IsText() || name.Text() == "" {
		return
	}
	if kind == "" && at.schema != nil && b.isNamed(v) {
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
		id.Namespace = b.Nodes[i].Key.Namespace
	}
	nodes := b.match(id)
	if len(nodes) != 1 || nodes[0] == i || b.refersTo(i, nodes[0]) || b.refersTo(nodes[0], i) {
		return // ambiguous
	}
	b.refer(b.inferredReference(i, nodes[0], at.field, knowledge.Exists, "refers to"))
}

// nodeField is a field of a node.
type nodeField struct {
	node  int
	field string
}

// cover marks a field and its parent, such as the list that contains it, as described
// by a record. It is needed for custom resources only, which referByConventions
// inspects again.
func (b *builder) cover(node int, field string) {
	if b.base.Builtin(b.Nodes[node].ID.Group) {
		return
	}
	b.covered[nodeField{node, field}] = true
	if end := strings.LastIndexAny(field, ".["); end > 0 {
		b.covered[nodeField{node, field[:end]}] = true
	}
}

// inferredReference returns a reference that is not based on a record.
func (b *builder) inferredReference(from, to int, field string, meaning knowledge.Meaning, why string) Reference {
	return Reference{From: from, To: to, Field: field, Meaning: meaning, Inferred: true, Why: why, Source: b.base.NamesSource()}
}

// callReference returns a reference to the target of a call.
func (b *builder) callReference(from, to int, field string, meaning knowledge.Meaning) Reference {
	r := b.inferredReference(from, to, field, meaning, "calls")
	r.Sign = Call
	return r
}
