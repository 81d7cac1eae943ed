package importer_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
)

const (
	platformApplication = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: platform, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/platform", path: sets, targetRevision: HEAD}
  destination: {namespace: argocd}
`
	// platformSet has the name of the Application that renders it.
	platformSet = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: platform, namespace: argocd}
spec:
  generators:
  - git: {repoURL: "https://git.example.com/platform", revision: HEAD, directories: [{path: system/*}]}
  template:
    metadata: {name: '{{path.basename}}'}
    spec:
      project: default
      source: {repoURL: "https://git.example.com/platform", path: '{{path}}', targetRevision: HEAD}
      destination: {namespace: '{{path.basename}}'}
`
	settingsMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
`
)

// TestSetOfItself: an ApplicationSet may have the name of the Application that renders it,
// and generate that Application, as where Argo CD manages itself.
func TestSetOfItself(t *testing.T) {
	for name, c := range map[string]struct {
		found string
		repo  fstest.MapFS
		want  []string
	}{
		"same name": {platformApplication, fstest.MapFS{
			"sets/set.yaml":        {Data: []byte(platformSet)},
			"system/dns/map.yaml":  {Data: []byte(settingsMap)},
			"system/logs/map.yaml": {Data: []byte(settingsMap)},
		}, []string{"dns", "logs"}},
		"generates its own Application": {platformSet, fstest.MapFS{
			"system/argocd/set.yaml": {Data: []byte(platformSet)},
			"system/argocd/map.yaml": {Data: []byte(settingsMap)},
			"system/dns/map.yaml":    {Data: []byte(settingsMap)},
		}, []string{"dns"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.repo["found.yaml"] = &fstest.MapFile{Data: []byte(c.found)}
			objs, _, err := importer.Find(fstest.MapFS{"found.yaml": c.repo["found.yaml"]}, ".", func(p string) string { return p })
			if err != nil {
				t.Fatal(err)
			}
			res, err := importer.Import(t.Context(), importer.Input{Objects: objs, Repo: c.repo, Dir: "components", Base: knowledge.Default()})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, made := range res.Components {
				got = append(got, made.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the components are %v, want %v", got, c.want)
			}
		})
	}
}

// TestOpenOthers: the checkout of another repository is found by any of its addresses.
func TestOpenOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "values.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := importer.OpenOthers([]string{"https://git.example.com/values.git=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	repo := all[remote.RepositoryName("git@git.example.com:values")]
	if repo == nil {
		t.Fatalf("the repository is not among %v", all)
	}
	if _, err := repo.Open("values.yaml"); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{dir, "https://git.example.com/values.git=" + filepath.Join(dir, "missing")} {
		if _, err := importer.OpenOthers([]string{wrong}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("OpenOthers(%s): %v", wrong, err)
		}
	}
}
