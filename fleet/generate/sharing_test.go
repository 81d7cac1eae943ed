package generate_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestSharing finds what environments of one cluster would each hold, in lint and
// before anything is generated, and nothing where each has its own.
func TestSharing(t *testing.T) {
	const (
		role    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: []\n---\n"
		ownRole = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"{{ .Release.Namespace }}-reader\"}\n" +
			"rules: []\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: \"{{ .Release.Namespace }}\"}\n"
		chart = "apiVersion: v2\nname: a\nversion: 1.0.0\n"
		in    = "rolloutPhase: 650\nnamespace: shop\n"
		two   = "[{name: dev, namespaceSuffix: -dev}, {name: qa, namespaceSuffix: -qa}]"
	)
	for name, c := range map[string]struct {
		environments string
		files        map[string]string
		want         string // a finding; empty for none
	}{
		"a role of the cluster": {two, map[string]string{"a/component.yaml": in, "a/a.yaml": role + fleettest.ConfigMap},
			"a contains ClusterRole reader in each of dev, qa; the environments share a cluster, in which only one Application can own an object: " +
				"the other one is always OutOfSync, and the rollout stops there; fix: move cluster-scoped objects into a component"},
		"a namespace that is written out": {two, map[string]string{"a/component.yaml": in,
			"a/a.yaml": strings.Replace(fleettest.ConfigMap, "{name: a}", "{name: a, namespace: shop}", 1)},
			"a contains ConfigMap shop/a in each of dev, qa; the environments share a cluster, in which only one Application can own an object: " +
				"the other one is always OutOfSync, and the rollout stops there; fix: remove metadata.namespace"},
		"no suffix": {"[{name: dev}, {name: qa}]", map[string]string{"a/component.yaml": in, "a/a.yaml": fleettest.ConfigMap},
			"a contains ConfigMap shop/a in each of dev, qa; the environments share a cluster, in which only one Application can own an object: " +
				"the other one is always OutOfSync, and the rollout stops there; fix: set a namespaceSuffix for each environment in ladder.yaml"},
		"three names of one cluster": {`[{name: dev}, {name: qa, server: in-cluster}, {name: prod, server: "https://kubernetes.default.svc"}]`,
			map[string]string{"a/component.yaml": in, "a/a.yaml": fleettest.ConfigMap},
			"a contains ConfigMap shop/a in each of dev, qa, prod"},
		"two components": {two, map[string]string{"a/component.yaml": in + "environments: [dev]\n",
			"a/a.yaml": role + fleettest.ConfigMap, "b/component.yaml": in + "environments: [qa]\n", "b/b.yaml": role},
			"a in dev and b in qa both contain ClusterRole reader"},
		"definitions": {two, map[string]string{"a/component.yaml": in + "environments: [dev, qa]\n",
			"a/a.yaml": fleettest.ConfigMap +
				"---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.x.example.com}\n" +
				"spec: {group: x.example.com, names: {kind: X, plural: xs}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, " +
				"schema: {openAPIV3Schema: {type: object}}}]}\n"},
			"set crds: split for its CRDs"},
		"a chart that follows the namespace": {two,
			map[string]string{"a/component.yaml": in, "a/Chart.yaml": chart, "a/templates/a.yaml": ownRole}, ""},
		"a suffix and none": {"[{name: dev}, {name: qa, namespaceSuffix: -qa}]",
			map[string]string{"a/component.yaml": in, "a/Chart.yaml": chart, "a/templates/a.yaml": ownRole}, ""},
		"only for the cluster": {two, map[string]string{"a/component.yaml": in, "a/a.yaml": role}, ""},
		"clusters of their own": {`[{name: dev}, {name: qa, server: "https://qa.example.com"}]`,
			map[string]string{"a/component.yaml": in, "a/a.yaml": role + fleettest.ConfigMap}, ""},
		"in one environment": {two,
			map[string]string{"a/component.yaml": in + "environments: [dev]\n", "a/a.yaml": role + fleettest.ConfigMap}, ""},
		"accepted": {two + ", accepted: [{rule: object-shared, component: a, why: one is synced by hand}]",
			map[string]string{"a/component.yaml": in, "a/a.yaml": role + fleettest.ConfigMap},
			"note: a/component.yaml: ClusterRole reader: a contains"},
	} {
		t.Run(name, func(t *testing.T) {
			checkSharing(t, fleetWith(t, c.environments, c.files), c.want)
		})
	}
}

