package generate_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/generate"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// TestForeignProject: the project is the fleet's, unless the platform lets components
// choose one and names it.
func TestForeignProject(t *testing.T) {
	files := map[string]string{
		"shop/component.yaml":  "{name: shop, rolloutPhase: 650, project: shop}\n",
		"shop/a.yaml":          fleettest.InDefault,
		"admin/component.yaml": "{name: admin, rolloutPhase: 650, project: platform-admin}\n",
		"admin/a.yaml":         strings.Replace(fleettest.InDefault, "name: a", "name: b", 1),
	}
	refuses := func(f *fleet.Fleet, names ...string) {
		t.Helper()
		_, _, err := generate.ApplicationSets(f, generate.Options{})
		_, _, errApps := generate.Applications(f, generate.Options{Path: "apps"})
		for _, err := range []error{err, errApps} {
			for _, name := range names {
				if err == nil || !strings.Contains(err.Error(), `sets the AppProject "`+name+`"`) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if len(names) == 0 && err != nil {
				t.Error(err)
			}
		}
	}
	f := fleettest.Files(t, files, fleet.Source{})
	refuses(f, "shop", "platform-admin")
	if got := fleettest.Texts(lint.Findings(f, "")); strings.Count(got, " sets the AppProject ") != 2 ||
		strings.Contains(got, "error: ") || !strings.Contains(got, `--allow-project platform-admin`) {
		t.Errorf("without a list:\n%s", got)
	}
	f = fleettest.Files(t, files, fleet.Source{Projects: []string{"shop"}})
	refuses(f, "platform-admin")
	if got := fleettest.Texts(lint.Overreach(f, "")); strings.Contains(got, "component shop sets") ||
		!strings.Contains(got, "error: components/admin/component.yaml:1: project: component admin sets the AppProject") {
		t.Errorf("with a list:\n%s", got)
	}
	files["admin/component.yaml"] = "{name: admin, rolloutPhase: 650}\n"
	f = fleettest.Files(t, files, fleet.Source{Projects: []string{"shop"}})
	refuses(f)
	generated, _, err := generate.Applications(f, generate.Options{Path: "apps"})
	if err != nil {
		t.Fatal(err)
	}
	if text := generate.YAML(generated...); strings.Count(text, "project: shop\n") != 1 || strings.Count(text, "project: tenants\n") != 2 {
		t.Errorf("the projects are others:\n%s", text)
	}
}

// TestOverreach: what a component asks for that is the platform's is refused where
// something is generated, and found before.
func TestOverreach(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a line break":        {`syncOptions: ["A=b\n  destination: {server: x}"]`, "bad-name"},
		"a template":          {`componentType: "{{ .path.path }}"`, "bad-name"},
		"a control":           {`labels: {a: "b\u0000"}`, "bad-name"},
		"a break of YAML":     {`chart: {repoURL: "https://charts.example.com\u2028x", chart: x, version: "1"}`, "bad-name"},
		"an Argo CD label":    {`labels: {argocd.argoproj.io/instance: x}`, "reserved-label"},
		"an environment":      {`labels: {environment: prod}`, "reserved-label"},
		"another cluster":     {`server: https://evil.example.com`, "platform-setting"},
		"an order to Argo CD": {`annotations: {argocd.argoproj.io/refresh: hard}`, "platform-setting"},
		"an image updater": {`annotations: {argocd-image-updater.argoproj.io/write-back-method: "git:secret:argocd/repo"}`,
			"platform-setting"},
		"a sync wave":         {`annotations: {argocd.argoproj.io/sync-wave: "-5"}`, "platform-setting"},
		"a namespace's Pods":  {`managedNamespaceMetadata: {labels: {pod-security.kubernetes.io/enforce: privileged}}`, "platform-setting"},
		"a namespace's users": {`managedNamespaceMetadata: {annotations: {openshift.io/sa.scc.uid-range: 0/1}}`, "platform-setting"},
		"a template in info":  {`info: [{name: "{{ .path.path }}", value: x}]`, "bad-name"},
		"an odd annotation":   {`annotations: {$patch: replace}`, "bad-name"},
		"a patch's own word":  {`labels: {$patch: replace}`, "bad-name"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleettest.Files(t, map[string]string{"shop/component.yaml": "name: shop\nrolloutPhase: 650\n" + test.text + "\n",
				"shop/a.yaml": fleettest.InDefault}, fleet.Source{})
			_, _, err := generate.ApplicationSets(f, generate.Options{})
			_, _, errApps := generate.Applications(f, generate.Options{Path: "apps"})
			if err == nil || errApps == nil {
				t.Errorf("it is generated: %v, %v", err, errApps)
			}
			isWanted := func(found finding.Finding) bool { return string(found.Rule) == test.want && found.Line == 3 }
			if !slices.ContainsFunc(lint.Findings(f, ""), isWanted) {
				t.Errorf("lint does not find it:\n%s", fleettest.Texts(lint.Findings(f, "")))
			}
			isRejected := strings.Contains(test.text, "$patch") // by Kubernetes, whoever writes it
			if slices.ContainsFunc(lint.Overreach(f, ""), isWanted) == isRejected {
				t.Errorf("the component asks for too much: %v, want %v", isRejected, !isRejected)
			}
		})
	}
}

