package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/finding"
)

const (
	issuer      = "{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: own}, spec: {selfSigned: {}}}\n"
	certificate = "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: web}, " +
		"spec: {secretName: web, issuerRef: {kind: ClusterIssuer, name: own}}}\n"
	dns      = "https://kubernetes-sigs.github.io/external-dns/"
	endpoint = "{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: s}, spec: {}}\n"
	spoon    = "{apiVersion: kitchen.example.com/v1, kind: Spoon, metadata: {name: s}}\n"
)

// absent is a kustomization with a chart that is not at hand.
func absent(chart, repo string) string {
	return "resources: [a.yaml]\nhelmCharts: [{name: " + chart + ", repo: " + repo + ", version: 1.0.0, releaseName: r}]\n"
}

// TestAbsentCharts: what a component deploys and nobody has fetched is taken for what is
// known of it, and told once.
func TestAbsentCharts(t *testing.T) {
	const jetstack = "https://charts.jetstack.io"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // rule and a part of the message
		links string
	}{
		"a known chart and its kinds": {map[string]string{
			"cm/component.yaml": "rolloutPhase: 120\n", "cm/kustomization.yaml": absent("cert-manager", jetstack), "cm/a.yaml": issuer,
			"web/component.yaml": "rolloutPhase: 650\n", "web/a.yaml": certificate,
		}, []string{"not-fetched: chart cert-manager of https://charts.jetstack.io is not fetched, " +
			"so Ladder uses its built-in record of the chart to order cm"}, "web->cm"},
		"a dependency of a chart": {map[string]string{
			"cm/component.yaml": "rolloutPhase: 120\n", "cm/templates/a.yaml": issuer,
			"cm/Chart.yaml": "{apiVersion: v2, name: cm, version: 1.0.0, " +
				"dependencies: [{name: cert-manager, version: ^1.0.0, repository: \"" + jetstack + "\"}]}",
			"web/component.yaml": "rolloutPhase: 650\n", "web/a.yaml": certificate,
		}, []string{"not-fetched: chart cert-manager"}, "web->cm"},
		"one chart of several, in several versions": {map[string]string{
			"a/component.yaml":     "rolloutPhase: 650\n",
			"a/kustomization.yaml": absent("nobody-knows", "https://charts.example.com"),
			"a/a.yaml":             fleettest.ConfigMap,
			"b/component.yaml":     "rolloutPhase: 650\n",
			"b/kustomization.yaml": strings.Replace(absent("nobody-knows", "https://charts.example.com"), "1.0.0", "2.0.0", 1),
			"b/a.yaml":             strings.Replace(fleettest.ConfigMap, "name: ", "name: other-", 1),
		}, []string{"not-fetched: chart nobody-knows of https://charts.example.com is neither fetched nor known, " +
			"so the dependencies of a, b on it are not checked"}, ""},
		"two releases of a chart with CRDs": {map[string]string{
			"a/component.yaml":     "rolloutPhase: 120\n",
			"a/kustomization.yaml": strings.Replace(absent("external-dns", dns), "1.0.0", "1.0.0, includeCRDs: true", 1),
			"a/a.yaml":             endpoint,
			"b/component.yaml":     "rolloutPhase: 120\n",
			"b/kustomization.yaml": strings.Replace(absent("external-dns", dns), "1.0.0", "1.0.0, includeCRDs: true", 1),
			"b/a.yaml":             strings.Replace(endpoint, "name: s", "name: t", 1),
		}, []string{"not-fetched: chart external-dns",
			"crd-shared: a and b both deploy the external-dns chart, which has the CRDs of externaldns.k8s.io unless"}, ""},
		"two releases of a chart without its CRDs": {map[string]string{
			"a/component.yaml": "rolloutPhase: 120\n", "a/kustomization.yaml": absent("external-dns", dns), "a/a.yaml": endpoint,
			"b/component.yaml": "rolloutPhase: 120\n", "b/kustomization.yaml": absent("external-dns", dns),
			"b/a.yaml": strings.Replace(endpoint, "name: s", "name: t", 1),
		}, []string{"not-fetched: chart external-dns"}, ""},
		"a chart that is called as a group": {map[string]string{
			"op/component.yaml": "rolloutPhase: 120\n", "op/kustomization.yaml": absent("kitchen-operator", "https://charts.example.com"),
			"op/a.yaml":          strings.Replace(spoon, "name: s", "name: own", 1),
			"web/component.yaml": "rolloutPhase: 650\n", "web/a.yaml": spoon,
		}, []string{"not-fetched: chart kitchen-operator of https://charts.example.com is neither fetched nor known; " +
			"judging by its name, it provides kinds of kitchen.example.com to op"}, "web->op"},
		"a kind that nothing brings": {map[string]string{
			"a/component.yaml": "rolloutPhase: 650\n", "a/a.yaml": spoon,
			"b/component.yaml": "rolloutPhase: 650\n", "b/a.yaml": strings.Replace(spoon, "name: s", "name: t", 1),
		}, []string{"missing-kind: nothing in the fleet defines Spoon of kitchen.example.com, which 2 components use (a, b), " +
			"such as components/a/a.yaml:1"}, ""},
		"a kind that a component expects outside": {map[string]string{
			"a/component.yaml": "rolloutPhase: 650\nexpects: [kitchen.example.com]\n", "a/a.yaml": spoon,
			"b/component.yaml": "rolloutPhase: 650\n", "b/a.yaml": strings.Replace(spoon, "name: s", "name: t", 1),
		}, []string{"missing-kind: nothing in the fleet defines Spoon of kitchen.example.com, which components/b/a.yaml:1 uses"}, ""},
		"files of a repository": {map[string]string{
			"crds/component.yaml": "rolloutPhase: 110\n",
			"crds/kustomization.yaml": "resources: [" +
				"https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.4.0/standard-install.yaml, " +
				"https://raw.githubusercontent.com/kubernetes-sigs/gateway-api/v1.4.0/config/crd/experimental/a.yaml]\n",
			"web/component.yaml": "rolloutPhase: 650\n",
			"web/a.yaml": "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, " +
				"metadata: {name: web}, spec: {controllerName: example.com/web}}\n",
		}, []string{"not-fetched: https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.4.0/standard-install.yaml, " +
			"with 1 other file of gateway-api, is not fetched"}, "web->crds"},
	} {
		t.Run(name, func(t *testing.T) { checkAbsent(t, c.files, c.want, c.links) })
	}
}

