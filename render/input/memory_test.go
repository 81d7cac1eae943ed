package input

import (
	"fmt"
	"runtime/debug"
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

// TestMemoryWithSharing makes sure that equal texts are parsed once at all places, instead of once at each.
func TestMemoryWithSharing(t *testing.T) {
	m := NewMemory(1 << 20).Sharing(&object.Sharing{})
	text := "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
	var objs []object.Object
	for _, file := range []string{"x", "y"} {
		parsed, err := m.Parse(file, 1, text)
		if err != nil || parsed[0].File != file {
			t.Fatal(parsed, err)
		}
		objs = append(objs, parsed...)
	}
	if objs[0].Root() != objs[1].Root() || len(m.documents.all.Keys()) > 0 {
		t.Error("a text is parsed twice, or kept twice")
	}
}

// TestMemoryOfAliases does the same with all files of three of these pieces, which refer to each other,
// and makes sure that parts with aliases are kept.
func TestMemoryOfAliases(t *testing.T) {
	pieces := []string{
		"a: &x 1\n", "a: &x {c: 1}\n", "b: *x\n", "c: {<<: *x, d: 1}\n", "c: {*x : 1, *x : 2}\n", "c: {*x : 1, x: 2, x: 3}\n",
		"d:\n- &x {e: *x}\n- *x\n", "*x : 1\n", "<<: *x\n", "e: '*x\n", "f: \"*x\"\n", "# *x\n", "  *x\n", "- *x\n", "}\n",
		"---\n", "...\n", "%YAML 1.1\n", "? *x\n", ": *x\n", "\ufeffb: *x\n", "\ufeffb: 1\n", "b: 1\r\n",
		"sops: *x\n", "a: &x {mac: y}\n", "g: !!binary *x\n", "h: *x y\n", "i: |\n  *x\n", "",
	}
	// Next to nothing is kept, so that by default a quarter of the time goes to the garbage collector.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	m := NewMemory(1 << 20)
	for _, first := range pieces {
		for _, second := range pieces {
			for _, third := range pieces {
				text := first + second + third
				if got, want := m.FileWarnings("x.yaml", []byte(text)), fileWarnings("x.yaml", []byte(text)); !slices.Equal(got, want) {
					t.Errorf("%q: got %v, want %v", text, got, want)
				}
			}
		}
	}
	for _, part := range []string{"b: *x\n", "c: {<<: *x, d: 1}\n"} {
		if keyOfClean([]byte(part)) != part[:1] {
			t.Errorf("%q is not kept", part)
		}
	}
}

// TestMemoryOfWarnings makes sure that the memory knows of each file what the file says, and keeps
// only parts without warnings.
func TestMemoryOfWarnings(t *testing.T) {
	m := NewMemory(1 << 20)
	for _, text := range []string{
		"a: 1\na: 2\n", "a: 1\n", "a: 1\nb: 2\na: 3\n", "a: 1\n\"a\": 2\n", "1: a\n\"1\": b\n", "b:\n  c: 1\n  c: 2\n", "b:\n  c: 1\n",
		"sops:\n  mac: x\n", "a: 1\nsops: {mac: x}\n", "\"sops\":\n  mac: x\n",
		"a: 'x\nb: 1\n  '\nb: 1\nb: 2\n", "a: {\nb: 1,\nb: 2\n}\n", "a: |\n  b\nb: 1\n", "a: &x {b: 1}\nc: *x\nc: *x\n",
		"a: &x {sops: {mac: y}}\n<<: *x\n", "? a\n: 1\n? a\n: 2\n", "---\na: 1\n---\na: 2\n", "%YAML 1.2\n---\na: 1\na: 2\n",
		"- a: 1\n", "a", "a: b\nc\na: 1\n", "a:\n- b: 1\n  b: 2\n", "# c\na: 1\n# d\n\nb: 1\n", "{a: 1, a: 2}", "{a: 1}\n", "", "a: [\n",
		"a: >-\n\n\nb: 1\r\nb: 2\r\n",
	} {
		for range 2 {
			for _, file := range []string{"x.yaml", "y.yaml"} {
				if got, want := m.FileWarnings(file, []byte(text)), fileWarnings(file, []byte(text)); !slices.Equal(got, want) {
					t.Errorf("%s: %q: got %v, want %v", file, text, got, want)
				}
			}
		}
	}
	m = NewMemory(1 << 20)
	m.FileWarnings("x.yaml", []byte("a: 1\nb: {c: 1, c: 2}\n"+strings.Repeat("k", maxKeptKey+1)+": 1\n"))
	if _, kept := m.clean.all.Size(); kept != 1 {
		t.Errorf("%d parts are kept, want 1", kept)
	}
}