// checkSharing expects a finding in a fleet, before and while it is generated; empty for none.
func checkSharing(t *testing.T, f *fleet.Fleet, want string) {
	t.Helper()
	generated, faults, err := generate.ApplicationSets(f, generate.Options{})
	_, _, errApps := generate.Applications(f, generate.Options{Path: "apps"})
	got := fleettest.Texts(faults)
	if err != nil {
		got = "error: " + err.Error()
	}
	found := fleettest.Texts(lint.Findings(f, ""))
	if want == "" {
		if strings.Contains(got+found, "share a cluster") || err != nil || errApps != nil {
			t.Errorf("it finds\n%s%s", got, found)
		}
		return
	}
	if !strings.Contains(found, want) {
		t.Errorf("lint: want %s\ngot %s", want, found)
	}
	if !strings.Contains(got, want) {
		t.Errorf("appset: want %s\ngot %s%s", want, got, generate.YAML(generated...))
	}
	if (err == nil) != (errApps == nil) {
		t.Errorf("apps: %v", errApps)
	}
}

// fleetWith loads a fleet of environments with the components in files.
func fleetWith(t *testing.T, environments string, files map[string]string) *fleet.Fleet {
	t.Helper()
	repo := fstest.MapFS{"ladder.yaml": {Data: []byte("fleet: {name: f, repoURL: https://git.example.com/f.git, environments: " +
		environments + "}\n")}}
	src := fleet.Source{Repo: repo}
	for file, text := range files {
		repo[file] = &fstest.MapFile{Data: []byte(text)}
		if dir, is := strings.CutSuffix(file, "/component.yaml"); is {
			src.Dirs = append(src.Dirs, dir)
		}
	}
	f, err := fleet.Load(t.Context(), src, knowledge.Default())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestServerSide applies by the server what no annotation can hold, and charts
// that are known to bring definitions. A component that says otherwise wins.
func TestServerSide(t *testing.T) {
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.x.example.com}\n" +
		"spec: {group: x.example.com, names: {kind: X, plural: xs}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, " +
		"schema: {openAPIV3Schema: {type: object, description: %s}}}]}\n"
	const workload = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n" +
		"spec: {selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a}}, spec: {containers: [{name: a, image: a}]}}}\n"
	for name, c := range map[string]struct {
		component, manifest string
		want                bool
	}{
		"small":                {"", strings.Replace(definition, "%s", "x", 1) + workload, false},
		"large":                {"", strings.Replace(definition, "%s", strings.Repeat("x", 256<<10), 1) + workload, true},
		"just too small":       {"", strings.Replace(definition, "%s", strings.Repeat("x", 250<<10), 1) + workload, false},
		"a chart of an API":    {"chart: {repoURL: oci://quay.io/jetstack/charts, chart: cert-manager, version: v1.19.1}\n", "", true},
		"a chart with nothing": {"chart: {repoURL: https://charts.example.com, chart: nobody-knows}\n", "", false},
		"said otherwise": {"syncOptions: [ServerSideApply=false]\nchart: {repoURL: https://charts.jetstack.io, chart: cert-manager}\n",
			"", false},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fstest.MapFS{"ladder.yaml": {Data: []byte("fleet: {name: f, repoURL: https://git.example.com/f.git}\n")},
				"a/component.yaml": {Data: []byte("rolloutPhase: 650\n" + c.component)}}
			if c.manifest != "" {
				repo["a/a.yaml"] = &fstest.MapFile{Data: []byte(c.manifest)}
			}
			f, err := fleet.Load(t.Context(), fleet.Source{Repo: repo, Dirs: []string{"a"}}, knowledge.Default())
			if err != nil {
				t.Fatal(err)
			}
			apps, _, err := generate.Applications(f, generate.Options{Path: "apps"})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(generate.YAML(apps...), "ServerSideApply=true"); got != c.want {
				t.Errorf("applied by the server: %v, want %v\n%s", got, c.want, fleettest.Texts(f.Findings))
			}
			sets, _, err := generate.ApplicationSets(f, generate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			listed := strings.Contains(generate.YAML(sets...), `(list "a") }}{{ $_ := set $options "ServerSideApply" "true" }}`)
			if listed != (c.want || name == "said otherwise") {
				t.Errorf("listed in the ApplicationSet: %v", listed)
			}
			if text := generate.YAML(apps...); strings.Contains(text, "oci://") {
				t.Errorf("Argo CD would not look at the name of the chart:\n%s", text)
			}
		})
	}
}
