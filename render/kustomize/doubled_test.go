package kustomize

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// TestKeysTwice: a key that stands twice is refused where kustomize refuses it, and
// where kustomize builds it the objects are the same, with a warning.
func TestKeysTwice(t *testing.T) {
	configMap := func(more string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n" + more }
	const annotations = "  annotations: {a: b}\n  annotations: {c: d}\n"
	tests := []struct {
		name, kustomization, resource, patch string
	}{
		{"annotations of an object", "resources: [r.yaml]\n", configMap(annotations), ""},
		{"annotations, of which the first are empty", "resources: [r.yaml]\n", configMap("  annotations:\n  annotations: {c: d}\n"), ""},
		{"annotations that are patched", "resources: [r.yaml]\nnamespace: x\npatches: [{path: p.yaml}]\n",
			configMap(annotations), configMap("  annotations: {e: f}\n")},
		{"annotations of a Pod", "resources: [r.yaml]\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n" +
			"  template:\n    metadata:\n    " + strings.ReplaceAll(annotations, "\n", "\n    "), ""},
		{"data", "resources: [r.yaml]\n", configMap("data: {a: b}\ndata: {a: c}\n"), ""},
		{"an entry of data", "resources: [r.yaml]\n", configMap("data:\n  a: b\n  a: b\n"), ""},
		{"an object that is dropped", "resources: [r.yaml]\nconfigMapGenerator: [{name: z, literals: [a=b]}]\npatches: [{path: p.yaml}]\n",
			configMap("data: {a: b}\ndata: {a: c}\n"), configMap("$patch: delete\n")},
		{"a patch", "resources: [r.yaml]\npatches: [{path: p.yaml}]\n", configMap(""), configMap(annotations)},
		{"data of a patch", "resources: [r.yaml]\npatches: [{path: p.yaml}]\n", configMap(""), configMap("data:\n  a: b\n  a: c\n")},
		{"a value of a patch", "resources: [r.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]\n",
			configMap(""), "- op: add\n  path: /data\n  value: {a: b, a: c}\n"},
		{"the kustomization", "resources: [r.yaml]\ncommonAnnotations: {a: b}\ncommonAnnotations: {c: d}\n", configMap(""), ""},
		{"options of a generator", "generatorOptions:\n  annotations: {a: b}\n  annotations: {c: d}\n" +
			"configMapGenerator: [{name: z, literals: [a=b]}]\n", configMap(""), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"kustomization.yaml": tt.kustomization, "r.yaml": tt.resource, "p.yaml": tt.patch}
			disk, repo := filesys.MakeFsInMemory(), fstest.MapFS{}
			for name, text := range files {
				if err := disk.WriteFile("/k/"+name, []byte(text)); err != nil {
					t.Fatal(err)
				}
				repo["k/"+name] = &fstest.MapFile{Data: []byte(text)}
			}
			var want []byte
			built, refused := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/k")
			if refused == nil {
				want, refused = built.AsYaml()
			}
			res, err := Render(t.Context(), input.Source{FS: repo, Dir: "k"}, Options{})
			if (err != nil) != (refused != nil) {
				t.Fatalf("kustomize: %v; here: %v", refused, err)
			}
			if refused != nil {
				return
			}
			var texts []string
			for _, o := range res.Objects {
				texts = append(texts, o.Text())
			}
			if diff := cmp.Diff(string(want), strings.Join(texts, "---\n")); diff != "" {
				t.Errorf("-kustomize +ours:\n%s", diff)
			}
			if strings.HasPrefix(tt.name, "a patch") || strings.HasPrefix(tt.name, "a value") {
				return // what kustomize merges into an object is read by nobody else
			}
			if len(res.Findings) != 1 || res.Findings[0].Rule != object.DuplicateKey || res.Findings[0].Severity != finding.Warning ||
				res.Findings[0].Line == 0 {
				t.Errorf("findings are %v, want one warning with its line", res.Findings)
			}
		})
	}
}
