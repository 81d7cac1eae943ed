package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
)

// TestInitAgreesWithTheSchema writes a component.yaml for every component and chart
// of the tests, and compares each with the schema, as it is and with the comments
// taken at their word.
func TestInitAgreesWithTheSchema(t *testing.T) {
	text, err := fleet.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("component.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("component.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, pattern := range []string{"components/*", "charts/*"} {
		dirs, err := filepath.Glob(filepath.Join("../../testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if !isDir(dir) {
				continue
			}
			var out, faults bytes.Buffer
			if code := run([]string{"init", dir, "--force", "--stdout"}, streams{Out: &out, Err: &faults}); code != exitOK {
				if !strings.Contains(faults.String(), "a library chart renders nothing") {
					t.Errorf("%s: %s", dir, faults.String())
				}
				continue
			}
			seen++
			said := strings.NewReplacer("# crds", "crds", "# namespace: ", "namespace: ", "# rolloutPhase: ", "rolloutPhase: ", "# values: ", "values: ").Replace(out.String())
			for _, text := range []string{out.String(), said} {
				var value any
				if err := yaml.Unmarshal([]byte(text), &value); err != nil {
					t.Fatalf("%s: %v in\n%s", dir, err, text)
				}
				if err := schema.Validate(value); err != nil {
					t.Errorf("%s: %v in\n%s", dir, err, text)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d were written", seen)
	}
}

// TestDraftIsHarmless makes sure that nothing which somebody wrote into a chart
// becomes a key.
func TestDraftIsHarmless(t *testing.T) {
	d := component.Draft{Facts: []string{"a\nrolloutPhase: 1"}, Name: "a", NamespaceWhy: "b\nnamespace: c", About: "x: y # z\nproject: other", PhaseWhy: "d\r\nwave: 2"}
	var got map[string]string
	if err := yaml.Unmarshal([]byte(d.Text()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["name"] != "a" || got["description"] != "x: y # z project: other" {
		t.Errorf("read %v of\n%s", got, d.Text())
	}
	for text, want := range map[string]string{"My_App.v2": "my-app-v2", "--": "", strings.Repeat("a", 60): strings.Repeat("a", 53)} {
		if got := component.NameFrom(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestOverlaid lists a directory with what is to be there.
func TestOverlaid(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "m", "z"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repo := overlaid{os.DirFS(dir), map[string]string{"b": "new", "m": "new", "x/y": "elsewhere"}}
	var got []string
	err := fs.WalkDir(repo, ".", func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return err
		}
		text, err := fs.ReadFile(repo, p)
		got = append(got, p+" "+string(text))
		return err
	})
	if want := []string{"a old", "b new", "m new", "z old"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q (%v), want %q", got, err, want)
	}
}

// TestInitWritesInOrder has a file whose name is taken while the others are written.
func TestInitWritesInOrder(t *testing.T) {
	dir := t.TempDir()
	b := &beginning{checkout: &checkout{base: dir}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		b.found = append(b.found, &foundling{dir: name, file: name + "/component.yaml", draft: component.Draft{Name: name}})
	}
	if err := os.MkdirAll(filepath.Join(dir, "c", "component.yaml", "in-the-way"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := b.write()
	if err == nil || !strings.HasPrefix(err.Error(), "c/component.yaml: ") || strings.Contains(err.Error(), dir) || !strings.HasSuffix(err.Error(), "; written already: a/component.yaml, b/component.yaml") {
		t.Errorf("%v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("%v: %v", err, files)
	}
	if half, err := filepath.Glob(filepath.Join(dir, "*", ".*")); err != nil || len(half) > 0 {
		t.Errorf("%v: half-written %v", err, half)
	}
}
