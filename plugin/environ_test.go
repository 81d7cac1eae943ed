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
			`{{ .Release.Name }} {{ .Capabilities.KubeVersion.Version }} {{ .Values.own }} {{ .Values.both }} ` +
			`{{ .Values.variable }} {{ .Values.all }}"}}`,
	})
	for _, tt := range []struct{ name, parameters, want string }{
		{"both",
			`[{"name":"name","string":"parameter"},{"name":"kube-version","string":"1.33.3"},` +
				`{"name":"set","map":{"both":"parameter","all":"parameter"}}]`,
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

// TestEntriesOfVariables gives single entries of lists and maps by variables of their own,
// as Argo CD Image Updater does.
func TestEntriesOfVariables(t *testing.T) {
	repo := repository(map[string]string{
		"chart/Chart.yaml":  "{apiVersion: v2, name: chart, version: 1.0.0}",
		"chart/values.yaml": "{image: {name: web, tag: v1}, version: 1}",
		"chart/templates/a.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, ` +
			`data: {seen: "{{ .Values.image.name }} {{ .Values.image.tag }} {{ kindOf .Values.version }}"}}`,
		"kust/kustomization.yaml": "resources: [pod.yaml]",
		"kust/pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}, " +
			"spec: {containers: [{name: web, image: a.io/web:v1}, {name: db, image: a.io/db:v1}]}}",
		"kust/.argocd-source-a.yaml": "plugin: {env: []}",
	})
	generate := func(dir string, env map[string]string) (string, error) {
		req, err := plugin.FromEnvironment(repo, dir, env)
		if err != nil {
			return "", err
		}
		res, err := plugin.Generate(context.Background(), req, knowledge.Default())
		if err != nil {
			return "", err
		}
		return res.YAML(), nil
	}
	for _, tt := range []struct {
		dir  string
		env  map[string]string
		want []string
	}{
		{"chart", map[string]string{"ARGOCD_ENV_LADDER_SET": "image.name=shop,image.tag=v2", "ARGOCD_ENV_LADDER_SET.image.tag": "v3,x",
			"ARGOCD_ENV_LADDER_SET_STRING.version": "2"}, []string{"seen: shop v3,x string"}},
		{"chart", map[string]string{"ARGOCD_ENV_LADDER_SET.image.tag": ""}, []string{"seen: web v1 "}},
		{"kust", map[string]string{"ARGOCD_ENV_LADDER_IMAGES": "a.io/web:v2"}, []string{"a.io/web:v2", "a.io/db:v1"}},
		{"kust",
			map[string]string{"ARGOCD_ENV_LADDER_IMAGES.web": "a.io/web:v2@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
				"ARGOCD_ENV_LADDER_IMAGES.db": "a.io/db:v3"}, []string{"a.io/web:v2@sha256:e3b0", "a.io/db:v3"}},
	} {
		got, err := generate(tt.dir, tt.env)
		for _, want := range tt.want {
			if err != nil || !strings.Contains(strings.ReplaceAll(got, `"`, ""), want) {
				t.Errorf("%v: %v, no %q in\n%s", tt.env, err, want, got)
			}
		}
	}
	for name, want := range map[string]string{"ARGOCD_ENV_LADDER_NAME.x": "has no entries", "ARGOCD_ENV_LADDER_SETS.x": "unknown parameter"} {
		if _, err := generate("chart", map[string]string{name: "secret"}); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReads makes sure that a server that passes on only what Reads names asks
// for the same.
func TestReads(t *testing.T) {
	env := map[string]string{"ARGOCD_APP_NAME": "a", "ARGOCD_APP_NAMESPACE": "b", "ARGOCD_APP_REVISION": "c", "KUBE_VERSION": "1.34.0",
		"KUBE_API_VERSIONS":     "v1",
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
