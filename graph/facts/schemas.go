package facts

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
func (f *Facts) addSchemas() {
	kinds := map[kindVersion]*knowledge.Kind{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		l := f.kindVersion(n)
		def, defined := f.defined[l.GroupKind]
		if !defined {
			continue
		}
		if kinds[l] == nil {
			kinds[l] = n.Kind
			if _, known := f.Base.Kind(l.Group, l.Kind); !known {
				kind := f.mergeSchema(*n.Kind, def, l.version)
				kinds[l] = &kind
			}
		}
		n.Kind = kinds[l]
	}
}

func (f *Facts) kindVersion(n *Node) kindVersion {
	_, version, _ := strings.Cut(n.APIVersion, "/")
	return kindVersion{knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}, version}
}

// mergeSchema adds the content of a CRD to the default record of a kind.
func (f *Facts) mergeSchema(kind knowledge.Kind, def DefinedKind, version string) knowledge.Kind {
	kind = def.By.Objects.OverrideGuess(kind)
	if kind.Status != nil {
		return kind
	}
	by := &f.Nodes[def.Node]
	for _, versions := range def.By.Versions.Find(by.Root()) {
		for _, v := range versions.Value.Items() {
			if v.Get("name").Text() == version {
				kind.Status = f.Base.StatusOf(v, func() object.Schema { return by.Schema(versions.Value, version) },
					version+" schema of "+by.ID.String())
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
func (f *Facts) schemaOf(n *Node) *fieldSchema {
	l := f.kindVersion(n)
	if t, known := f.schemasByKind[l]; known {
		return t
	}
	f.schemasByKind[l] = nil
	if _, known := f.Base.Kind(l.Group, l.Kind); known {
		return nil
	}
	f.schemasByKind[l] = &fieldSchema{schema: func() object.Schema { return object.Schema{} }}
	def, defined := f.defined[l.GroupKind]
	if !defined {
		return f.schemasByKind[l]
	}
	by := &f.Nodes[def.Node]
	for _, versions := range def.By.Versions.Find(by.Root()) {
		f.schemasByKind[l] = &fieldSchema{schema: sync.OnceValue(func() object.Schema { return by.Schema(versions.Value, l.version) })}
	}
	return f.schemasByKind[l]
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
func (f *Facts) describedConvention(v object.Value, t *fieldSchema) (knowledge.Convention, bool) {
	if t == nil || !f.isNamed(v) {
		return knowledge.Convention{}, false
	}
	c, ok := f.Base.ConventionFor(t.description())
	if !ok && v.IsMap() {
		c, ok = f.Base.ConventionFor(t.child("name").description())
	}
	if !ok && v.IsMap() {
		c, ok = f.Base.ConventionFor(t.child("key").description())
	}
	if v.IsMap() {
		c.Name = "name"
	}
	return c, ok
}

// isNamed reports whether a value is, or contains, a name that occurs in the
// component. For others the schema need not be read.
func (f *Facts) isNamed(v object.Value) bool {
	fill := func(all index[string, bool]) {
		for i := range f.Nodes {
			all[f.Nodes[i].ID.Name] = true
		}
		for _, r := range f.Reads() {
			all[r.ID.Name] = true
		}
		for id := range f.products() {
			all[id.Name] = true
		}
	}
	return v.IsText() && f.names.at(v.Text(), fill) || f.names.at(v.Get("name").Text(), fill)
}

// isWritten reports whether the operator creates the object that a field names,
// according to the CRD.
func (f *Facts) isWritten(c knowledge.Convention, t *fieldSchema) bool {
	return t != nil &&
		(f.Base.IsWritten(t.description()) || c.Name != "" && f.Base.IsWritten(t.child(c.Name).description()))
}
