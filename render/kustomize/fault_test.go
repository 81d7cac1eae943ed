package kustomize

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/render/input"
)

// TestKustomizeSecrets makes kustomize fail over a Secret in the ways in which it
// quotes what it failed over, and looks at what is left of that.
func TestKustomizeSecrets(t *testing.T) {
	const planted = "hunter2"
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: hunter2}\n"
	from := func(source, target string) string {
		return "resources: [a.yaml]\nreplacements:\n- source: {kind: Secret, name: a, " + source + "}\n  targets: [{select: {kind: Secret}, " + target + "}]\n"
	}
	patch := func(text string) string {
		return "resources: [a.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
	}
	for name, c := range map[string]struct{ kustomization, a, want string }{
		"a part of a value":       {from("fieldPath: stringData.p, options: {delimiter: '/', index: 5}", "fieldPaths: [stringData.q]"), secret, "options.index 5 is out of bounds for value (a value)"},
		"a field of a value":      {from("fieldPath: stringData.p.q", "fieldPaths: [stringData.q]"), secret, "wrong node kind: expected MappingNode but got ScalarNode"},
		"an element of a mapping": {from("fieldPath: stringData.p", "fieldPaths: ['stringData.[x=y].z']"), secret, `unable to find field "stringData.[x=y].z" in replacement target: wrong node kind: expected SequenceNode but got MappingNode`},
		"no such field":           {from("fieldPath: stringData.no", "fieldPaths: [stringData.q]"), secret, "fieldPath `stringData.no` is missing for replacement source Secret a"},
		"a directive":             {patch(strings.ReplaceAll(secret, "{p: hunter2}", "{$patch: hunter2}")), secret, "unknown patch strategy '(a value)'"},
		"a patch that is a value": {patch("hunter2"), secret, "unable to parse SM or JSON patch from [patch: \"(a value)\"]; fix: set \"target\""},
		"a JSON patch":            {patch(`[{"op": "hunter2", "path": "/stringData/p", "value": "hunter2"}]`), secret, "Unexpected kind: (a value)"},
		"a JSON patch of nothing": {patch(`[{"op": "replace", "path": "/stringData/hunter/x", "value": "hunter2"}]`), secret, "doc is missing path: /stringData/hunter/x"},
		"a JSON patch of no path": {patch("- {op: replace, path: /stringData/far/off, value: hunter2} # hunter2"), secret, "/stringData/far/off"},
		"a value in a name":       {"resources: [a.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-repo-server}, data: {p: hunter2}}'\n", strings.Replace(secret, "{name: a}", "{name: a, labels: {app: repo-server}}", 1), "argocd-repo-server"},
		"a JSON patch for nobody": {"resources: [a.yaml]\npatches:\n- patch: '[{op: add, path: /stringData/p, value: hunter2}]'\n", secret, "[{op: add, path: /stringData/p, value: (a value)}]"},
		"two patches, a target":   {patch(secret + "---\n" + secret), secret, "is not allowed to set `patches.target` field: [patch: \"apiVersion: v1\\nkind: Secret"},
		"a literal":               {"secretGenerator: [{name: a, literals: [hunter2]}]\n", secret, "a literal is not key=value"},
		"a generator's merge":     {"secretGenerator: [{name: a, behavior: merge, literals: [p=hunter2]}]\n", secret, "a generator for Secret a has the behavior merge or replace"},
		"a generator's again":     {"resources: [a.yaml]\nsecretGenerator: [{name: a, literals: [p=hunter2], options: {disableNameSuffixHash: true}}]\n", secret, "id Secret a exists; can not use behavior"},
		"an object with no kind":  {"resources: [a.yaml]\n", strings.Replace(secret, "kind: Secret\n", "", 1), "app/kustomization.yaml:1: resources[0]: missing kind in object {{v1 } {{a } map[] map[]}}"},
		"an object with no name":  {"resources: [a.yaml]\n", strings.Replace(secret, "metadata: {name: a}\n", "", 1), "app/kustomization.yaml:1: resources[0]: missing metadata.name in object {{v1 Secret} {{ } map[] map[]}}"},
		"a separator":             {"resources: [a.yaml]\n", secret + "---hunter2\n", "app/a.yaml:5: not valid YAML"},
		"an empty item":           {"resources: [a.yaml]\n", "apiVersion: v1\nkind: SecretList\nitems: [{}, {p: hunter2}]\n", "app/kustomization.yaml:1: resources[0]: missing Resource metadata"},
		"two data":                {"resources: [a.yaml]\nsecretGenerator: [{name: a, behavior: merge, literals: [p=hunter2]}]\n", strings.Replace(secret, "p: hunter2", "p: {q: hunter2}", 1), `stringData value for key "p" must be a scalar`},
		"data of another type":    {"resources: [a.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: hunter2}'}]\n", secret, "expected MappingNode but got ScalarNode"},
		"a label in a value":      {"resources: [a.yaml]\nlabels: [{pairs: {a: b}, fields: [{path: stringData/p/q, create: true}]}]\n", secret, "considering field 'stringData/p/q' of object Secret a"},
		"a prefix in a value":     {"resources: [a.yaml]\nimages: [{name: x, newTag: v}]\nreplicas: [{name: a, count: 3}]\n", secret, "replicas are set for a, but no workload has this name"},
		"a variable":              {"resources: [a.yaml]\nvars: [{name: V, objref: {kind: Secret, name: a, apiVersion: v1}, fieldref: {fieldpath: stringData.p.q}}]\n", secret, "not found in corresponding resource"},
		"a role":                  {"resources: [a.yaml]\nnamePrefix: x\n", secret + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a}\nroleRef: hunter2\nsubjects: [hunter2]\n", "interface conversion"},
	} {
		repo := fstest.MapFS{"app/kustomization.yaml": {Data: []byte(c.kustomization)}, "app/a.yaml": {Data: []byte(c.a)}}
		_, err := Render(t.Context(), input.Source{FS: repo, Dir: "app"}, Options{})
		if err == nil {
			t.Errorf("%s: no error, want one with %s", name, c.want)
			continue
		}
		if strings.Contains(err.Error(), planted) || strings.Contains(err.Error(), "0x") || !strings.Contains(err.Error(), "app/") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestNamesInKustomizeErrors makes kustomize fail over objects whose names occur in values,
// and expects them, and everything else that the repository contains, as kustomize has it.
func TestNamesInKustomizeErrors(t *testing.T) {
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: records.dns.example.com}\nspec: {names: {plural: records}, schema: object}\n"
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app.config, namespace: team-a}\ndata: {HOST: HOST, host: duplicate object}\n"
	roles := "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: 'system:prom', namespace: kube-system}\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: 'system:prom', namespace: mon}\n"
	secrets := strings.NewReplacer("kind: RoleBinding", "kind: Secret\nstringData: {p: hunter2}", "rbac.authorization.k8s.io/v1", "v1", "system:prom", "prom").Replace(roles)
	replaced := func(source, field string) string {
		return "resources: [a.yaml]\nreplacements:\n- source: {kind: ConfigMap, " + source + "}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: ['" + field + "']}]\n"
	}
	for name, c := range map[string]struct{ kustomization, a, want string }{
		"a CRD twice":          {"resources: [a.yaml, b.yaml]\n", crd, "resources[1]: duplicate object: CustomResourceDefinition records.dns.example.com; fix: keep one of the two"},
		"a ConfigMap twice":    {"resources: [a.yaml, b.yaml]\n", configMap, "duplicate object: ConfigMap team-a/app.config; fix"},
		"a patch for nobody":   {"resources: [a.yaml]\npatches: [{patch: '{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: record.dns.example.com}}'}]\n", crd, "a patch is for CustomResourceDefinition record.dns.example.com, which"},
		"a field of a target":  {replaced("fieldPath: data.HOST", "data.[name=HOST].value"), configMap, `unable to find field "data.[name=HOST].value" in replacement target`},
		"several sources":      {replaced("fieldPath: data.host", "data.host"), configMap + "---\n" + strings.Replace(configMap, "app.config", "b", 1), "multiple matches for selector ConfigMap, field data.host"},
		"a namespace for both": {"resources: [a.yaml]\nnamespace: mon\n", roles, "RoleBinding mon/system:prom (before: RoleBinding kube-system/system:prom) and RoleBinding mon/system:prom; fix"},
		"a namespace, Secrets": {"resources: [a.yaml]\nnamespace: mon\n", secrets, "Secret mon/prom (before: Secret kube-system/prom) and Secret mon/prom; fix"},
	} {
		repo := fstest.MapFS{"kustomization.yaml": {Data: []byte(c.kustomization)}, "a.yaml": {Data: []byte(c.a)}, "b.yaml": {Data: []byte(c.a)}}
		_, err := Render(t.Context(), input.Source{FS: repo, Dir: "."}, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}