// TestReservedNames: no component takes the place of the parent or of the list of its
// children.
func TestReservedNames(t *testing.T) {
	for _, name := range []string{"root", "kustomization", "web"} {
		f := fleettest.Files(t, map[string]string{"shop/component.yaml": "name: " + name + "\nrolloutPhase: 650\n",
			"shop/a.yaml": fleettest.InDefault}, fleet.Source{})
		if _, _, err := generate.Applications(f, generate.Options{Path: "apps"}); err == nil ||
			!strings.Contains(err.Error(), "the name of a parent Application of the generated app of apps") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestQuotedInTemplates: what is in the template of an ApplicationSet comes from
// manifests, too, such as the groups of CRDs, and from components that are disabled.
func TestQuotedInTemplates(t *testing.T) {
	const group = `x") (fail "y`
	f := fleettest.Files(t, map[string]string{
		"crds/component.yaml": "{name: crds, rolloutPhase: 110}\n",
		"crds/a.yaml": `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com},
  spec: {group: 'x") (fail "y', scope: Namespaced, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		"shop/component.yaml": "{name: shop, rolloutPhase: 650, capabilities: fleet}\n",
		"shop/Chart.yaml":     "{apiVersion: v2, name: shop, version: 1.0.0}\n",
		"shop/templates/a.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {has: {{ .Capabilities.APIVersions.Has "a/v1" | quote }}}}
`,
	}, fleet.Source{})
	generated, _, err := generate.ApplicationSets(f, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := generate.YAML(generated...)
	if strings.Contains(text, group) || !strings.Contains(text, `x\") (fail \"y/v1`) {
		t.Errorf("a group of a CRD is part of the template:\n%s", text)
	}
}

// TestChosenFieldsStay: what a component may set is found by its directory, which no file
// can change: one that takes the name of another does not get the other's cluster.
func TestChosenFieldsStay(t *testing.T) {
	f := fleettest.InRepository(t, "settings")
	generated, _, err := generate.ApplicationSets(f, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := generate.YAML(generated...)
	_, table, found := strings.Cut(text, "{{- $chosen := get (dict")
	table, after, _ := strings.Cut(table, "\n")
	if !found || !strings.Contains(table, `"testdata/fleets/settings/components/far" (fromJson`) ||
		!strings.HasSuffix(table, " .path.path }}") || strings.Contains(after, "near") {
		t.Errorf("the settings of components are not found by their directories:\n%s", table)
	}
}

// TestMisset: a fleet cannot give every Application what has to differ.
func TestMisset(t *testing.T) {
	for field, text := range map[string]string{
		"fleet.labels": `labels: {rollout-phase: "1"}`, "fleet.annotations": `annotations: {argocd.argoproj.io/sync-wave: "1"}`,
		"fleet.ignoreDifferences": `ignoreDifferences: [{kind: A, jqPathExpressions: ["{{ .x }}"]}]`,
		"fleet.retry":             `retry: {backoff: {duration: 1s}}`,
		"fleet.info[0]":           `info: [{name: a}]`,
	} {
		repo := fstest.MapFS{
			"ladder.yaml":       {Data: []byte("fleet:\n  repoURL: https://git.example.com/web.git\n  " + text + "\n")},
			"a/component.yaml":  {Data: []byte("{name: a, rolloutPhase: 650}")},
			"a/configmaps.yaml": {Data: []byte(fleettest.InDefault)},
		}
		f, err := fleet.Load(t.Context(), fleet.Source{Repo: repo, Dirs: []string{"a"}}, knowledge.Default())
		if err == nil {
			_, _, err = generate.Applications(f, generate.Options{Path: "apps"})
		}
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