// checkAbsent checks what is found in a fleet whose charts are not at hand, and its links,
// with and without assumptions.
func checkAbsent(t *testing.T, files map[string]string, want []string, wantLinks string) {
	t.Helper()
	f := fleettest.Files(t, files, fleet.Source{Assume: true})
	var got []string
	for _, found := range lint.Findings(f, "") {
		if found.Severity >= finding.Warning && found.Rule != "wrong-place" {
			got = append(got, string(found.Rule)+": "+found.Message)
		}
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("found %q, want %q", got, want)
	}
	var links []string
	for _, l := range f.Links {
		links = append(links, f.Applications[l.From].Name+"->"+f.Applications[l.To].Name)
	}
	if strings.Join(links, " ") != wantLinks {
		t.Errorf("the links are %q, want %q", links, wantLinks)
	}
	checkUnassumed(t, files)
}

// checkUnassumed checks that nothing renders without its charts where nothing is to be assumed.
func checkUnassumed(t *testing.T, files map[string]string) {
	t.Helper()
	for _, app := range fleettest.Files(t, files, fleet.Source{}).Applications {
		if _, needsChart := files[app.Name+"/kustomization.yaml"]; needsChart && !app.Failed {
			t.Errorf("%s renders without what is not at hand, though nothing is to be assumed", app.Name)
		}
	}
}

// TestAbsentAndBroken: what is wrong besides a chart that is not at hand is an error.
func TestAbsentAndBroken(t *testing.T) {
	f := fleettest.Files(t, map[string]string{"cm/component.yaml": "rolloutPhase: 120\n",
		"cm/kustomization.yaml": absent("cert-manager", "https://charts.jetstack.io")}, fleet.Source{Assume: true})
	found := f.Applications[0].Findings
	if !f.Applications[0].Failed || len(found) != 1 || !strings.Contains(found[0].Message, "a.yaml") {
		t.Errorf("found %v", found)
	}
}

// TestNoPlaceAfter: where the profile has no place behind what a component needs, no remedy
// names one.
func TestNoPlaceAfter(t *testing.T) {
	const needs = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" +
		"spec: {containers: [{name: a, image: a, envFrom: [{secretRef: {name: web}}]}]}\n"
	f := fleettest.Files(t, map[string]string{
		"ladder.yaml": "fleet: {places: [{at: 0, rungs: [configs, controllers]}, {at: 2}], " +
			"bands: [{name: all, from: 0, to: 9, at: [0, 2]}]}\n",
		"cm/component.yaml": "rolloutPhase: 2\n", "cm/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n---\n" +
			strings.Replace(strings.Replace(fleettest.CertificateCRD, "\napiVersion", "apiVersion", 1), "\n\n", "\n", 1) + "---\n" + issuer,
		"web/component.yaml": "rolloutPhase: 2\n", "web/a.yaml": needs + "---\n" + certificate,
	}, fleet.Source{})
	for _, found := range lint.Findings(f, "") {
		if strings.Contains(found.Remedy, "03") || strings.Contains(found.Remedy, " 3") {
			t.Errorf("the profile has no place 3: %s", found.Error())
		}
		if found.Rule == "same-step" && strings.HasPrefix(found.Remedy, "add a place") {
			return
		}
	}
	t.Errorf("no remedy says that there is no place: %s", fleettest.Lines(lint.Findings(f, "")))
}

// TestNoPhasesYet: where no component has a step, that is one error and not many.
func TestNoPhasesYet(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		files[name+"/component.yaml"] = "{}\n"
		files[name+"/a.yaml"] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}\n"
	}
	if all := lint.Findings(fleettest.Files(t, files, fleet.Source{}), ""); len(all) != 1 ||
		!strings.Contains(all[0].Remedy, "steps --write") {
		t.Errorf("found %s", fleettest.Lines(all))
	}
	files["a/component.yaml"] = "rolloutPhase: 650\n"
	all := slices.DeleteFunc(lint.Findings(fleettest.Files(t, files, fleet.Source{}), ""), func(f finding.Finding) bool {
		return f.Rule != "no-step"
	})
	if len(all) != 3 {
		t.Errorf("found %s", fleettest.Lines(all))
	}
}
