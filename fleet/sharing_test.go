package fleet_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestSharing finds what environments of one cluster would each hold, in lint and
// before anything is generated, and nothing where each has its own.
func TestSharing(t *testing.T) {
	const (
		role    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: []\n---\n"
		ownRole = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"{{ .Release.Namespace }}-reader\"}\nrules: []\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: \"{{ .Release.Namespace }}\"}\n"
		chart   = "apiVersion: v2\nname: a\nversion: 1.0.0\n"
		in      = "rolloutPhase: 650\nnamespace: shop\n"
		two     = "[{name: dev, namespaceSuffix: -dev}, {name: qa, namespaceSuffix: -qa}]"
	)
	for name, c := range map[string]struct {
		environments string
		files        map[string]string
		want         string // a finding; empty for none
	}{
		"a role of the cluster": {two, map[string]string{"a/component.yaml": in, "a/a.yaml": role + configMap},
			"a holds ClusterRole reader in each of dev, qa, and these share a cluster: only one Application can have it, and the other is always out of sync, which no step gets past; put what is in no namespace into a component of its own"},
		"a namespace that is written out": {two, map[string]string{"a/component.yaml": in, "a/a.yaml": strings.Replace(configMap, "{name: a}", "{name: a, namespace: shop}", 1)},
			"a holds ConfigMap shop/a in each of dev, qa, and these share a cluster: only one Application can have it, and the other is always out of sync, which no step gets past; drop metadata.namespace"},
		"no suffix": {"[{name: dev}, {name: qa}]", map[string]string{"a/component.yaml": in, "a/a.yaml": configMap},
			"a holds ConfigMap shop/a in each of dev, qa, and these share a cluster: only one Application can have it, and the other is always out of sync, which no step gets past; give the environments a namespaceSuffix each in ladder.yaml"},
		"three names of one cluster": {`[{name: dev}, {name: qa, server: in-cluster}, {name: prod, server: "https://kubernetes.default.svc"}]`, map[string]string{"a/component.yaml": in, "a/a.yaml": configMap},
			"a holds ConfigMap shop/a in each of dev, qa, prod"},
		"two components": {two, map[string]string{"a/component.yaml": in + "environments: [dev]\n", "a/a.yaml": role + configMap, "b/component.yaml": in + "environments: [qa]\n", "b/b.yaml": role},
			"a in dev and b in qa both hold ClusterRole reader"},
		"definitions": {two, map[string]string{"a/component.yaml": in + "environments: [dev, qa]\n", "a/a.yaml": configMap + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.x.example.com}\nspec: {group: x.example.com, names: {kind: X, plural: xs}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"},
			"write crds: split for its definitions"},
		"a chart that follows the namespace": {two, map[string]string{"a/component.yaml": in, "a/Chart.yaml": chart, "a/templates/a.yaml": ownRole}, ""},
		"a suffix and none":                  {"[{name: dev}, {name: qa, namespaceSuffix: -qa}]", map[string]string{"a/component.yaml": in, "a/Chart.yaml": chart, "a/templates/a.yaml": ownRole}, ""},
		"only for the cluster":               {two, map[string]string{"a/component.yaml": in, "a/a.yaml": role}, ""},
		"clusters of their own":              {`[{name: dev}, {name: qa, server: "https://qa.example.com"}]`, map[string]string{"a/component.yaml": in, "a/a.yaml": role + configMap}, ""},
		"in one environment":                 {two, map[string]string{"a/component.yaml": in + "environments: [dev]\n", "a/a.yaml": role + configMap}, ""},
		"accepted": {two + ", accepted: [{rule: object-shared, component: a, why: one is synced by hand}]", map[string]string{"a/component.yaml": in, "a/a.yaml": role + configMap},
			"note: a/component.yaml: ClusterRole reader: a holds"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fstest.MapFS{"ladder.yaml": {Data: []byte("fleet: {name: f, repoURL: https://git.example.com/f.git, environments: " + c.environments + "}\n")}}
			src := fleet.Source{Repo: repo}
			for file, text := range c.files {
				repo[file] = &fstest.MapFile{Data: []byte(text)}
				if dir, is := strings.CutSuffix(file, "/component.yaml"); is {
					src.Dirs = append(src.Dirs, dir)
				}
			}
			f, err := fleet.Load(t.Context(), src, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			made, faults, err := f.ApplicationSets(fleet.SetOptions{})
			_, _, errApps := f.Apps(fleet.AppsOptions{Path: "apps"})
			got := texts(faults)
			if err != nil {
				got = "error: " + err.Error()
			}
			found := texts(f.Lint(""))
			if c.want == "" {
				if strings.Contains(got+found, "share a cluster") || err != nil || errApps != nil {
					t.Errorf("it finds\n%s%s", got, found)
				}
				return
			}
			if !strings.Contains(found, c.want) {
				t.Errorf("lint: want %s\ngot %s", c.want, found)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("appset: want %s\ngot %s%s", c.want, got, fleet.YAML(made...))
			}
			if (err == nil) != (errApps == nil) {
				t.Errorf("apps: %v", errApps)
			}
		})
	}
}
