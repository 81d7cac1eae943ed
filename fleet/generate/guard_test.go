package generate_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestGuard finds what keeps a fleet from being rolled out, one fault to a case.
func TestGuard(t *testing.T) {
	const ladder = "fleet: {name: f, repoURL: https://git.example.com/f.git%s}\n"
	for name, c := range map[string]struct {
		settings string
		files    map[string]string
		want     string // a finding, or what the ApplicationSet holds
	}{
		"paused": {"", map[string]string{"a/component.yaml": "rolloutPhase: 650\n",
			"a/a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {paused: true, selector: {matchLabels: {a: a}}, " +
				"template: {metadata: {labels: {a: a}}, spec: {containers: [{name: a, image: a}]}}}\n"},
			"warning: a/a.yaml:1: Deployment default/a: a may never become healthy: a paused Deployment is Suspended"},
		"behind a chart from elsewhere": {"", map[string]string{
			"a/component.yaml": "rolloutPhase: 110\nchart: {repoURL: https://charts.jetstack.io, chart: cert-manager, version: v1.19.1}\n",
			"b/component.yaml": "rolloutPhase: 650\n",
			"b/b.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: b}\n" +
				"spec: {suspend: true, template: {spec: {containers: [{name: b, image: b}]}}}\n"},
			"warning: b/b.yaml:1: Job default/b: b may never become healthy"},
		"does not render": {"", map[string]string{"a/component.yaml": "rolloutPhase: 650\n", "a/a.yaml": "kind: [\n"},
			"error: a/component.yaml: a does not render, so nothing after it is rolled out"},
		"no description": {"", map[string]string{"a/a.yaml": fleettest.ConfigMap}, "error: a: missing component.yaml"},
		"no such environment": {", environments: [{name: dev}]",
			map[string]string{"a/component.yaml": "rolloutPhase: 650\nenvironments: [qa]\n", "a/a.yaml": fleettest.ConfigMap},
			`warning: a/component.yaml:2: environments: unknown environment "qa"`},
		"environments of nobody": {"", map[string]string{"a/component.yaml": "rolloutPhase: 650\nenvironments: [dev]\n",
			"a/a.yaml": fleettest.ConfigMap},
			"warning: a/component.yaml:2: environments: a is for dev only, but the fleet has no environments"},
		"split far away": {"", map[string]string{
			"a/component.yaml": "rolloutPhase: 650\ncrds: split\ncrdsPhase: 610\nchart: {repoURL: https://charts.example.com, chart: a}\n"},
			"error: a/component.yaml:2: crds: the chart is in another repository"},
		"a namesake in a chart": {"", map[string]string{"a/component.yaml": "rolloutPhase: 650\n",
			"a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "a/templates/component.yaml": fleettest.ConfigMap},
			"      - path: a/component.yaml\n"},
		"the cluster needs an environment": {", environments: [{name: dev}, {name: qa}]", map[string]string{
			"op/component.yaml": "rolloutPhase: 650\n",
			"op/op.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.x.example.com}\n" +
				"spec: {group: x.example.com, names: {kind: X, plural: xs}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, " +
				"schema: {openAPIV3Schema: {type: object}}}]}\n---\napiVersion: y.example.com/v1\nkind: Y\n" +
				"metadata: {name: one, annotations: {ladder-cmp.github.io/rung: configs}}\n",
			"own/component.yaml": "rolloutPhase: 610\nenvironments: [dev, qa]\n",
			"own/own.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ys.y.example.com}\n" +
				"spec: {group: y.example.com, names: {kind: Y, plural: ys}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, " +
				"schema: {openAPIV3Schema: {type: object}}}]}\n"},
			"error: op/component.yaml: op is for the whole cluster, but depends on own"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fstest.MapFS{"ladder.yaml": {Data: []byte(strings.Replace(ladder, "%s", c.settings, 1))}}
			dirs := map[string]bool{}
			for file, text := range c.files {
				repo[file] = &fstest.MapFile{Data: []byte(text)}
				dirs[strings.Split(file, "/")[0]] = true
			}
			src := fleet.Source{Repo: repo}
			for dir := range dirs {
				src.Dirs = append(src.Dirs, dir)
			}
			f, err := fleet.Load(t.Context(), src, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			generated, faults, err := generate.ApplicationSets(f, generate.Options{})
			got := fleettest.Texts(faults) + generate.YAML(generated...)
			if err != nil {
				got = "error: " + err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("want %s\ngot %s\nof %s", c.want, got, fleettest.Texts(f.Findings))
			}
		})
	}
}
