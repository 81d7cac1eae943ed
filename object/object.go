// Package object knows what one Kubernetes manifest is: its identity, its
// text and what the text says.
//
// Why not simply decode into maps? Because Ladder promises that nothing but
// one annotation changes. Comments, key order, quoting and block scalars are
// the author's; a manifest that went through a map and back has lost them. So
// an Object is the rendered text plus a read-only view of it, and a change is
// an edit of the text at the right place (see Annotate).
//
// The package is pure: text in, values out.
package object

import (
	"reflect"
	"sync"

	yaml "go.yaml.in/yaml/v3"
)

// ID says which object of a cluster a manifest describes. It leaves out the
// version on purpose: apps/v1 and apps/v1beta1 name the same Deployment.
type ID struct {
	Group, Kind, Namespace, Name string
}

// String prints the identity the way people speak of it, "Deployment shop/web".
// The group is left out; Qualified has it.
// Nor is what cannot be a kind.
func (id ID) String() string { return shownKind(id.Kind) + " " + id.named() }

// IsZero reports whether it identifies nothing.
func (id ID) IsZero() bool { return id == ID{} }

func (id ID) named() string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}

// GroupKind returns "Certificate.cert-manager.io", or only the kind in the
// core group, as kubectl writes it.
func (id ID) GroupKind() string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}

// Qualified prints the identity so that no two objects print the same.
func (id ID) Qualified() string {
	return id.GroupKind() + " " + id.named()
}

// Object is one manifest as it was rendered. It is immutable and safe for use
// by several goroutines.
type Object struct {
	// ID holds what the manifest itself says: Namespace is empty where the
	// manifest leaves it to the destination of the Application. The name of
	// an object with generateName is that prefix followed by "*".
	ID ID
	// APIVersion is as written, "apps/v1".
	APIVersion string
	// File is the file it came from, relative to the repository, or the
	// template that produced it; empty when unknown.
	File string
	// Line is where the document starts in File, counted from 1; 0 when the
	// document was produced by a template.
	Line int
	// Generated is true when metadata.generateName stands in for a name.
	Generated bool

	doc *document
	// comment stands above the text of doc, which knows nothing of it.
	comment string
}

// document is the text of a manifest and its parsed form. Parsing again after
// an edit is put off until somebody looks, because most edits are the last
// thing that happens to a manifest.
type document struct {
	text string
	once sync.Once
	root *yaml.Node
	// Of a text that was annotated, before is what it was made from and added
	// what is new, from which view is made without parsing. It says the same as
	// root, with the lines and columns of before.
	before *yaml.Node
	added  []Annotation
	viewed sync.Once
	view   *yaml.Node
}

func (d *document) node() *yaml.Node {
	d.once.Do(func() {
		if d.root == nil {
			// The text was made by an edit of one that parsed, and tests
			// prove that edits keep it parsing; an empty view is all that
			// could be offered otherwise.
			d.root, _ = parseText(d.text)
		}
	})
	return d.root
}

// Text is the manifest without the "---" around it, ending in a newline.
func (o Object) Text() string { return o.comment + o.doc.text }

// Same reports whether two manifests have the same content, whatever their layout.
func (o Object) Same(other Object) bool {
	if o.Text() == other.Text() {
		return true
	}
	var x, y any
	return yaml.Unmarshal([]byte(o.Text()), &x) == nil && yaml.Unmarshal([]byte(other.Text()), &y) == nil && reflect.DeepEqual(x, y)
}

// Commented returns the object with a comment line above its text. Lines in
// messages are counted without it.
func (o Object) Commented(line string) Object {
	o.comment = line + "\n"
	return o
}

// Root gives access to what the manifest says. In a CustomResourceDefinition
// the validation schemas are left out (see Parse).
func (o Object) Root() Value {
	d := o.doc
	if d.before == nil {
		return Value{d.node()}
	}
	d.viewed.Do(func() { d.view = annotatedView(d.before, d.added) })
	return Value{d.view}
}

// Get follows keys from the root of the manifest.
func (o Object) Get(path ...string) Value { return o.Root().Get(path...) }

// Annotation returns the value of an annotation and whether it is there.
func (o Object) Annotation(key string) (string, bool) {
	v := o.Get("metadata", "annotations", key)
	return v.Text(), v.Exists()
}

// Label returns the value of a label, empty if it is not there.
func (o Object) Label(key string) string {
	return o.Get("metadata", "labels", key).Text()
}
