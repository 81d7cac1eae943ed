package appset_test

import (
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/object"
)

// TestFindRepository looks for the address of a repository with the directory apps/shop and
// the values file addons/cache.yaml.
func TestFindRepository(t *testing.T) {
	repo := fstest.MapFS{"apps/shop/c.yaml": {}, "addons/cache.yaml": {}}
	for name, c := range map[string]struct{ spec, want string }{
		"source":            {`{source: {repoURL: https://git.example.com/a.git, path: apps/shop}}`, "https://git.example.com/a.git"},
		"unknown directory": {`{source: {repoURL: https://git.example.com/a.git, path: apps/other}}`, ""},
		"template of a set": {`{template: {spec: {source: {repoURL: https://git.example.com/a.git, path: apps/shop}}}}`,
			"https://git.example.com/a.git"},
		"path of each cluster": {`{template: {spec: {source: {repoURL: https://git.example.com/a.git, path: 'apps/{{ .name }}'}}}}`, ""},
		"values file of a ref": {`{template: {spec: {sources: [{repoURL: https://git.example.com/a.git, ref: own}, ` +
			`{repoURL: https://charts.example.com, chart: cache, helm: {valueFiles: [$own/addons/cache.yaml]}}]}}}`,
			"https://git.example.com/a.git"},
		"values file elsewhere": {`{sources: [{repoURL: https://git.example.com/a.git, ref: own}, {repoURL: https://charts.example.com, ` +
			`chart: cache, helm: {valueFiles: [$own/addons/web.yaml, addons/cache.yaml]}}]}`, ""},
		"generator": {`{generators: [{git: {repoURL: https://git.example.com/a.git}}]}`, "https://git.example.com/a.git"},
	} {
		t.Run(name, func(t *testing.T) {
			objs, err := object.Parse("set.yaml", 1, "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec: "+c.spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := appset.FindRepository(objs, repo); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
