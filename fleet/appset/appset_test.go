package appset_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/object"
)

// TestExpand expands the ApplicationSets in testdata. Argo CD's own code expands the same
// files in conformance/v3.
func TestExpand(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			repo := fstest.MapFS{}
			var in appset.Input
			var sets []object.Object
			kept := archive.Files[:0:0]
			for _, f := range archive.Files {
				switch {
				case f.Name == "want.yaml":
					continue
				case f.Name == "sets.yaml":
					sets, err = object.Parse(f.Name, 1, string(f.Data))
				case f.Name == "values.yaml":
					in.Values, err = appset.ParseValues(f.Name, f.Data)
				default:
					repo[f.Name] = &fstest.MapFile{Data: f.Data}
				}
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, f)
			}
			in.Open = func(url string) fs.FS {
				if url != "https://git.example.com/ours.git" {
					return nil
				}
				return repo
			}
			archive.Files = append(kept, golden.Text("want.yaml", expanded(sets, in)))
			got := txtar.Format(archive)
			if golden.Update() {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant the end of\n%s", archive.Files[len(archive.Files)-1].Data, want)
			}
		})
	}
}

// expanded returns the Applications of each set, and why others are missing.
func expanded(sets []object.Object, in appset.Input) string {
	var b strings.Builder
	for _, o := range sets {
		set := appset.Expand(o, in)
		fmt.Fprintf(&b, "# set %s\n", o.ID.Name)
		for _, f := range set.Faults {
			fmt.Fprintf(&b, "# fault: %s\n", f.Message)
		}
		for _, app := range set.Applications {
			b.WriteString("---\n")
			if set.Steps > 0 {
				fmt.Fprintf(&b, "# step %d of %d\n", app.Step, set.Steps)
			}
			b.WriteString(strings.TrimSuffix(app.Text(), "\n") + "\n")
		}
	}
	return b.String()
}

// TestInputStays expands a set twice with the same values.
func TestInputStays(t *testing.T) {
	sets, err := object.Parse("sets.yaml", 1, `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: a}
spec:
  goTemplate: true
  generators: [{clusters: {values: {x: '{{ .name }}'}}}]
  template: {metadata: {name: 'a-{{ .values.x }}'}, spec: {project: p}}
`)
	if err != nil {
		t.Fatal(err)
	}
	values, err := appset.ParseValues("values.yaml", []byte("a: {clusters: [{name: one}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	in := appset.Input{Values: values}
	first, second := expanded(sets, in), expanded(sets, in)
	if first != second || !strings.Contains(first, "name: a-one") || len(values["a"]["clusters"][0]) != 1 {
		t.Errorf("first\n%s\nthen\n%s\nof %v", first, second, values)
	}
}

// TestParseValues names what values look like.
func TestParseValues(t *testing.T) {
	_, err := appset.ParseValues("values.yaml", []byte("- a\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "values.yaml: ") || !strings.Contains(err.Error(), "clusters: [") {
		t.Errorf("got %v", err)
	}
}
