package plugin_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

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

// TestReads makes sure that a server that passes on only what Reads names asks
// for the same.
func TestReads(t *testing.T) {
	env := map[string]string{"ARGOCD_APP_NAME": "a", "ARGOCD_APP_NAMESPACE": "b", "ARGOCD_APP_REVISION": "c", "KUBE_VERSION": "1.34.0", "KUBE_API_VERSIONS": "v1",
		"ARGOCD_APP_PARAMETERS": `[{"name":"name","string":"d"}]`, "ARGOCD_ENV_LADDER_NAMESPACE": "e", "ARGOCD_ENV_TOKEN": "f", "PATH": "g"}
	read := map[string]string{}
	for name, value := range env {
		if plugin.Reads(name) {
			read[name] = value
		}
	}
	if len(read) != len(env)-2 {
		t.Errorf("reads %v", read)
	}
	repo := fstest.MapFS{}
	all, err := plugin.FromEnvironment(repo, "app", env)
	if err != nil {
		t.Fatal(err)
	}
	some, err := plugin.FromEnvironment(repo, "app", read)
	if err != nil || all.App != some.App || all.KubeVersion != some.KubeVersion || len(all.APIVersions) != len(some.APIVersions) ||
		all.Settings[0].Namespace != some.Settings[0].Namespace || all.Settings[1].Name != some.Settings[1].Name {
		t.Errorf("with what it reads %+v, with all %+v: %v", some, all, err)
	}
}
