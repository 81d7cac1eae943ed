package kustomize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/render/input"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestKustomizeBuild compares with what kustomize builds from the disk.
func TestKustomizeBuild(t *testing.T) {
	for _, name := range []string{"bookshelf", "bookshelf-prod"} {
		dir := "../../testdata/components/" + name
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
		if err != nil {
			t.Fatal(err)
		}
		want, err := built.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		res, err := Render(t.Context(), input.Source{FS: os.DirFS("../../testdata"), Dir: "components/" + name}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, o := range res.Objects {
			texts = append(texts, o.Text())
		}
		if diff := cmp.Diff(string(want), strings.Join(texts, "---\n")); diff != "" {
			t.Errorf("%s: -kustomize +ours:\n%s", name, diff)
		}
	}
}

// TestKustomizeSymlinks builds a kustomization whose base is a symlink, and one
// that names a file through a symlink out of itself, which kustomize refuses.
func TestKustomizeSymlinks(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, "base/kustomization.yaml", "resources: [map.yaml]\n")
	write(t, repo, "base/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	write(t, repo, "app/kustomization.yaml", "resources: [linked]\nnamePrefix: x-\n")
	write(t, repo, "bad/kustomization.yaml", "resources: [map.yaml]\n")
	for from, to := range map[string]string{"app/linked": "../base", "bad/map.yaml": "../base/map.yaml"} {
		if err := os.Symlink(to, filepath.Join(repo, from)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(repo)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	res, err := Render(t.Context(), input.Source{FS: root.FS(), Dir: "app"}, Options{})
	if err != nil || len(res.Objects) != 1 || res.Objects[0].ID.Name != "x-a" {
		t.Errorf("through a symlink: %v, %v", res.Objects, err)
	}
	if _, err := Render(t.Context(), input.Source{FS: root.FS(), Dir: "bad"}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "is not in or below") {
		t.Errorf("a file outside of the kustomization: %v", err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOpenAPIDoesNotLeak builds a kustomization with a schema of its own, and
// then one without: kyaml keeps the schema in a global.
func TestOpenAPIDoesNotLeak(t *testing.T) {
	repo := t.TempDir()
	list := "apiVersion: example.com/v1\nkind: Menu\nmetadata: {name: m}\nspec:\n  dishes:\n  - {name: soup, price: 3}\n"
	patch := "apiVersion: example.com/v1\nkind: Menu\nmetadata: {name: m}\nspec:\n  dishes:\n  - {name: pie, price: 5}\n"
	for _, app := range []string{"schema", "plain"} {
		write(t, repo, app+"/menu.yaml", list)
		write(t, repo, app+"/patch.yaml", patch)
	}
	write(t, repo, "plain/kustomization.yaml", "resources: [menu.yaml]\npatches: [{path: patch.yaml}]\n")
	write(t, repo, "schema/kustomization.yaml", "resources: [menu.yaml]\npatches: [{path: patch.yaml}]\nopenapi: {path: schema.json}\n")
	write(t, repo, "schema/schema.json",
		`{"definitions": {"v1.Menu": {"x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Menu", "version": "v1"}],
		"properties": {"spec": {"properties": {"dishes": {"type": "array", "items": {"type": "object"}, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}}}}}}}`)
	dishes := func(app string) int {
		t.Helper()
		res, err := Render(t.Context(), input.Source{FS: os.DirFS(repo), Dir: app}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Objects[0].Get("spec", "dishes").Items())
	}
	if n := dishes("schema"); n != 2 {
		t.Errorf("with a schema the patch adds a dish: %d dishes, want 2", n)
	}
	if n := dishes("plain"); n != 1 {
		t.Errorf("without a schema the patch replaces the list: %d dishes, want 1", n)
	}
}
