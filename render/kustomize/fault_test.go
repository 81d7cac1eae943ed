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
		"a patch that is a value": {patch("hunter2"), secret, "unable to parse SM or JSON patch from (…)"},
		"a JSON patch":            {patch(`[{"op": "hunter2", "path": "/stringData/p", "value": "hunter2"}]`), secret, "Unexpected kind: (a value)"},
		"a JSON patch of nothing": {patch(`[{"op": "replace", "path": "/stringData/hunter/x", "value": "hunter2"}]`), secret, "doc is missing path: /stringData/hunter/x"},
		"a JSON patch of no path": {patch("- {op: replace, path: /stringData/far/off, value: hunter2} # hunter2"), secret, "/stringData/far/off"},
		"a value in a name":       {"resources: [a.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-repo-server}, data: {p: hunter2}}'\n", strings.Replace(secret, "{name: a}", "{name: a, labels: {app: repo-server}}", 1), "argocd-repo-server"},
		"a JSON patch for nobody": {"resources: [a.yaml]\npatches:\n- patch: '[{op: add, path: /stringData/p, value: hunter2}]'\n", secret, "unable to parse SM or JSON patch from (…)"},
		"two patches, a target":   {patch(secret + "---\n" + secret), secret, "is not allowed to set `patches.target` field: (…)"},
		"a literal":               {"secretGenerator: [{name: a, literals: [hunter2]}]\n", secret, "a literal is not key=value"},
		"a generator's merge":     {"secretGenerator: [{name: a, behavior: merge, literals: [p=hunter2]}]\n", secret, "a generator for Secret a has the behavior merge or replace"},
		"a generator's again":     {"resources: [a.yaml]\nsecretGenerator: [{name: a, literals: [p=hunter2], options: {disableNameSuffixHash: true}}]\n", secret, "id Secret a exists; can not use behavior"},
		"an object with no kind":  {"resources: [a.yaml]\n", strings.Replace(secret, "kind: Secret\n", "", 1), "app/kustomization.yaml:1: resources[0]: missing kind in object (…)"},
		"an object with no name":  {"resources: [a.yaml]\n", strings.Replace(secret, "metadata: {name: a}\n", "", 1), "app/kustomization.yaml:1: resources[0]: missing metadata.name in object (…)"},
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

// TestValueTexts looks for values in a message that no rule is there for.
func TestValueTexts(t *testing.T) {
	repo := fstest.MapFS{
		"kustomization.yaml": {Data: []byte("resources: [a.yaml]\nnamespace: horse\nsecretGenerator: [{name: g, literals: ['k=correct\"horse'], envs: [e]}]\npatches: [{patch: '{kind: Secret, metadata: {name: battery}, data: {p: staple-staple}}'}]\n")},
		"a.yaml":             {Data: []byte("kind: Secret\nmetadata: {name: battery}\ndata: {p: aHVudGVyMg==}\nstringData: {q: battery, lines: \"one first line\\nand a second one\"}\n")},
		"e":                  {Data: []byte("TOKEN=tr0ub4dor&3\n")},
	}
	var read []readFile
	for name, file := range repo {
		read = append(read, readFile{name, file.Data})
	}
	for message, want := range map[string]string{
		"Secret horse/battery is wrong: hunter2":    "Secret horse/battery is wrong: (a value)",
		"aHVudGVyMg== is no hunter22":               "(a value) is no hunter22",
		`value "correct\"horse", tr0ub4dor&3`:       `value "(a value)", (a value)`,
		"p: staple-staple, one first line":          "p: (a value), (a value)",
		`"one first line\nand a second one"`:        `"(a value)\n(a value)"`,
		"c3RhcGxlLXN0YXBsZQ== at TOKEN":             "(a value) at TOKEN",
		"data and stringData of kustomization.yaml": "data and stringData of kustomization.yaml",
	} {
		if got := redactValues(message, read); got != want {
			t.Errorf("%s\n got %s\nwant %s", message, got, want)
		}
	}
}
