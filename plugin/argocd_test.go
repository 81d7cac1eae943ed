package plugin_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestArgoCDVersion renders a Job that needs a database whose check came with Argo CD 3.1: the
// wave is the same for each version, but older ones do not wait.
func TestArgoCDVersion(t *testing.T) {
	repo := fstest.MapFS{"app/a.yaml": {Data: []byte(`apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: db}
spec: {instances: 1}
---
apiVersion: batch/v1
kind: Job
metadata: {name: seed}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: seed, image: "seed:1", envFrom: [{secretRef: {name: db-app}}]}]}
`)}, "old/component.yaml": {Data: []byte("argocdVersion: \"3.0\"\n")}}
	repo["old/a.yaml"] = repo["app/a.yaml"]
	for _, c := range []struct {
		name, dir, parameters, project, want string
	}{
		{"the newest", "app", "[]", "default", ""},
		{"a parameter", "app", `[{"name": "argocd-version", "string": "v2.14.3"}]`,
			"default", "Argo CD 2.14 has no health check for Cluster.postgresql.cnpg.io"},
		{"one with the check", "app", `[{"name": "argocd-version", "string": "3.1"}]`, "default", ""},
		{"an Argo CD that names no project", "app", "[]", "", "Argo CD 2.14 has no health check for Cluster.postgresql.cnpg.io"},
		{"component.yaml", "old", "[]", "default", "Argo CD 3.0 has no health check for Cluster.postgresql.cnpg.io"},
		{"a parameter over component.yaml", "old", `[{"name": "argocd-version", "string": "3.5"}]`, "default", ""},
	} {
		req, err := plugin.FromEnvironment(repo, c.dir,
			map[string]string{"ARGOCD_APP_NAME": "app", plugin.ProjectName: c.project, "ARGOCD_APP_PARAMETERS": c.parameters})
		if err != nil {
			t.Fatal(err)
		}
		res, err := plugin.Generate(t.Context(), req, knowledge.Default())
		if err != nil {
			t.Fatal(err)
		}
		if waves := res.Plan.Waves(); waves != 2 {
			t.Errorf("%s: %d waves, want 2", c.name, waves)
		}
		got := ""
		for _, f := range res.AllFindings() {
			if f.Rule == "blind-gate" {
				got = string(f.Severity) + ": " + f.Message + "; " + f.Remedy
			}
		}
		if c.want == "" && got != "" || c.want != "" && (!strings.HasPrefix(got, "warning: ") || !strings.Contains(got, c.want) ||
			!strings.Contains(got, "into argocd-cm as resource.customizations.health.postgresql.cnpg.io_Cluster")) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for version, want := range map[string]string{"newest": `"newest" is not a version of Argo CD`,
		"1.8": "the health checks of Argo CD 1.8 are unknown"} {
		_, err := plugin.FromEnvironment(repo, "app",
			map[string]string{"ARGOCD_APP_PARAMETERS": `[{"name": "argocd-version", "string": "` + version + `"}]`})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: %v, want %q", version, err, want)
		}
	}
}
