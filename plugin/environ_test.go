package plugin_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestParametersWinOverVariables says the same thing in both places of an
// Application, each time differently, and looks which one templates see.
func TestParametersWinOverVariables(t *testing.T) {
	repo := repository(map[string]string{
		"app/component.yaml": "set: {own: component, both: component, all: component}",
		"app/values.yaml":    "{own: file, both: file, all: file, variable: file}",
		"app/a.yaml.tmpl": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {seen: "` +
			`{{ .Release.Name }} {{ .Capabilities.KubeVersion.Version }} {{ .Values.own }} {{ .Values.both }} {{ .Values.variable }} {{ .Values.all }}"}}`,
	})
	for _, tt := range []struct{ name, parameters, want string }{
		{"both", `[{"name":"name","string":"parameter"},{"name":"kube-version","string":"1.33.3"},{"name":"set","map":{"both":"parameter","all":"parameter"}}]`,
			"parameter v1.33.3 component parameter variable parameter"},
		{"variables", "", "variable v1.32.2 component variable variable variable"},
		{"empty parameters", `[{"name":"name","string":""}]`, "variable v1.32.2 component variable variable variable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := plugin.FromEnvironment(repo, "app", map[string]string{
				"ARGOCD_APP_NAME": "application", "KUBE_VERSION": "1.31.1", "ARGOCD_APP_PARAMETERS": tt.parameters,
				"ARGOCD_ENV_LADDER_NAME": "variable", "ARGOCD_ENV_LADDER_KUBE_VERSION": "1.32.2",
				"ARGOCD_ENV_LADDER_SET": "both=variable,variable=variable,all=variable",
			})
			if err != nil {
				t.Fatal(err)
			}
			res, err := plugin.Generate(context.Background(), req, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(res.YAML(), `seen: "`+tt.want+`"`) {
				t.Errorf("want %s in\n%s", tt.want, res.YAML())
			}
		})
	}
}
