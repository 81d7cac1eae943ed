package object

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// TestSharing makes sure that equal manifests of different places are parsed, annotated and kept once, and
// keep their places.
func TestSharing(t *testing.T) {
	var s Sharing
	manifest := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata: {a: " + strings.Repeat("x", 100) + "}\n"
	}
	parse := func(file string) []Object {
		text := manifest("x") + "---\n" + manifest("third") + "---\n" + manifest("second") + "---\nitems: null\n---\n" +
			"apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSpace(strings.ReplaceAll(manifest("z"), "\n", "\n  ")) + "\n"
		objs, err := s.Parse(file, 1, text)
		if err != nil || len(objs) != 4 {
			t.Fatal(objs, err)
		}
		same, err := Parse(file, 1, text)
		for i, o := range objs {
			if o.ID != same[i].ID || o.Text() != same[i].Text() || o.File != file || o.Line != same[i].Line || err != nil {
				t.Errorf("%s of %s:%d differs from the one that Parse returns", o.ID, o.File, o.Line)
			}
			from, at := uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(unsafe.Pointer(unsafe.StringData(o.doc.text)))
			if from <= at && at < from+uintptr(len(text)) {
				t.Errorf("%s keeps the text of its file", o.ID)
			}
		}
		return objs
	}
	annotated := func(o Object, value string) Object {
		o, err := o.Annotate("a", value)
		if got, _ := o.Annotation("a"); err != nil || got != value {
			t.Fatal(got, err)
		}
		return o
	}
	first, second := parse("a"), parse("b")
	first = append(first, annotated(first[0], "1"), annotated(first[1], "1"), annotated(first[2], "1"),
		annotated(annotated(first[0], "1"), "2"))
	second = append(second, annotated(second[0], "1"), annotated(second[1], "1"), annotated(second[2], "2"),
		annotated(annotated(second[0], "1"), "2"))
	for i, shared := range []bool{true, true, true, true, true, true, false, true} {
		if is := second[i].doc == first[i].doc; is != shared {
			t.Errorf("%d: %s is shared: %v, want %v", i, second[i].ID, is, shared)
		}
		if second[i].File != "b" {
			t.Errorf("%s has the place of its equal", second[i].ID)
		}
	}
	if len(s.parsed) != 4 {
		t.Errorf("%d documents are kept, want 4", len(s.parsed))
	}
}

// TestSharingOfParts makes sure that manifests have the nodes in common that say the same at the same lines.
func TestSharingOfParts(t *testing.T) {
	var s Sharing
	text := func(name, rest string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  labels: {a: b}\nspec:\n  containers: [{name: a, image: b}]\n" + rest
	}
	const nodes, changed = 22, 3 // the root, metadata and the name
	for _, tt := range []struct {
		text string
		new  int
	}{
		{text("x", ""), nodes},
		{text("x", ""), 0},
		{text("z", ""), changed},
		{"# \n" + text("x", ""), nodes},             // at other lines
		{text("x", "  a: &a {b: c}\n  d: *a\n"), 4}, // the two keys, and what is in the mapping,
	} {
		before := len(s.nodes.all)
		objs, err := s.Parse("a", 1, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		same, err := Parse("a", 1, tt.text)
		if err != nil || !reflect.DeepEqual(objs[0].Root(), same[0].Root()) {
			t.Errorf("%q: got other nodes than without sharing: %v", tt.text, err)
		}
		if got := len(s.nodes.all) - before; got != tt.new {
			t.Errorf("%q: %d nodes are kept, want %d", tt.text, got, tt.new)
		}
	}
}

// TestSharingOfEdits makes sure that equal manifests that were edited after they were parsed are kept once.
func TestSharingOfEdits(t *testing.T) {
	var s Sharing
	edited := func(file, data string) []Object {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: " + file + "}\ndata: {a: " + data + "}\n"
		objs, err := s.Parse(file, 1, text)
		if err != nil {
			t.Fatal(err)
		}
		o, err := objs[0].Without([]string{"metadata", "namespace"})
		if err != nil {
			t.Fatal(err)
		}
		objs[0] = o
		s.Share(objs)
		return objs
	}
	a, b, other := edited("a", "x"), edited("b", "x"), edited("c", "y")
	if a[0].doc != b[0].doc || a[0].doc == other[0].doc || b[0].File != "b" {
		t.Error("equal edits are not one document, or different ones are")
	}
}
