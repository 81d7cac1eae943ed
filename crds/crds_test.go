package crds_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

func parse(t *testing.T, text string) []object.Object {
	t.Helper()
	objs, err := object.Parse("a.yaml", 1, text)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// definition writes one, with more metadata and more of its spec.
func definition(name, meta, spec string) string {
	plural, group, _ := strings.Cut(name, ".")
	return "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + name + "\n" + meta +
		"spec:\n  group: " + group + "\n  names: {kind: " + strings.ToUpper(plural[:1]) + plural[1:len(plural)-1] +
		", plural: " + plural + "}\n" + spec
}

// look surveys a chart of one template, whose values are given as what is true.
func look(t *testing.T, template string, on ...string) *crds.Survey {
	t.Helper()
	values := crds.Values{}
	for _, path := range on {
		here := map[string]any(values)
		steps := strings.Split(path, ".")
		for _, step := range steps[:len(steps)-1] {
			next, _ := here[step].(map[string]any)
			if next == nil {
				next = map[string]any{}
				here[step] = next
			}
			here = next
		}
		here[steps[len(steps)-1]] = true
	}
	chart := &crds.Chart{Name: "zoo", Templates: []crds.File{{Name: "templates/a.yaml", Shown: "a.yaml", Text: template}}}
	return crds.Examine(chart, values, knowledge.Default())
}

// TestConditions reads the conditions that templates put around definitions, and
// tells which switches must be turned on.
func TestConditions(t *testing.T) {
	d := definition("zebras.example.com", "", "")
	tests := []struct {
		name, template string
		on             []string
		want           string
	}{
		{"always there", d, nil, ""},
		{"if", "{{ if .Values.crds.install }}\n" + d + "{{ end }}", nil, "crds.install"},
		{"on already", "{{ if .Values.crds.install }}\n" + d + "{{ end }}", []string{"crds.install"}, ""},
		{"nested", "{{ if .Values.crds.install }}{{ if .Values.crds.zebras }}\n" + d + "{{ end }}{{ end }}",
			[]string{"crds.install"}, "crds.zebras"},
		{"and", "{{ if and .Values.crds.install .Values.crds.zebras }}\n" + d + "{{ end }}", nil, "crds.install crds.zebras"},
		{"or takes one", "{{ if or .Values.feature .Values.crds.install .Values.installCRDs }}\n" + d + "{{ end }}", nil, "crds.install"},
		{"or that holds", "{{ if or .Values.feature .Values.crds.install }}\n" + d + "{{ end }}", []string{"feature"}, ""},
		{"inverted", "{{ if not .Values.crds.external }}\n" + d + "{{ end }}", []string{"crds.external"}, ""},
		{"not not", "{{ if not (not .Values.crds.install) }}\n" + d + "{{ end }}", nil, "crds.install"},
		{"else", "{{ if .Values.crds.external }}\na: b\n{{ else if .Values.crds.install }}\n" + d + "{{ end }}", nil, "crds.install"},
		{"a feature is no switch", "{{ if .Values.gateway.enabled }}\n" + d + "{{ end }}", nil, ""},
		{"with", "{{ with .Values.crds }}{{ if .install }}\n" + d + "{{ end }}{{ end }}", []string{"crds.other"}, "crds.install"},
		{"from the root in a range", "{{ range .Values.list }}{{ if $.Values.crds.install }}\n" + d + "{{ end }}{{ end }}", nil, "crds.install"},
		{"a variable", "{{ $crds := .Values.crds }}{{ if $crds.install }}\n" + d + "{{ end }}", nil, "crds.install"},
		{"index", `{{ if index .Values "crds" "install" }}` + "\n" + d + "{{ end }}", nil, "crds.install"},
		{"compared", `{{ if eq .Values.crds.install true }}` + "\n" + d + "{{ end }}", nil, "crds.install"},
		{"default", "{{ if .Values.crds.install | default false }}\n" + d + "{{ end }}", nil, "crds.install"},
		{"in parentheses", "{{ if (.Values.crds).install }}\n" + d + "{{ end }}", nil, "crds.install"},
		{"defined", "{{ define \"x\" }}\n" + d + "{{ end }}{{ if .Values.crds.install }}{{ include \"x\" . }}{{ end }}", nil, "crds.install"},
		{"defined in itself", "{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ if .Values.crds.install }}{{ include \"x\" . }}{{ end }}",
			nil, ""},
		{"not by switches alone", "{{ if and .Values.crds.install .Values.feature }}\n" + d + "{{ end }}", nil, ""},
		{"two ways, one by a switch alone", "{{ if and .Values.crds.install .Values.feature }}\n" + d + "{{ end }}{{ if .Values.crds.plain }}\n" +
			d + "{{ end }}", nil, "crds.plain"},
		{"known to be another thing", "{{ if .Values.crds.keep }}\n" + d + "{{ end }}", nil, ""},
		{"spoken of in a description",
			"{{ if .Values.crds.install }}\n# kind: CustomResourceDefinition\na: the kind CustomResourceDefinition\n{{ end }}", nil, ""},
		{"no template", "{{ if .Values.crds.install }}\n" + d, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range look(t, tt.template, tt.on...).DisabledSwitches(nil) {
				got = append(got, s.Path.String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWithheld names what comes only with values that are no switches.
func TestWithheld(t *testing.T) {
	text := "{{ if .Values.gateway.enabled }}\n" + definition("gates.example.com", "", "") +
		definition("doors.example.com", "", "") + "{{ end }}\n" +
		"{{ if and .Values.crds.install (not .Values.minimal) }}\n" + definition("walls.example.com", "", "") + "{{ end }}\n" +
		"{{ if .Values.windows }}\n" + definition("roofs.example.com", "", "") + "{{ end }}\n{{ if .Capabilities.APIVersions.Has \"a/v1\" }}\n" +
		definition("steps.example.com", "", "") + "{{ end }}\n"
	var got []string
	for _, f := range look(t, text, "minimal", "windows").CRDsOfFeatures(parse(t, definition("roofs.example.com", "", ""))) {
		if f.Severity != finding.Note || f.File != "a.yaml" {
			t.Errorf("%+v", f)
		}
		got = append(got, f.Field+": "+f.Message)
	}
	want := []string{
		"gateway.enabled=true: the chart renders doors.example.com, gates.example.com only with this setting",
		"crds.install=true and minimal=false: the chart renders walls.example.com only with this setting",
		": the chart contains steps.example.com, but does not render it, and no value explains why",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnique accepts a definition that is there twice in another layout, and
// nothing else.
func TestUnique(t *testing.T) {
	block := definition("zebras.example.com", "", "  scope: Cluster\n")
	flow := "---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: zebras.example.com}, " +
		"spec: {scope: Cluster, group: example.com, names: {kind: Zebra, plural: zebras}}}\n"
	got, err := crds.Unique(parse(t, block+flow+definition("lions.example.com", "", "")))
	if err != nil || len(got) != 2 {
		t.Errorf("%d objects, %v; want 2", len(got), err)
	}
	_, err = crds.Unique(parse(t, block+definition("zebras.example.com", "", "  scope: Namespaced\n")))
	if f := finding.Of(err); len(f) != 1 || f[0].Rule != "duplicate-object" || !strings.Contains(f[0].Message, "a.yaml:2") {
		t.Errorf("error = %v", err)
	}
}

func TestNamesRelease(t *testing.T) {
	service := func(name string) string {
		return "  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: " + name + ", namespace: ns}}}}\n"
	}
	const inField, inAnnotation = "spec.conversion.webhook.clientConfig.service.name", "metadata.annotations[cert-manager.io/inject-ca-from]"
	tests := []struct {
		name, meta, spec string
		want             []string
	}{
		{"nothing", "", "", nil},
		{"a fixed name", "", service("metallb-webhook"), nil},
		{"the release", "", service("shop-webhook"), []string{inField}},
		{"just the release", "", service("shop"), []string{inField}},
		{"another that begins so", "", service("shopping-webhook"), nil},
		{"a certificate", "  annotations: {cert-manager.io/inject-ca-from: ns/shop-cert}\n", service("fixed"), []string{inAnnotation}},
		{"a namespace of that name", "  annotations: {cert-manager.io/inject-ca-from: shop/cert}\n", "", nil},
		{"a label that leads nowhere", "  labels: {app.kubernetes.io/instance: shop}\n", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := crds.NamesRelease(parse(t, definition("zebras.example.com", tt.meta, tt.spec))[0], "shop")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUpgraders(t *testing.T) {
	job := func(name, annotations, container string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + name + "\n  annotations: {" + annotations +
			"}\nspec: {template: {spec: {containers: [{name: a, " + container + "}]}}}\n"
	}
	text := job("by-its-crds-name", "helm.sh/hook: pre-upgrade", "image: a") +
		job("by-image", "helm.sh/hook: pre-install", "image: example.com/operator-crds:1") +
		job("by-argument", "", "image: kubectl, args: [apply, -f, /crds/]") +
		job("with-the-same-image", "helm.sh/hook: post-install", "image: example.com/operator-crds:1, args: [label, ns, zoo]") +
		job("cleans-crds", "helm.sh/hook: pre-delete", "image: a") +
		job("tests-crds", "helm.sh/hook: test", "image: a") +
		job("migrates", "helm.sh/hook: post-upgrade", "image: a, args: [discredits]") +
		"---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: upgrade-crds\n" +
		"---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: crds\nspec: {template: {spec: {containers: [{name: a, image: crds}]}}}\n"
	var got []string
	for _, u := range crds.Upgraders(parse(t, text), knowledge.Default()) {
		got = append(got, u.ID.Name)
		if f := u.Conflict(); f.Severity != finding.Warning || f.Remedy != "remove it from the chart" {
			t.Errorf("%+v", f)
		}
	}
	if diff := cmp.Diff([]string{"by-its-crds-name", "by-image", "by-argument"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCleanKeepsTheText changes nothing but what it must.
func TestCleanKeepsTheText(t *testing.T) {
	objs := parse(t, "# of an operator\n"+strings.TrimPrefix(definition("zebras.example.com", "  namespace: zoo\n  labels: {a: 'b'} # so\n",
		"  preserveUnknownFields: false\n  scope: 'Cluster'\n"), "---\n"))
	got, err := crds.Clean(objs[0], false)
	if err != nil {
		t.Fatal(err)
	}
	want := `# of an operator
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    argocd.argoproj.io/sync-options: "ServerSideApply=true,Prune=false"
  name: zebras.example.com
  labels: {a: 'b'} # so
spec:
  group: example.com
  names: {kind: Zebra, plural: zebras}
  scope: 'Cluster'
`
	if diff := cmp.Diff(want, got.Text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := crds.Clean(got, false)
	if err != nil || again.Text() != got.Text() {
		t.Errorf("cleaned twice it changes again: %v\n%s", err, again.Text())
	}
}

// TestCompare is silent about what does no harm.
func TestCompare(t *testing.T) {
	before := parse(t, definition("zebras.example.com", "",
		"  versions: [{name: v1, served: true, storage: true}, {name: v0, served: false, storage: false}]\n"))
	after := parse(t, definition("zebras.example.com", "", "  scope: Namespaced\n  versions: [{name: v2, served: true, storage: true}, "+
		"{name: v1, served: true, storage: false}]\n")+definition("lions.example.com", "", ""))
	if got := crds.Compare(before, after); got != nil {
		t.Errorf("got %v", got)
	}
}
