package plugin_test

import (
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestNotDeployed: a component that is not deployed in an environment is an error for its
// author. Argo CD gets its manifests, because it runs its hooks when it deletes the
// Application.
func TestNotDeployed(t *testing.T) {
	base := knowledge.Default()
	repo := fstest.MapFS{
		"app/component.yaml": {Data: []byte("environments: [dev]\n")},
		"app/all.yaml":       {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n")},
	}
	repo["ladder.yaml"] = &fstest.MapFile{Data: []byte("fleet:\n  environments:\n  - {name: dev}\n  - {name: prod}\n")}
	req, err := plugin.FromEnvironment(repo, "app", map[string]string{"ARGOCD_APP_NAME": "app", "ARGOCD_ENV_LADDER_ENVIRONMENT": "prod"})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := plugin.Generate(t.Context(), req, base); err != nil || len(res.Objects) != 1 {
		t.Errorf("for Argo CD: %d objects, %v", len(res.Objects), err)
	}
	req.AllowUndeployed = false
	if _, err := plugin.Generate(t.Context(), req, base); !plugin.IsNotDeployed(err) {
		t.Errorf("for its author: %v", err)
	}
}
