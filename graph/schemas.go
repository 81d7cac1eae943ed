package graph

import (
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// kindVersion is a version of a kind without a record.
type kindVersion struct {
	knowledge.GroupKind
	version string
}

// addSchemas adds to kinds without a record what their CRDs show.
func (b *builder) addSchemas() {
	kinds := map[kindVersion]*knowledge.Kind{}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		l := b.kindVersion(n)
		def, defined := b.defined[l.GroupKind]
		if !defined {
			continue
		}
		if kinds[l] == nil {
			kinds[l] = n.Kind
			if _, known := b.base.Kind(l.Group, l.Kind); !known {
				kind := b.mergeSchema(*n.Kind, def, l.version)
				kinds[l] = &kind
			}
		}
		n.Kind = kinds[l]
	}
}

func (b *builder) kindVersion(n *Node) kindVersion {
	_, version, _ := strings.Cut(n.APIVersion, "/")
	return kindVersion{knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}, version}
}

// mergeSchema adds the content of a CRD to the default record of a kind.
func (b *builder) mergeSchema(kind knowledge.Kind, def definedKind, version string) knowledge.Kind {
	kind = def.by.Objects.OverrideGuess(kind)
	if kind.Status != nil {
		return kind
	}
	by := &b.Nodes[def.node]
	for _, versions := range def.by.Versions.Find(by.Root()) {
		for _, v := range versions.Value.Items() {
			if v.Get("name").Text() == version {
				kind.Status = b.base.StatusOf(v, func() object.Schema { return by.Schema(versions.Value, version) }, version+" schema of "+by.ID.String())
			}
		}
	}
	return kind
}

// fieldSchema is the schema of a field in the CRD. It is read on demand, since schemas are
// large and few fields are relevant. It is nil for kinds with a record.
type fieldSchema struct {
	schema   func() object.Schema
	children map[string]*fieldSchema
}

// schemaOf returns the schema of a node's kind: empty without a CRD, nil for kinds
// with a record.
func (b *builder) schemaOf(n *Node) *fieldSchema {
	l := b.kindVersion(n)
	if t, known := b.schemas[l]; known {
		return t
	}
	b.schemas[l] = nil
	if _, known := b.base.Kind(l.Group, l.Kind); known {
		return nil
	}
	b.schemas[l] = &fieldSchema{schema: func() object.Schema { return object.Schema{} }}
	def, defined := b.defined[l.GroupKind]
	if !defined {
		return b.schemas[l]
	}
	by := &b.Nodes[def.node]
	for _, versions := range def.by.Versions.Find(by.Root()) {
		b.schemas[l] = &fieldSchema{schema: sync.OnceValue(func() object.Schema { return by.Schema(versions.Value, l.version) })}
	}
	return b.schemas[l]
}

// child returns the schema of the values below a key of a mapping or, for an empty
// key, of the elements of a list.
func (t *fieldSchema) child(key string) *fieldSchema {
	if t == nil {
		return nil
	}
	if at, known := t.children[key]; known {
		return at
	}
	if t.children == nil {
		t.children = map[string]*fieldSchema{}
	}
	t.children[key] = &fieldSchema{schema: sync.OnceValue(func() object.Schema { return schemaBelow(t.schema(), key) })}
	return t.children[key]
}

func schemaBelow(schema object.Schema, key string) object.Schema {
	if key == "" {
		return schema.Get("items")
	}
	if at := schema.Get("properties", key); at.Exists() {
		return at
	}
	return schema.Get("additionalProperties")
}

// description returns the description of a field in the CRD.
func (t *fieldSchema) description() string {
	if t == nil {
		return ""
	}
	return t.schema().Get("description").Text()
}

// soleValue returns the value of a key if the schema allows only one, or sets it as the
// default.
func (t *fieldSchema) soleValue(key string) string {
	if t == nil {
		return ""
	}
	at := t.schema().Get("properties", key)
	if value := at.Get("default").Text(); value != "" {
		return value
	}
	if values := at.Get("enum").Items(); len(values) == 1 {
		return values[0].Text()
	}
	return ""
}

// describedConvention returns the convention by which a field names an object, according to
// its description in the CRD.
func (b *builder) describedConvention(v object.Value, t *fieldSchema) (knowledge.Convention, bool) {
	if t == nil || !b.isNamed(v) {
		return knowledge.Convention{}, false
	}
	c, ok := b.base.ConventionFor(t.description())
	if !ok && v.IsMap() {
		c, ok = b.base.ConventionFor(t.child("name").description())
	}
	if !ok && v.IsMap() {
		c, ok = b.base.ConventionFor(t.child("key").description())
	}
	if v.IsMap() {
		c.Name = "name"
	}
	return c, ok
}

// isNamed reports whether a value is, or contains, a name that occurs in the
// component. For others the schema need not be read.
func (b *builder) isNamed(v object.Value) bool {
	fill := func(all index[string, bool]) {
		for i := range b.Nodes {
			all[b.Nodes[i].ID.Name] = true
		}
		for _, r := range b.reads {
			all[r.id.Name] = true
		}
		for id := range b.producers {
			all[id.Name] = true
		}
	}
	return v.IsText() && b.names.at(v.Text(), fill) || b.names.at(v.Get("name").Text(), fill)
}

// isWritten reports whether the operator creates the object that a field names,
// according to the CRD.
func (b *builder) isWritten(c knowledge.Convention, t *fieldSchema) bool {
	return t != nil &&
		(b.base.IsWritten(t.description()) || c.Name != "" && b.base.IsWritten(t.child(c.Name).description()))
}

// referBySiblingKey interprets a key that is named after another kind of the same group in
// the component, such as clusterRef.
func (b *builder) referBySiblingKey(i int, v object.Value, at position) {
	stem, ok := b.base.Sibling(at.key)
	if !ok {
		return
	}
	var kinds []knowledge.GroupKind
	for _, kind := range b.kindRanges {
		gk := knowledge.GroupKind{Group: kind.group, Kind: b.Nodes[kind.from].ID.Kind}
		if gk.Group == b.Nodes[i].ID.Group && strings.HasSuffix(strings.ToLower(gk.Kind), strings.ToLower(stem)) {
			kinds = append(kinds, gk)
		}
	}
	values := []object.Value{v}
	if v.IsList() {
		values = v.Items()
	}
	for _, item := range values {
		for _, gk := range kinds {
			rec := knowledge.Reference{To: knowledge.Targets{gk}, Name: "name"}
			m, ok := readMention(rec, knowledge.Found{Value: item, Field: at.field})
			if !ok || m.gk != gk || item.IsMap() && item.Get("kind").Exists() {
				continue
			}
			for _, to := range b.resolve(b.identify(i, m), rec) {
				if to != i && !b.refersTo(i, to) && !b.refersTo(to, i) {
					b.refer(b.inferredReference(i, to, at.field, knowledge.Exists, "refers to"))
				}
			}
		}
	}
}
