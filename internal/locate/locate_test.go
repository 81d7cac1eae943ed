package locate_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/plugin"
)

const (
	configMap     = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"
	chart         = "apiVersion: v2\nname: x\nversion: 1.0.0\n"
	kustomization = "resources: []\n"
)

// repository contains files, whose content follows from their names.
func repository(names ...string) fstest.MapFS {
	repo := fstest.MapFS{}
	for _, name := range names {
		text := configMap
		switch filepath.Base(name) {
		case "Chart.yaml":
			text = chart
		case "kustomization.yaml":
			text = kustomization
		case "component.yaml", "notes.txt":
			text = ""
		}
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return repo
}

func shown(name string) string { return "./" + name }

// TestFleets lists what is loaded and what is left out for a repository.
func TestFleets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, files, dirs string
		described, others string // of the first directory
		fleets, left      string
		folder            bool
	}{
		{name: "described", files: "a/component.yaml b/c/component.yaml", dirs: "root",
			described: "a b/c", fleets: "."},
		{name: "a component without component.yaml among others", files: "a/component.yaml b/Chart.yaml c/kustomization.yaml", dirs: "root",
			described: "a", others: "b c", fleets: ".", left: "b: run cmp init ./b; c: run cmp init ./c"},
		{name: "named itself, it is not left out", files: "a/component.yaml b/Chart.yaml", dirs: "root b",
			described: "a", others: "b", fleets: ". b"},
		{name: "undescribed", files: "a/Chart.yaml b/kustomization.yaml", dirs: "root",
			others: "a b", fleets: "a b", folder: true},
		{name: "manifests among the undescribed", files: "a/Chart.yaml b/cm.yaml", dirs: "root",
			others: "a", fleets: "a b", folder: true},
		{name: "manifests among the described", files: "a/component.yaml b/cm.yaml", dirs: "root",
			described: "a", fleets: ".", left: "b: run cmp init ./b"},
		{name: "manifests above components", files: "a/Chart.yaml b/Chart.yaml cm.yaml", dirs: "root",
			others: "a b", fleets: "a b", left: ".: move them to a directory of a component", folder: true},
		{name: "a component is not a fleet", files: "component.yaml a/component.yaml", dirs: "root",
			fleets: "."},
		{name: "a chart is not a fleet", files: "Chart.yaml charts/a/Chart.yaml templates/cm.yaml", dirs: "root",
			fleets: "."},
		{name: "hidden directories", files: ".a/component.yaml b/.c/component.yaml notes.txt", dirs: "root",
			fleets: "."},
		{name: "nothing below a component is one", files: "a/component.yaml a/b/component.yaml a/c/Chart.yaml", dirs: "root",
			described: "a", fleets: "."},
		{name: "nothing", files: "notes.txt", dirs: "root",
			fleets: "."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			repo := repository(strings.Fields(test.files)...)
			var dirs []string
			for _, dir := range strings.Fields(test.dirs) {
				dirs = append(dirs, strings.ReplaceAll(dir, "root", "."))
			}
			held := locate.Below(repo, dirs[0])
			if got, want := fmt.Sprint(held.Described, held.Others),
				fmt.Sprint(strings.Fields(test.described), strings.Fields(test.others)); got != want {
				t.Errorf("below are %s, want %s", got, want)
			}
			all, left := locate.Fleets(repo, dirs, shown)
			var gone []string
			for _, f := range left {
				gone = append(gone, strings.TrimPrefix(f.File, "./")+": "+f.Remedy)
				if f.Rule != finding.NotRendered || f.Severity != finding.Warning {
					t.Errorf("%v is not a warning about what is left out", f)
				}
			}
			if got := strings.Join(all, " "); got != test.fleets {
				t.Errorf("loads %s, want %s", got, test.fleets)
			}
			if got := strings.Join(gone, "; "); got != test.left {
				t.Errorf("leaves out %s, want %s", got, test.left)
			}
			if got := locate.HoldsOnlyComponents(repo, dirs[0]); got != test.folder {
				t.Errorf("is a directory of components: %v, want %v", got, test.folder)
			}
			if err := locate.CheckFleet(repo, dirs[0], shown, ""); (err != nil) != test.folder {
				t.Errorf("is not a fleet because of %v", err)
			}
		})
	}
}

