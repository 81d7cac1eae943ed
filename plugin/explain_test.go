package plugin_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestExplainAnnotations writes the reasons of waves on objects, and only there: an
// annotation of a Pod template would restart the Pods whenever a reason changes.
func TestExplainAnnotations(t *testing.T) {
	const manifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {own: kept}}
    spec: {containers: [{name: web, image: web, envFrom: [{secretRef: {name: password}}]}]}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: password}
spec: {target: {name: password}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: first, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {template: {spec: {containers: [{name: a, image: a}]}}}
`
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	generate := func(files map[string]string, env map[string]string) plugin.Result {
		t.Helper()
		req, err := plugin.FromEnvironment(repository(files), "app", env)
		if err != nil {
			t.Fatal(err)
		}
		res, err := plugin.Generate(context.Background(), req, knowledge.Default())
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	on := map[string]string{"ARGOCD_ENV_LADDER_EXPLAIN": "annotations"}
	byServer := map[string]string{plugin.DefaultExplain: "annotations"}
	for _, tt := range []struct {
		name       string
		files, env map[string]string
		want       int
	}{
		{"default", map[string]string{"app/a.yaml": manifests}, nil, 0},
		{"variable", map[string]string{"app/a.yaml": manifests}, on, 2},
		{"component", map[string]string{"app/a.yaml": manifests, "app/component.yaml": "explain: annotations"}, nil, 2},
		{"server", map[string]string{"app/a.yaml": manifests}, byServer, 2},
		{"component over server", map[string]string{"app/a.yaml": manifests, "app/component.yaml": "explain: \"off\""}, byServer, 0},
		{"no waves", map[string]string{"app/a.yaml": manifests, "app/component.yaml": "waves: \"off\""}, on, 0},
		{"one wave", map[string]string{"app/a.yaml": one}, on, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := generate(tt.files, tt.env)
			if got := strings.Count(res.YAML(), object.Why); got != tt.want {
				t.Errorf("%d reasons, want %d in\n%s", got, tt.want, res.YAML())
			}
			for _, o := range res.Objects {
				why, explained := o.Annotation(object.Why)
				if o.ID.Kind == "ExternalSecret" && explained &&
					why != "is synced into a Secret that others read; Deployment default/web waits for it" {
					t.Errorf("the reason is %q", why)
				}
				if at := o.Root().Get("spec", "template", "metadata", "annotations"); at.Get(object.Why).Exists() {
					t.Errorf("%s: the template has a reason", o.ID)
				}
			}
		})
	}
	first := generate(map[string]string{"app/a.yaml": manifests}, on).YAML()
	if again := generate(map[string]string{"app/a.yaml": first}, on).YAML(); again != first {
		t.Errorf("rendered again:\n%s\nnot\n%s", again, first)
	}
}
