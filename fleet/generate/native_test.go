package generate_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/object"
)

// nativeFiles is a fleet in which Argo CD renders all but one component itself.
var nativeFiles = map[string]string{
	"ladder.yaml": "fleet: {name: n, project: p, repoURL: \"https://git.example.com/n.git\", environments: [{name: dev}, " +
		"{name: prod, server: \"https://prod:6443\"}]}\n",
	"argocd/component.yaml": "rolloutPhase: 120\nrender: native\n", "argocd/kustomization.yaml": "resources: [a.yaml]\n",
	"argocd/a.yaml": fleettest.ConfigMap,
	"cilium/component.yaml": "rolloutPhase: 120\nrender: native\nchart: {path: ./chart, valueFiles: [/components/cilium/v.yaml], " +
		"skipCrds: true}\nenvironments: {prod: {values: [prod.yaml], set: {a.b: two}}, dev: {}}\n",
	"cilium/chart/Chart.yaml":       "{apiVersion: v2, name: cilium, version: 1.0.0}\n",
	"cilium/chart/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
	"cilium/v.yaml":                 "a: {}\n", "cilium/prod.yaml": "a: {}\n",
	"plain/component.yaml": "rolloutPhase: 140\nrender: native\n",
	"plain/b/a.yaml":       strings.Replace(fleettest.ConfigMap, "name: a", "name: p", 1),
	"web/component.yaml":   "rolloutPhase: 140\n", "web/a.yaml": strings.Replace(fleettest.ConfigMap, "name: a", "name: w", 1),
}

// TestNative: what Argo CD renders itself has no plugin, whether a parent or an ApplicationSet
// deploys it, and the values of each environment.
func TestNative(t *testing.T) {
	f := fleettest.Files(t, nativeFiles, fleet.Source{})
	want := map[string]string{
		"argocd-dev": "path: components/argocd", "argocd-prod": "path: components/argocd",
		"cilium-dev":  "path: components/cilium/chart helm: cilium /components/cilium/v.yaml",
		"cilium-prod": "path: components/cilium/chart helm: cilium /components/cilium/v.yaml /components/cilium/prod.yaml a.b=two",
		"plain-dev":   "path: components/plain directory: {component.yaml,ladder.yaml}",
		"plain-prod":  "path: components/plain directory: {component.yaml,ladder.yaml}",
		"web-dev":     "path: components/web plugin: ladder", "web-prod": "path: components/web plugin: ladder",
	}
	children, _, err := generate.Applications(f, generate.Options{Path: "argocd", AllowBlocked: true})
	if err != nil {
		t.Fatal(err)
	}
	checkSources(t, "children", want, parsed(t, children[1:]))
	sets, _, err := generate.ApplicationSets(f, generate.Options{AllowBlocked: true})
	if err != nil {
		t.Fatal(err)
	}
	repo := fstest.MapFS{}
	for name, text := range nativeFiles {
		repo["components/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	var generated []object.Object
	for _, o := range parsed(t, sets) {
		set := appset.Expand(o, appset.Input{Open: func(string) fs.FS { return repo }})
		if len(set.Faults) > 0 {
			t.Fatal(set.Faults)
		}
		generated = append(generated, set.Objects()...)
	}
	checkSources(t, "set", want, generated)
}

func parsed(t *testing.T, all []generate.Manifest) (objects []object.Object) {
	t.Helper()
	for _, m := range all {
		o, err := object.Parse(m.File, 1, generate.YAML(m))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o...)
	}
	return objects
}

func checkSources(t *testing.T, by string, want map[string]string, apps []object.Object) {
	t.Helper()
	if len(apps) != len(want) {
		t.Errorf("%s: %d Applications", by, len(apps))
	}
	for _, app := range apps {
		s := app.Root().Get("spec", "source")
		got := "path: " + s.Get("path").Text()
		if h := s.Get("helm"); h.Exists() {
			got += " helm: " + h.Get("releaseName").Text()
			for _, file := range h.Get("valueFiles").Items() {
				got += " " + file.Text()
			}
			for _, p := range h.Get("parameters").Items() {
				got += " " + p.Get("name").Text() + "=" + p.Get("value").Text()
			}
			if !h.Get("skipCrds").True() {
				got += " with CRDs"
			}
		}
		if d := s.Get("directory"); d.Exists() {
			got += " directory: " + d.Get("exclude").Text()
		}
		if p := s.Get("plugin"); p.Exists() {
			got += " plugin: " + p.Get("name").Text()
		}
		if got != want[app.ID.Name] {
			t.Errorf("%s: %s has %s, want %s", by, app.ID.Name, got, want[app.ID.Name])
		}
	}
}

// TestNotNative: settings that only the plugin reads are errors, and so is what Argo CD has no
// renderer for.
func TestNotNative(t *testing.T) {
	f := fleettest.Files(t, map[string]string{
		"a/component.yaml": "rolloutPhase: 140\nrender: native\n",
		"a/t.yaml.tmpl":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\n",
		"b/component.yaml": "rolloutPhase: 140\nrender: native\nvalues: [v.yaml]\ncrds: skip\n", "b/a.yaml": fleettest.ConfigMap,
	}, fleet.Source{Partial: true})
	text := fleettest.Lines(lint.Findings(f, ""))
	for _, part := range []string{
		"values: has no effect with render: native, because Argo CD renders the component",
		"crds: has no effect with render: native, because Argo CD renders the component",
		"error not-native components/a/component.yaml:2: render: Argo CD cannot render templated YAML without the plugin",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not among\n%s", part, text)
		}
	}
}
