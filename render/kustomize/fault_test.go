package kustomize

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/render/input"
)

// patch patches Secrets by a text.
func patch(text string) string {
	return "resources: [a.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

// TestKustomizeSecrets makes kustomize fail over a Secret in the ways in which it
// quotes what it failed over, and looks at what is left of that.
func TestKustomizeSecrets(t *testing.T) {
	const planted = "hunter2"
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: hunter2}\n"
	from := func(source, target string) string {
		return "resources: [a.yaml]\nreplacements:\n- source: {kind: Secret, name: a, " + source +
			"}\n  targets: [{select: {kind: Secret}, " + target + "}]\n"
	}
	for name, c := range map[string]struct{ kustomization, a, want string }{
		"a part of a value": {from("fieldPath: stringData.p, options: {delimiter: '/', index: 5}", "fieldPaths: [stringData.q]"), secret,
			"options.index 5 is out of bounds for value (a value)"},
		"a field of a value": {from("fieldPath: stringData.p.q", "fieldPaths: [stringData.q]"), secret,
			"wrong node kind: expected MappingNode but got ScalarNode"},
		"an element of a mapping": {from("fieldPath: stringData.p", "fieldPaths: ['stringData.[x=y].z']"), secret,
			`unable to find field "stringData.[x=y].z" in replacement target: wrong node kind: expected SequenceNode but got MappingNode`},
		"no such field": {from("fieldPath: stringData.no", "fieldPaths: [stringData.q]"), secret,
			"fieldPath `stringData.no` is missing for replacement source Secret a"},
		"a directive": {patch(strings.ReplaceAll(secret, "{p: hunter2}", "{$patch: hunter2}")), secret,
			"unknown patch strategy '(a value)'"},
		"a patch that is a value": {patch("hunter2"), secret,
			"unable to parse SM or JSON patch from [patch: \"(a value)\"]; fix: set \"target\""},
		"a JSON patch": {patch(`[{"op": "hunter2", "path": "/stringData/p", "value": "hunter2"}]`), secret,
			"Unexpected kind: (a value)"},
		"a JSON patch of nothing": {patch(`[{"op": "replace", "path": "/stringData/hunter/x", "value": "hunter2"}]`), secret,
			"doc is missing path: /stringData/hunter/x"},
		"a JSON patch of no path": {patch("- {op: replace, path: /stringData/far/off, value: hunter2} # hunter2"), secret, "/stringData/far/off"},
		"a value in a name": {"resources: [a.yaml]\npatches:\n" +
			"- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-repo-server}, data: {p: hunter2}}'\n",
			strings.Replace(secret, "{name: a}", "{name: a, labels: {app: repo-server}}", 1), "argocd-repo-server"},
		"a JSON patch for nobody": {"resources: [a.yaml]\npatches:\n- patch: '[{op: add, path: /stringData/p, value: hunter2}]'\n",
			secret, "[{op: add, path: /stringData/p, value: (a value)}]"},
		"two patches, a target": {patch(secret + "---\n" + secret), secret,
			"is not allowed to set `patches.target` field: [patch: \"apiVersion: v1\\nkind: Secret"},
		"a literal": {"secretGenerator: [{name: a, literals: [hunter2]}]\n", secret, "a literal is not key=value"},
		"a generator's merge": {"secretGenerator: [{name: a, behavior: merge, literals: [p=hunter2]}]\n",
			secret, "a generator for Secret a has the behavior merge or replace"},
		"a generator's again": {"resources: [a.yaml]\nsecretGenerator: [{name: a, literals: [p=hunter2], " +
			"options: {disableNameSuffixHash: true}}]\n", secret, "id Secret a exists; can not use behavior"},
		"an object with no kind": {"resources: [a.yaml]\n", strings.Replace(secret, "kind: Secret\n", "", 1),
			"app/a.yaml: an object (v1) lacks kind"},
		"an object with no name": {"resources: [a.yaml]\n", strings.Replace(secret, "metadata: {name: a}\n", "", 1),
			"app/a.yaml: an object (v1 Secret) lacks metadata.name"},
		"a separator": {"resources: [a.yaml]\n", secret + "---hunter2\n", "app/a.yaml:5: not valid YAML"},
		"an empty item": {"resources: [a.yaml]\n", "apiVersion: v1\nkind: SecretList\nitems: [{}, {p: hunter2}]\n",
			"app/a.yaml: missing Resource metadata"},
		"two data": {"resources: [a.yaml]\nsecretGenerator: [{name: a, behavior: merge, literals: [p=hunter2]}]\n",
			strings.Replace(secret, "p: hunter2", "p: {q: hunter2}", 1), `stringData value for key "p" must be a scalar`},
		"data of another type": {"resources: [a.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: a}, " +
			"stringData: hunter2}'}]\n", secret, "expected MappingNode but got ScalarNode"},
		"a label in a value": {"resources: [a.yaml]\nlabels: [{pairs: {a: b}, fields: [{path: stringData/p/q, create: true}]}]\n",
			secret, "considering field 'stringData/p/q' of object Secret a"},
		"a prefix in a value": {"resources: [a.yaml]\nimages: [{name: x, newTag: v}]\nreplicas: [{name: a, count: 3}]\n",
			secret, "replicas are set for a, but no workload has this name"},
		"a variable": {"resources: [a.yaml]\nvars: [{name: V, objref: {kind: Secret, name: a, apiVersion: v1}, " +
			"fieldref: {fieldpath: stringData.p.q}}]\n", secret, "not found in corresponding resource"},
		"a role": {"resources: [a.yaml]\nnamePrefix: x\n", secret + "---\napiVersion: rbac.authorization.k8s.io/v1\n" +
			"kind: RoleBinding\nmetadata: {name: a}\nroleRef: hunter2\nsubjects: [hunter2]\n", "interface conversion"},
	} {
		repo := fstest.MapFS{"app/kustomization.yaml": {Data: []byte(c.kustomization)}, "app/a.yaml": {Data: []byte(c.a)}}
		_, err := Render(t.Context(), input.Source{FS: repo, Dir: "app"}, Options{})
		if err == nil {
			t.Errorf("%s: no error, want one with %s", name, c.want)
			continue
		}
		if strings.Contains(err.Error(), planted) || strings.Contains(err.Error(), "0x") || !strings.Contains(err.Error(), "app/") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestNamesInKustomizeErrors makes kustomize fail over objects whose names occur in values,
// and expects them, and everything else that the repository contains, as kustomize has it.
func TestNamesInKustomizeErrors(t *testing.T) {
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: records.dns.example.com}\n" +
		"spec: {names: {plural: records}, schema: object}\n"
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app.config, namespace: team-a}\n" +
		"data: {HOST: HOST, host: duplicate object}\n"
	roles := "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: 'system:prom', namespace: kube-system}\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: 'system:prom', namespace: mon}\n"
	secrets := strings.NewReplacer("kind: RoleBinding", "kind: Secret\nstringData: {p: hunter2}",
		"rbac.authorization.k8s.io/v1", "v1", "system:prom", "prom").Replace(roles)
	replaced := func(source, field string) string {
		return "resources: [a.yaml]\nreplacements:\n- source: {kind: ConfigMap, " + source +
			"}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: ['" + field + "']}]\n"
	}
	for name, c := range map[string]struct{ kustomization, a, want string }{
		"a CRD twice": {"resources: [a.yaml, b.yaml]\n", crd, "kustomization.yaml:1: resources[1]: duplicate object: " +
			"CustomResourceDefinition records.dns.example.com, in a.yaml:1 and b.yaml:1; fix: keep one of the two"},
		"a ConfigMap twice": {"resources: [a.yaml, b.yaml]\n", configMap,
			"duplicate object: ConfigMap team-a/app.config, in a.yaml:1 and b.yaml:1; fix"},
		"a patch for nobody": {"resources: [a.yaml]\npatches: [{patch: '{apiVersion: apiextensions.k8s.io/v1, " +
			"kind: CustomResourceDefinition, metadata: {name: record.dns.example.com}}'}]\n",
			crd, "a patch is for CustomResourceDefinition record.dns.example.com, which"},
		"a field of a target": {replaced("fieldPath: data.HOST", "data.[name=HOST].value"), configMap,
			`unable to find field "data.[name=HOST].value" in replacement target`},
		"several sources": {replaced("fieldPath: data.host", "data.host"),
			configMap + "---\n" + strings.Replace(configMap, "app.config", "b", 1), "multiple matches for selector ConfigMap, field data.host"},
		"a namespace for both": {"resources: [a.yaml]\nnamespace: mon\n", roles,
			"RoleBinding mon/system:prom (before: RoleBinding kube-system/system:prom) and RoleBinding mon/system:prom; fix"},
		"a namespace, Secrets": {"resources: [a.yaml]\nnamespace: mon\n", secrets,
			"Secret mon/prom (before: Secret kube-system/prom) and Secret mon/prom; fix"},
	} {
		repo := fstest.MapFS{"kustomization.yaml": {Data: []byte(c.kustomization)}, "a.yaml": {Data: []byte(c.a)}, "b.yaml": {Data: []byte(c.a)}}
		_, err := Render(t.Context(), input.Source{FS: repo, Dir: "."}, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestPlacesInKustomizeErrors makes kustomize fail over something whose place its message does
// not say, and expects the place, the cause and both sides.
func TestPlacesInKustomizeErrors(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {host: x}\n"
	source := "- source: {kind: ConfigMap, name: a, fieldPath: data.host}\n"
	for name, c := range map[string]struct{ kustomization, b, want string }{
		"a field of the source": {
			"replacements:\n" + strings.Replace(source, "host", "hosts", 1) + "  targets: [{select: {name: a}, fieldPaths: [data.host]}]\n",
			"", "kustomization.yaml:3: fieldPath `data.hosts` is missing for replacement source ConfigMap a;"},
		"a field of the target": {"replacements:\n" + source + "  targets:\n  - select: {name: a}\n    fieldPaths: [data.no.x]\n",
			"", `kustomization.yaml:6: unable to find field "data.no.x" in replacement target;`},
		"no source": {
			"replacements:\n" + strings.Replace(source, "name: a", "name: b", 1) + "  targets: [{select: {name: a}, fieldPaths: [data.host]}]\n",
			"", "kustomization.yaml:3: nothing selected by ConfigMap b, field data.host;"},
		"a file of replacements": {"replacements: [{path: b.yaml}]\n", source,
			"b.yaml:1: replacements must specify a source and at least one target;"},
		"a target without a selector": {"replacements:\n" + source + "  targets: [{fieldPaths: [data.host]}]\n",
			"", "kustomization.yaml:3: target must specify resources to select;"},
		"sources of any kind": {"replacements:\n- source: {fieldPath: data.host}\n  targets: [{select: {name: a}, " +
			"fieldPaths: [data.host]}]\nconfigMapGenerator: [{name: c}]\n", "", "multiple matches for selector any kind, field data.host;"},
		"a path of a JSON patch": {"patches: [{path: b.yaml, target: {kind: ConfigMap}}]\n",
			"- op: remove\n  path: /data/no\n", "b.yaml:2: error in remove for path: '/data/no'"},
		"a patch for nobody": {"patches: [{path: b.yaml}]\n", strings.Replace(configMap, "name: a", "name: nobody", 1),
			"b.yaml:1: a patch is for ConfigMap nobody, which is not in the kustomization;"},
		"a patch for nobody, inline": {"patchesStrategicMerge:\n- '{apiVersion: v1, kind: ConfigMap, metadata: {name: nobody}}'\n",
			"", "a patch is for ConfigMap nobody, which is not in the kustomization;"},
		"a patch elsewhere": {"patches: [{path: b.yaml}]\n", strings.Replace(configMap, "name: a", "name: a, namespace: other", 1),
			"b.yaml:1: a patch is for ConfigMap other/a, which is not in the kustomization; " +
				"fix: correct the namespace in the patch: a.yaml:1 contains ConfigMap a;"},
		"a configuration": {"configurations: [b.yaml]\n", "namePrefix:\n- pth: metadata/name\n",
			`b.yaml:2: error unmarshaling JSON: while decoding JSON: json: unknown field "pth";`},
		"a patch of another type": {"patches: ['{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: 5}']\n",
			"", "kustomization.yaml:2: patches[0]: must be a mapping, not a string; fix: write path: before the name of the file"},
		"a node of another type": {"patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: 5}'}]\n",
			"", "expected MappingNode but got ScalarNode: node contents: 5;"},
		"a tag": {"images:\n- name: x\n  newTag: 3.6\n", "",
			"kustomization.yaml:4: images[0].newTag: must be a string, not a number; fix: quote it"},
		"a label": {"labels:\n- pairs: {tier: web, v: 5}\n", "",
			"kustomization.yaml:3: labels[0].pairs.v: must be a string, not a number; fix: quote it"},
		"a literal": {"configMapGenerator:\n- name: c\n  literals:\n  - v: [x]\n",
			"", "kustomization.yaml:5: configMapGenerator[0].literals[0]: must be a string, not a mapping; fix: write a string"},
		"another version": {"apiVersion: kustomize.config.k8s.io/v1\n",
			"", "kustomization.yaml: apiVersion for Kustomization should be kustomize.config.k8s.io/v1beta1;"},
		"another kind": {"kind: Kustomisation\n", "", "kustomization.yaml: kind should be Kustomization or Component;"},
		"an order":     {"sortOptions: {order: lexical}\n", "", "the field 'sortOptions.order' must be one of [fifo, legacy];"},
	} {
		repo := fstest.MapFS{"kustomization.yaml": {Data: []byte("resources: [a.yaml]\n" + c.kustomization)}, "a.yaml": {Data: []byte(configMap)},
			"b.yaml": {Data: []byte(c.b)}}
		_, err := Render(t.Context(), input.Source{FS: repo, Dir: "."}, Options{})
		if err == nil || !strings.HasPrefix(err.Error()+";", "b.yaml:") && !strings.HasPrefix(err.Error(), "kustomization.yaml:") ||
			!strings.Contains(err.Error()+";", c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	repo := fstest.MapFS{"app/kustomization.yaml": {Data: []byte("resources: [a.yaml, ../base]\n")}, "app/a.yaml": {Data: []byte(configMap)},
		"base/kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")}, "base/a.yaml": {Data: []byte(configMap)}}
	const want = "app/kustomization.yaml:1: resources[1]: duplicate object: ConfigMap a, in app/a.yaml:1 and base/a.yaml:1; " +
		"fix: keep one of the two"
	if _, err := Render(t.Context(), input.Source{FS: repo, Dir: "app"}, Options{}); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
