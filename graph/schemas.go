package graph

import (
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// learnable is a version of a kind without a record.
type learnable struct {
	knowledge.GroupKind
	version string
}

// learn: of a kind without a record is known what the object says that defines it.
func (b *builder) learn() {
	learned := map[learnable]*knowledge.Kind{}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		l := b.learnable(n)
		def, defined := b.defined[l.GroupKind]
		if !defined {
			continue
		}
		if learned[l] == nil {
			learned[l] = n.Kind
			if _, known := b.base.Kind(l.Group, l.Kind); !known {
				kind := b.learnt(*n.Kind, def, l.version)
				learned[l] = &kind
			}
		}
		n.Kind = learned[l]
	}
}

func (b *builder) learnable(n *Node) learnable {
	_, version, _ := strings.Cut(n.APIVersion, "/")
	return learnable{knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}, version}
}

// learnt lays over a guess what a definition says of a kind.
func (b *builder) learnt(kind knowledge.Kind, def definition, version string) knowledge.Kind {
	kind = def.by.Objects.Over(kind)
	if kind.Sees != nil {
		return kind
	}
	by := &b.Nodes[def.node]
	for _, versions := range def.by.Versions.Find(by.Root()) {
		for _, v := range versions.Value.Items() {
			if v.Get("name").Text() == version {
				kind.Sees = b.base.SeesOf(v, func() object.Schema { return by.Schema(versions.Value, version) }, version+" schema of "+by.ID.String())
			}
		}
	}
	return kind
}

// told is what the definition of a kind tells of a field. It is read when somebody
// asks, since schemas are large and few of their fields count. Of a kind with a record
// it is nil.
type told struct {
	schema func() object.Schema
	below  map[string]*told
}

// toldOf is what the definition of a node's kind tells of its fields; nothing if there
// is no definition, and nil if the kind has a record.
func (b *builder) toldOf(n *Node) *told {
	l := b.learnable(n)
	if t, known := b.toldAbout[l]; known {
		return t
	}
	if b.toldAbout == nil {
		b.toldAbout = map[learnable]*told{}
	}
	b.toldAbout[l] = nil
	if _, known := b.base.Kind(l.Group, l.Kind); known {
		return nil
	}
	b.toldAbout[l] = &told{schema: func() object.Schema { return object.Schema{} }}
	def, defined := b.defined[l.GroupKind]
	if !defined {
		return b.toldAbout[l]
	}
	by := &b.Nodes[def.node]
	for _, versions := range def.by.Versions.Find(by.Root()) {
		b.toldAbout[l] = &told{schema: sync.OnceValue(func() object.Schema { return by.Schema(versions.Value, l.version) })}
	}
	return b.toldAbout[l]
}

// under is what is told of the values below a key of a mapping; of the elements of a
// list for an empty key.
func (t *told) under(key string) *told {
	if t == nil {
		return nil
	}
	if at, known := t.below[key]; known {
		return at
	}
	if t.below == nil {
		t.below = map[string]*told{}
	}
	t.below[key] = &told{schema: sync.OnceValue(func() object.Schema { return below(t.schema(), key) })}
	return t.below[key]
}

func below(schema object.Schema, key string) object.Schema {
	if key == "" {
		return schema.Get("items")
	}
	if at := schema.Get("properties", key); at.Exists() {
		return at
	}
	return schema.Get("additionalProperties")
}

// description is what the definition says of a field in words.
func (t *told) description() string {
	if t == nil {
		return ""
	}
	return t.schema().Get("description").Text()
}

// only is the value of a key that a field has, if there is but one, or it is set by
// default.
func (t *told) only(key string) string {
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

// asDescribed is the convention by which a field names an object, as its description
// in the definition says.
func (b *builder) asDescribed(v object.Value, t *told) (knowledge.Convention, bool) {
	if t == nil || !b.isNamed(v) {
		return knowledge.Convention{}, false
	}
	c, ok := b.base.Described(t.description())
	if !ok && v.IsMap() {
		c, ok = b.base.Described(t.under("name").description())
	}
	if !ok && v.IsMap() {
		c, ok = b.base.Described(t.under("key").description())
	}
	if v.IsMap() {
		c.Name = "name"
	}
	return c, ok
}

// isNamed reports whether a value is a name that anything in the component has or
// reads, or a mapping with one. Of others no schema need be read.
func (b *builder) isNamed(v object.Value) bool {
	if b.names == nil {
		b.names = map[string]bool{}
		for i := range b.Nodes {
			b.names[b.Nodes[i].ID.Name] = true
		}
		for _, r := range b.reads {
			b.names[r.id.Name] = true
		}
		for id := range b.producers {
			b.names[id.Name] = true
		}
	}
	return v.IsText() && b.names[v.Text()] || b.names[v.Get("name").Text()]
}

// isWritten reports whether the definition says that the operator makes what a field
// names.
func (b *builder) isWritten(c knowledge.Convention, t *told) bool {
	return t != nil &&
		(b.base.IsWritten(t.description()) || c.Name != "" && b.base.IsWritten(t.under(c.Name).description()))
}

// sibling follows a key that is called like another kind of the same group, which the
// component defines: clusterRef.
func (b *builder) sibling(i int, v object.Value, at position) {
	stem, ok := b.base.Sibling(at.key)
	if !ok {
		return
	}
	var kinds []knowledge.GroupKind
	for _, kind := range b.runs {
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
					b.refer(b.inferred(i, to, at.field, knowledge.Exists, "refers to"))
				}
			}
		}
	}
}
