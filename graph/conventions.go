package graph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referByConventions: custom resources name other objects by keys and shapes that the
// whole field shares. What is found so is inferred; a record of the kind about
// the same field wins, since it also knows what an operator writes.
func (b *builder) referByConventions() {
	records := b.base.Conventions()
	for i, n := range b.Nodes {
		if b.base.Builtin(n.ID.Group) {
			continue
		}
		t := b.toldOf(&n)
		for _, f := range n.Root().Fields() {
			switch f.Key {
			case "apiVersion", "kind", "metadata", "status":
				continue
			}
			b.byConvention(i, f.Value, position{f.Key, f.Key, t.under(f.Key)}, records)
		}
	}
}

// position is where a value stands in a custom resource, and what the definition of
// the kind tells of it.
type position struct {
	field, key string
	told       *told
}

// byConvention visits the values below a field of a custom resource.
func (b *builder) byConvention(i int, v object.Value, at position, records []knowledge.Convention) {
	if !b.covered[covered{i, at.field}] {
		b.byKeyOrWords(i, v, at, records)
	}
	if v.IsMap() {
		b.objectReference(i, v, at)
	}
	for _, f := range v.Fields() {
		b.byConvention(i, f.Value, position{knowledge.Join(at.field, f.Key), f.Key, at.told.under(f.Key)}, records)
	}
	for n, item := range v.Items() {
		b.byConvention(i, item, position{at.field + "[" + strconv.Itoa(n) + "]", "", at.told.under("")}, records)
	}
}

// byKeyOrWords follows a field by its key or, failing that, by what its description says.
func (b *builder) byKeyOrWords(i int, v object.Value, at position, records []knowledge.Convention) {
	fits := slices.IndexFunc(records, func(c knowledge.Convention) bool { return c.Fits(at.key) })
	if fits >= 0 {
		b.follow(i, records[fits], v, at)
		return
	}
	if at.told == nil {
		return // a record says what its fields name
	}
	b.sibling(i, v, at)
	if c, ok := b.asDescribed(v, at.told); ok {
		b.follow(i, c, v, at)
	}
}

// follow reads the names that a convention finds in a value.
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
		if c.Meaning == knowledge.Produces || len(b.byKey[id]) == 0 && b.isWritten(c, at.told) {
			b.mayProduce(i, id)
			continue
		}
		r := b.inferred(i, 0, m.field, c.Meaning, c.Why)
		r.Source, r.Optional = c.Source, m.optional
		for _, to := range slices.Concat(b.resolve(id, rec), b.producers[id], b.likely[id]) {
			if !b.refersTo(i, to) && !b.refersTo(to, i) {
				r.To = to
				b.refer(r)
			}
		}
	}
}

// mayProduce notes that by convention a custom resource writes an object.
func (b *builder) mayProduce(i int, id object.ID) {
	if len(b.byKey[id]) > 0 || slices.Contains(b.likely[id], i) {
		return
	}
	if b.likely == nil {
		b.likely = map[object.ID][]int{}
	}
	b.likely[id] = append(b.likely[id], i)
}

// objectReference follows a mapping that names kind and name, as references in
// the Kubernetes API do.
func (b *builder) objectReference(i int, v object.Value, at position) {
	name := v.Get("name")
	kind := v.Get("kind").Text()
	if !name.IsText() || name.Text() == "" {
		return
	}
	if kind == "" && at.told != nil && b.isNamed(v) {
		kind = at.told.only("kind")
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
	nodes := b.like(id)
	if len(nodes) != 1 || nodes[0] == i || b.refersTo(i, nodes[0]) || b.refersTo(nodes[0], i) {
		return // or what is meant is not certain
	}
	b.refer(b.inferred(i, nodes[0], at.field, knowledge.Exists, "refers to"))
}

// covered is a field of a node that a record of its kind is about.
type covered struct {
	node  int
	field string
}

// cover marks a field and what it stands in, such as a list. Only custom
// resources are looked at again.
func (b *builder) cover(node int, field string) {
	if b.base.Builtin(b.Nodes[node].ID.Group) {
		return
	}
	b.covered[covered{node, field}] = true
	if end := strings.LastIndexAny(field, ".["); end > 0 {
		b.covered[covered{node, field[:end]}] = true
	}
}

// inferred is a reference that no record tells.
func (b *builder) inferred(from, to int, field string, meaning knowledge.Meaning, why string) Reference {
	return Reference{From: from, To: to, Field: field, Meaning: meaning, Inferred: true, Why: why, Source: b.base.NamesSource()}
}

// calling is a reference to what an object calls.
func (b *builder) calling(from, to int, field string, meaning knowledge.Meaning) Reference {
	r := b.inferred(from, to, field, meaning, "calls")
	r.Sign = Call
	return r
}
