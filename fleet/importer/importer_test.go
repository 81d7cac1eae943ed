package importer_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/applications"
	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/fleet/manifest"
	"github.com/ladder-cmp/ladder/internal/appset"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// imported imports what is in testdata/repo, and returns the repository with the
// components in it.
func imported(t *testing.T) (importer.Result, fleet.Source) {
	t.Helper()
	repo := os.DirFS("testdata/repo")
	objs, found, err := importer.Find(repo, "argocd", func(p string) string { return p })
	if err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	text, err := os.ReadFile("testdata/generators.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values, err := appset.ParseValues("testdata/generators.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	res, err := importer.Import(t.Context(), importer.Input{Objects: objs, Repo: repo, Dir: "components", Values: values, Others: map[string]fs.FS{"git.example.com/other/values": os.DirFS("testdata/elsewhere")}, Base: knowledge.Default()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, repo); err != nil {
		t.Fatal(err)
	}
	if err := res.Write(dir, func(p string) string { return p }, false); err != nil {
		t.Fatal(err)
	}
	return res, fleet.Source{Repo: os.DirFS(dir), Dirs: []string{"components"}}
}

// TestImport keeps the files and the report.
func TestImport(t *testing.T) {
	res, _ := imported(t)
	var b strings.Builder
	for _, f := range res.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Error())
	}
	golden.File(t, "testdata/want.report.txt", b.String())
	golden.File(t, "testdata/want.files.yaml", res.Text())
}

// TestNothingIsLost compares each Application that the imported fleet generates with the
// one that it was imported from, field by field, and keeps every difference.
func TestNothingIsLost(t *testing.T) {
	res, src := imported(t)
	f, err := fleet.Load(t.Context(), src, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := applications.Apps(f, applications.AppsOptions{Path: "generated", Options: applications.Options{AllowBlocked: true}})
	if err != nil {
		t.Fatal(err)
	}
	after := map[string]map[string]string{}
	for _, m := range made {
		fields := fieldsOf(t, manifest.YAML(m))
		after[fields["metadata.name"]] = fields
	}
	var b strings.Builder
	for _, c := range res.Components {
		before := fieldsOf(t, c.Application)
		keys := map[string]bool{}
		for key := range before {
			keys[key] = true
		}
		for key := range after[c.Name] {
			keys[key] = true
		}
		fmt.Fprintf(&b, "%s\n", c.Name)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if x, y := before[key], after[c.Name][key]; x != y {
				fmt.Fprintf(&b, "  %s: %q -> %q\n", key, x, y)
			}
		}
	}
	golden.File(t, "testdata/want.differences.txt", b.String())
}

// TestRendersTheSame keeps what the components render to that are in the repository: the
// values and the edits of their Applications show.
func TestRendersTheSame(t *testing.T) {
	res, src := imported(t)
	var b strings.Builder
	for _, c := range res.Components {
		if strings.HasPrefix(c.Source, "chart ") {
			continue
		}
		made, err := plugin.Generate(t.Context(), plugin.Request{Repo: src.Repo, Dir: strings.TrimSuffix(c.File, "/component.yaml"), App: plugin.App{Name: c.Name, Namespace: "ns"}}, knowledge.Default())
		if err != nil {
			t.Error(c.Name, err)
			continue
		}
		fmt.Fprintf(&b, "# %s\n%s", c.Name, made.YAML())
	}
	golden.File(t, "testdata/want.objects.yaml", b.String())
}

// fieldsOf are the fields of an Application by their paths. Sync options are fields,
// too, of which false is as good as nothing.
func fieldsOf(t *testing.T, text string) map[string]string {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				walk(value, strings.TrimPrefix(at+"."+key, "."))
			}
		case []any:
			for i, value := range v {
				if name, is, found := strings.Cut(fmt.Sprint(value), "="); found && strings.HasSuffix(at, "syncOptions") {
					walk(is, at+"."+name)
				} else {
					walk(value, fmt.Sprintf("%s[%d]", at, i))
				}
			}
		default:
			if fmt.Sprint(v) != "false" {
				all[at] = fmt.Sprint(v)
			}
		}
	}
	walk(doc, "")
	return all
}
