// Package object represents a Kubernetes manifest: its identity, its text, and
// access to its content.
//
// Manifests are not decoded to maps, because Ladder promises to change nothing but
// annotations. Comments, key order, quoting and block scalars belong to the
// author, and decoding would lose them. So an Object is the rendered text with a
// read-only view of it, and a change is an edit at the right place in the text (see
// Annotate).
//
// The package is pure: text in, values out.
package object

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

// ID identifies an object in a cluster. It does not contain the version: apps/v1
// and apps/v1beta1 refer to the same Deployment.
type ID struct {
	Group, Kind, Namespace, Name string
}

// String returns the identity in the form "Deployment shop/web". It leaves out the
// group, which Qualified includes, and replaces invalid kinds.
func (id ID) String() string { return displayKind(id.Kind) + " " + id.named() }

// IsZero reports whether the ID is empty.
func (id ID) IsZero() bool { return id == ID{} }

func (id ID) named() string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}

// GroupKind returns the kind in kubectl's form: "Certificate.cert-manager.io", or
// only the kind in the core group.
func (id ID) GroupKind() string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}

// Qualified returns an unambiguous form of the identity.
func (id ID) Qualified() string {
	return id.GroupKind() + " " + id.named()
}

// Object is a rendered manifest. It is immutable and safe for concurrent use.
type Object struct {
	// ID is the identity in the manifest. Namespace is empty if the manifest leaves
	// it to the destination of the Application. With generateName, the name is that
	// prefix followed by "*".
	ID ID
	// APIVersion is the apiVersion field, such as "apps/v1".
	APIVersion string
	// File is the file that contains the manifest, relative to the repository, or the
	// template that rendered it; empty if unknown.
	File string
	// Line is the line in File at which the document starts, counted from 1; 0 for
	// the output of a template.
	Line int
	// Generated means that metadata.generateName is set instead of a name.
	Generated bool

	doc *document
	// comment is output before the text of doc, and is not part of it.
	comment string
}

// document is the text of a manifest and its parsed form. After an edit it is only
// parsed on demand, because most edits are the last step.
type document struct {
	// text is the text; of a text that is source with splices, only after content made it, because some
	// commands never print it.
	text     string
	source   *document
	splices  []textedit.Splice
	textOnce sync.Once
	once     sync.Once
	root     *yaml.Node
	// For annotated text, before is the previous parsed form and added the new
	// annotations, from which view is built without parsing. It is equivalent to
	// root, with the lines and columns of before.
	before   *yaml.Node
	added    []Annotation
	viewOnce sync.Once
	view     *yaml.Node
	// edits are set if several objects may share the document.
	edits *edits
	// plain and basic are what IsPlain and IsBasic return.
	plainOnce, basicOnce sync.Once
	plain, basic         bool
}

func (d *document) content() string {
	d.textOnce.Do(func() {
		if d.source != nil {
			d.text = textedit.Apply(d.source.content(), d.splices...)
		}
	})
	return d.text
}

// start returns a text that begins with the first line of content.
func (d *document) start() string {
	if d.source == nil {
		return d.text
	}
	start := d.source.start()
	line := strings.IndexByte(start, '\n')
	if slices.ContainsFunc(d.splices, func(s textedit.Splice) bool { return s.From <= line }) {
		return d.content()
	}
	return start
}

func (d *document) node() *yaml.Node {
	d.once.Do(func() {
		if d.root == nil {
			// The text is an edit of a text that was parsed, and tests prove that
			// edits keep it valid. Otherwise the view would be empty.
			d.root, _ = parseText(d.content())
		}
	})
	return d.root
}

// Text returns the manifest without "---", with a newline at the end.
func (o Object) Text() string { return o.comment + o.doc.content() }

// Parts returns the comment before the manifest, if any, and the manifest. Together they are
// Text, without copying it.
func (o Object) Parts() (comment, manifest string) { return o.comment, o.doc.content() }

// FirstLine returns the first line of Text, without the line break. It does not make the whole text.
func (o Object) FirstLine() string {
	text := o.comment
	if text == "" {
		text = o.doc.start()
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Same reports whether two manifests have the same content, regardless of layout.
func (o Object) Same(other Object) bool {
	if o.Text() == other.Text() {
		return true
	}
	var x, y any
	return yaml.Unmarshal([]byte(o.Text()), &x) == nil && yaml.Unmarshal([]byte(other.Text()), &y) == nil && reflect.DeepEqual(x, y)
}

// Place returns the file of the object, with its line if that is known.
func (o Object) Place() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// WithComment returns the object with a comment line before its text. Line numbers in
// messages do not count it.
func (o Object) WithComment(line string) Object {
	o.comment = line + "\n"
	return o
}

// Root returns the content of the manifest. For a CRD it does not contain the
// validation schemas (see Parse).
func (o Object) Root() Value {
	d := o.doc
	if d.before == nil {
		return Value{d.node()}
	}
	d.viewOnce.Do(func() { d.view = annotatedView(d.before, d.added) })
	return Value{d.view}
}

// Get follows keys from the root of the manifest.
func (o Object) Get(path ...string) Value { return o.Root().Get(path...) }

// Annotation returns the value of an annotation and whether it exists.
func (o Object) Annotation(key string) (string, bool) {
	v := o.Get("metadata", "annotations", key)
	return v.Text(), v.Exists()
}

// Label returns the value of a label, or "".
func (o Object) Label(key string) string {
	return o.Get("metadata", "labels", key).Text()
}