// TestNotComponent explains the error about a directory that has components.
func TestNotComponent(t *testing.T) {
	t.Parallel()
	failed := fmt.Errorf("no component")
	for files, want := range map[string]string{
		"notes.txt":                         "no component",
		"a/component.yaml b/component.yaml": "not a component, but a directory of 2 components; fix: name one of them, such as ./a, or check all",
		"a/Chart.yaml b/Chart.yaml": "not a component, but a directory of 2 components without component.yaml; " +
			"fix: run cmp init --recursive ./., or name one of them, such as ./a",
	} {
		err := locate.NotComponent("render", plugin.Request{Repo: repository(strings.Fields(files)...), Dir: ".", Show: shown}, failed)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", files, err, want)
		}
	}
	grouping := fstest.MapFS{"kustomization.yaml": {Data: []byte("resources: [a]\n")},
		"a/kustomization.yaml": {Data: []byte("resources: [missing.yaml]\n")}}
	if err := locate.NotComponent("render", plugin.Request{Repo: grouping, Dir: ".", Show: shown}, failed); !errors.Is(err, failed) {
		t.Errorf("%v hides why a kustomization cannot be rendered", err)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for files, want := range map[string]string{
		"Chart.yaml kustomization.yaml cm.yaml": "helm",
		"cm.yaml kustomization.yaml":            "kustomize",
		"Chart.yaml component.yaml":             "described",
		"notes.txt":                             "",
		"sub/Chart.yaml":                        "",
	} {
		if got := locate.KindAt(repository(strings.Fields(files)...), "."); got != want {
			t.Errorf("%s is %q, want %q", files, got, want)
		}
	}
	if got := locate.KindAt(repository("cm.yaml"), "missing"); got != "" {
		t.Errorf("a missing directory is %q", got)
	}
}

// TestTouched lists the components of changed files, some of which were deleted.
func TestTouched(t *testing.T) {
	dir := onDisk(t, repository(
		"described/.git/x", "described/a/component.yaml", "described/a/templates/component.yaml", "described/a/sub/Chart.yaml",
		"described/loose/cm.yaml", "described/loose/notes.txt", "described/README.md",
		"described/c/Chart.yaml", "described/c/charts/d/Chart.yaml", "described/c/charts/d/templates/cm.yaml",
		"described/k/base/kustomization.yaml", "described/k/kustomization.yaml",
		"plain/.git/x", "plain/web/cm.yaml", "plain/web/sub/cm.yaml", "plain/chart/Chart.yaml"))
	for _, test := range []struct{ files, dirs, left string }{
		{"described/a/sub/Chart.yaml described/a/deleted.yaml", "described/a", ""},
		{"described/a/templates/component.yaml", "described/a", ""},
		{"described/c/charts/d/templates/cm.yaml", "described/c", ""},   // the outermost chart
		{"described/k/base/kustomization.yaml", "described/k/base", ""}, // the nearest kustomization
		{"described/loose/cm.yaml described/loose/cm.yaml", "", "described/loose"},
		{"described/loose/notes.txt described/README.md", "", ""},
		{"plain/web/sub/cm.yaml plain/web/cm.yaml", "plain/web", ""},
		{"plain/chart/values.yaml described/a/x described/a/y", "described/a plain/chart", ""},
	} {
		var files []string
		for _, f := range strings.Fields(test.files) {
			files = append(files, filepath.FromSlash(f))
		}
		dirs, left := locate.Touched(files)
		var gone []string
		for _, f := range left {
			gone = append(gone, f.File)
		}
		if !slices.Equal(dirs, strings.Fields(test.dirs)) || !slices.Equal(gone, strings.Fields(test.left)) {
			t.Errorf("%s touches %q and leaves out %q, want %q and %q (in %s)", test.files, dirs, gone, test.dirs, test.left, dir)
		}
	}
}

// onDisk writes a repository to a new directory, which becomes the working directory.
func onDisk(t *testing.T, repo fstest.MapFS) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, fs.FS(repo)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return dir
}
