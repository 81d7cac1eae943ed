package input

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/object"
)

// TestMemory makes sure that the same text from the same place is decoded once,
// that errors and Secrets are not kept, and that what was not used for longest
// makes room.
func TestMemory(t *testing.T) {
	manifest := func(kind, name string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s}\n%s", kind, name, strings.Repeat("#\n", 100))
	}
	m := NewMemory(1200) // three texts
	parse := func(file, text string) []object.Object {
		t.Helper()
		objs, err := m.Parse(file, 1, text)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := object.Parse(file, 1, text)
		if err != nil || len(objs) != len(fresh) || objs[0].ID != fresh[0].ID || objs[0].File != file || objs[0].Text() != fresh[0].Text() {
			t.Errorf("got %v, want %v", objs, fresh)
		}
		return objs
	}
	kept := func(file, text string) bool {
		return slices.Contains(m.documents.all.Keys(), document{file, 1, text})
	}
	a, b, c, d := manifest("ConfigMap", "a"), manifest("ConfigMap", "b"), manifest("ConfigMap", "c"), manifest("ConfigMap", "d")
	for _, text := range []string{a, b, c, a, d} {
		parse("x", text)
	}
	if !kept("x", a) || kept("x", b) || !kept("x", c) || !kept("x", d) {
		t.Error("not the one that was not used for longest made room")
	}
	parse("y", a)
	if !kept("y", a) {
		t.Error("the same text of another file is the same document")
	}
	secret := manifest("Secret", "s")
	parse("x", secret)
	if kept("x", secret) {
		t.Error("a Secret is kept")
	}
	if _, err := m.Parse("x", 1, "a: ["); err == nil || kept("x", "a: [") {
		t.Errorf("an error is kept, or there is none: %v", err)
	}
	if size, _ := m.documents.all.Size(); size > 900 {
		t.Errorf("%d bytes are kept, more than three quarters of 1200", size)
	}
}

// TestMemoryOfWarnings makes sure that only files without warnings are kept, each as the file that it is.
func TestMemoryOfWarnings(t *testing.T) {
	m := NewMemory(1 << 20)
	twice, once := []byte("a: 1\na: 2\n"), []byte("a: 1\n")
	for range 2 {
		for _, file := range []string{"x.yaml", "y.yaml"} {
			if got := m.FileWarnings(file, twice); len(got) != 1 || got[0].File != file {
				t.Errorf("%s: got %v", file, got)
			}
			if got := m.FileWarnings(file, once); got != nil {
				t.Errorf("%s: got %v", file, got)
			}
		}
	}
	if _, kept := m.warnings.all.Size(); kept != 2 {
		t.Errorf("%d files are kept, want 2", kept)
	}
}
