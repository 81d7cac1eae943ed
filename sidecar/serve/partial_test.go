package serve

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// TestPartialRepository renders an Application of apps/web, of which Argo CD sends apps/ or all.
func TestPartialRepository(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	all := map[string]string{
		"apps/web/Chart.yaml":          "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"apps/web/templates/a.yaml":    configMap + "data: {x: {{ .Values.x | quote }}, f: {{ .Values.f | quote }}}\n",
		"apps/shared/v.yaml":           "x: y\n",
		"apps/listed/component.yaml":   "values: [/apps/shared/v.yaml]\n",
		"apps/listed/Chart.yaml":       "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"apps/listed/templates/a.yaml": configMap + "data: {x: {{ .Values.x }}}\n",
		"apps/jsonnet/a.jsonnet":       "local l = import 'l.libsonnet'; {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: l.name}}",
		"apps/libs/l.libsonnet":        "{name: 'a'}",
		"apps/local/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n" +
			"dependencies: [{name: lib, version: 1.0.0, repository: file://../../libs/lib}]\n",
		"libs/lib/Chart.yaml":                "apiVersion: v2\nname: lib\nversion: 1.0.0\n",
		"libs/lib/templates/a.yaml":          configMap,
		"apps/overlay/kustomization.yaml":    "resources: [../../base]\n",
		"base/kustomization.yaml":            "resources: [a.yaml]\n",
		"base/a.yaml":                        configMap,
		"other/values.yaml":                  "x: z\n",
		"apps/overlay/production/empty.yaml": "",
	}
	const add = "; Argo CD sent only apps/ of the repository; " +
		"fix: add /%s to the annotation argocd.argoproj.io/manifest-generate-paths of the Application"
	for name, c := range map[string]struct{ dir, parameters, missing string }{
		"values":            {"web", `[{"name": "values", "array": ["/apps/shared/v.yaml"]}]`, ""},
		"set-file":          {"web", `[{"name": "set-file", "map": {"f": "/apps/shared/v.yaml"}}]`, ""},
		"values, relative":  {"web", `[{"name": "values", "array": ["../shared/v.yaml"]}]`, ""},
		"component.yaml":    {"listed", "", ""},
		"libs":              {"jsonnet", `[{"name": "libs", "array": ["apps/libs"]}]`, ""},
		"values, not sent":  {"web", `[{"name": "values", "array": ["/other/values.yaml"]}]`, "other/values.yaml"},
		"a chart, not sent": {"local", "", "libs/lib"},
		"a base, not sent":  {"overlay", "", "base"},
	} {
		t.Run(name, func(t *testing.T) {
			render := func(prefix string) (string, error) {
				repo := fstest.MapFS{}
				for file, text := range all {
					if below, ok := strings.CutPrefix(file, prefix); ok {
						repo[below] = &fstest.MapFile{Data: []byte(text)}
					}
				}
				out, err := newTasks(knowledge.Default(), false, nil).generate(t.Context(), task.Input{Repo: repo,
					Dir: strings.TrimPrefix("apps/"+c.dir, prefix),
					Env: map[string]string{"ARGOCD_APP_NAME": "web", "ARGOCD_APP_NAMESPACE": "ns", plugin.SourcePath: "apps/" + c.dir,
						"ARGOCD_APP_PARAMETERS": c.parameters}})
				return strings.Join(out.Manifests, "---\n"), err
			}
			want, err := render("")
			if err != nil {
				t.Fatal(err)
			}
			got, err := render("apps/")
			switch {
			case c.missing == "" && (err != nil || got != want):
				t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
			case c.missing != "" && (err == nil || !strings.HasSuffix(err.Error(), strings.Replace(add, "%s", c.missing, 1))):
				t.Errorf("got %v, want the advice to add %s", err, c.missing)
			}
		})
	}
}
