package fleet_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestMissingHere finds what a component names and nothing in the fleet brings,
// and says once of a component that its waves wait for nothing.
func TestMissingHere(t *testing.T) {
	const (
		app = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {defaultBackend: {service: {name: front, port: {number: 80}}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: common}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}]
`
		brings = `{apiVersion: v1, kind: Service, metadata: {name: front}, spec: {selector: {app: front}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`
		all = "missing-namespace missing-role missing-service"
	)
	deployment := func(name, wave string) string {
		return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", annotations: {argocd.argoproj.io/sync-wave: \"" +
			wave + "\"}}\nspec: {selector: {matchLabels: {a: " + name + "}}, template: {metadata: {labels: {a: " + name +
			"}}, spec: {containers: [{name: a, image: a}]}}}\n"
	}
	reader := strings.Replace(deployment("web", "0"), "spec: {containers:",
		"spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], containers:", 1)
	const in = "rolloutPhase: 650\nnamespace: "
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"alone": {map[string]string{"app/component.yaml": in + "shop\n", "app/a.yaml": app}, all},
		"brought": {map[string]string{"app/component.yaml": in + "shop\n", "app/a.yaml": app, "b/component.yaml": in + "shop\n",
			"b/b.yaml": brings, "c/component.yaml": in + "common\n", "c/c.yaml": fleettest.ConfigMap}, ""},
		"brought elsewhere": {map[string]string{"app/component.yaml": in + "shop\nenvironments: [dev]\n", "app/a.yaml": app,
			"b/component.yaml": in + "shop\nenvironments: [prod]\n", "b/b.yaml": brings}, all},
		"disabled": {map[string]string{"app/component.yaml": in + "shop\n", "app/a.yaml": app,
			"b/component.yaml": in + "shop\nenabled: false\n", "b/b.yaml": brings}, all},
		"a PVC that nobody has": {map[string]string{"app/component.yaml": in + "shop\n", "app/a.yaml": reader}, "missing-object"},
		"a PVC that another has": {map[string]string{"app/component.yaml": in + "shop\n", "app/a.yaml": reader,
			"b/component.yaml": in + "shop\n", "b/b.yaml": "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}\n"}, ""},
		"a Secret, left to people": {map[string]string{"app/component.yaml": in + "shop\n",
			"app/a.yaml": strings.Replace(reader, "persistentVolumeClaim: {claimName: data}", "secret: {secretName: data}", 1)}, ""},
		"idle waits": {map[string]string{"app/component.yaml": in + "shop\n",
			"app/a.yaml": fleettest.ConfigMap + deployment("a", "1") + deployment("b", "2") + deployment("c", "3")}, "gate-without-dependent"},
	} {
		t.Run(name, func(t *testing.T) {
			found, got := missing(t, c.files)
			if strings.Join(got, " ") != c.want {
				t.Errorf("found %q, want %q: %v", got, c.want, found)
			}
		})
	}
}

// missing returns what is found in a fleet, and the rules about something missing, each once.
func missing(t *testing.T, files map[string]string) (all []finding.Finding, rules []string) {
	t.Helper()
	repo := fstest.MapFS{"ladder.yaml": {Data: []byte("fleet: {name: f, repoURL: https://git.example.com/f.git}\n")}}
	for file, text := range files {
		repo[file] = &fstest.MapFile{Data: []byte(text)}
	}
	f, err := fleet.Load(t.Context(), fleet.Source{Repo: repo, Dirs: []string{"."}}, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[finding.Rule]bool{}
	for _, found := range f.Findings {
		if seen[found.Rule] {
			t.Errorf("twice: %s", found.Error())
		}
		seen[found.Rule] = true
	}
	for _, rule := range []finding.Rule{"gate-without-dependent", "missing-namespace", "missing-object", "missing-role", "missing-service"} {
		if seen[rule] {
			rules = append(rules, string(rule))
		}
	}
	return f.Findings, rules
}
