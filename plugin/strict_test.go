package plugin_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestStrict renders hand-written waves that certainly hang, with and without the parameter.
func TestStrict(t *testing.T) {
	repo := fstest.MapFS{"app/a.yaml": {Data: []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx, envFrom: [{configMapRef: {name: settings}}]}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {argocd.argoproj.io/sync-wave: "2"}}
`)}}
	for strict, want := range map[string]string{"false": "", "true": "app/a.yaml:1: Deployment default/web: "} {
		req, err := plugin.FromEnvironment(repo, "app", map[string]string{"ARGOCD_APP_NAME": "app",
			"ARGOCD_APP_PARAMETERS": `[{"name": "strict", "string": "` + strict + `"}, {"name": "author-waves", "string": "keep"}]`})
		if err != nil {
			t.Fatal(err)
		}
		res, err := plugin.Generate(t.Context(), req, knowledge.Default())
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Refused(); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("strict %s: %v, want %q", strict, err, want)
		}
	}
}
