package steps_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/fleettest"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
)

const (
	panel = `
apiVersion: panels.example.com/v1
kind: Panel
metadata: {name: traffic}
spec: {json: "{}"}
`
	panelOperator = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: panels.panels.example.com}
spec:
  group: panels.example.com
  names: {kind: Panel, plural: panels}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  selector: {matchLabels: {a: operator}}
  template:
    metadata: {labels: {a: operator}}
    spec: {containers: [{name: c, image: operator}]}
`
	widget = `
apiVersion: widgets.example.com/v1
kind: Widget
metadata: {name: main}
`
)

// crdOf is a CRD of a group of its own.
func crdOf(kind string) string {
	return strings.NewReplacer("Panel", kind, "panel", strings.ToLower(kind)).Replace(strings.Split(panelOperator, "---")[0])
}

// TestNetworkDoesNotWaitForDashboards: the Pod network is not placed after an operator
// for an object that nothing uses, since the operator needs the network. The finding says
// that splitting off the CRDs is enough.
func TestNetworkDoesNotWaitForDashboards(t *testing.T) {
	t.Parallel()
	f := fleettest.Files(t, map[string]string{
		"network/component.yaml": fleettest.Described("network", "foundation", "110"), "network/agent.yaml": fleettest.PodNetwork,
		"network/panel.yaml":    panel,
		"panels/component.yaml": fleettest.Described("panels", "foundation", "110"), "panels/operator.yaml": panelOperator,
	}, fleet.Source{})
	p := steps.Compute(f, steps.Options{})
	at := computed(p)
	if at["network"] >= at["panels"] {
		t.Errorf("the network has step %s and the operator of dashboards %s", at["network"], at["panels"])
	}
	for name, all := range map[string][]finding.Finding{"steps": p.Findings, "lint": lint.Findings(f, "")} {
		if !slices.ContainsFunc(all, func(found finding.Finding) bool {
			return strings.Contains(found.Remedy, "set crds: split in the component.yaml of panels")
		}) {
			t.Errorf("%s does not say how to split: %v", name, all)
		}
	}
}

// TestNetworkWaitsForWhatItUses: what the network refers to comes before it.
func TestNetworkWaitsForWhatItUses(t *testing.T) {
	t.Parallel()
	used := strings.Replace(fleettest.PodNetwork, "volumes: [", "volumes: [{name: key, secret: {secretName: key}}, ", 1)
	f := fleettest.Files(t, map[string]string{
		"network/component.yaml": fleettest.Described("network", "foundation", "110"), "network/agent.yaml": used, "network/secret.yaml": `
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: key}
spec: {encryptedData: {a: b}, template: {metadata: {name: key}}}
`,
		"secrets/component.yaml": fleettest.Described("secrets", "foundation", "110"),
		"secrets/operator.yaml": strings.NewReplacer("panels.example.com", "bitnami.com", "Panel", "SealedSecret",
			"panel", "sealedsecret", "v1,",
			"v1alpha1,").Replace(strings.ReplaceAll(panelOperator, "panels.panels.example.com", "sealedsecrets.bitnami.com")),
	}, fleet.Source{})
	p := steps.Compute(f, steps.Options{})
	if at := computed(p); at["network"] <= at["secrets"] || finding.Err(p.Findings) != nil {
		t.Errorf("the network has step %s and the operator %s: %v", at["network"], at["secrets"], p.Findings)
	}
}

// TestCycleIsBrokenWhereNothingIsUsed: of a cycle, that dependency goes which is for an
// object that nothing else uses, and not the one of the fewest objects.
func TestCycleIsBrokenWhereNothingIsUsed(t *testing.T) {
	t.Parallel()
	f := fleettest.Files(t, map[string]string{
		"a/component.yaml": fleettest.Described("a", "foundation", "110"),
		"a/panel.yaml":     panel + "---" + strings.Replace(panel, "traffic", "errors", 1), "a/crd.yaml": crdOf("Widget"),
		"b/component.yaml": fleettest.Described("b", "foundation", "110"), "b/operator.yaml": panelOperator, "b/widget.yaml": widget + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: reader, annotations: {ladder-cmp.github.io/after: Widget/main}}
`,
	}, fleet.Source{})
	p := steps.Compute(f, steps.Options{})
	if at := computed(p); at["a"] >= at["b"] {
		t.Errorf("a has step %s and b %s: %v", at["a"], at["b"], p.Findings)
	}
}

// TestClusterObjectInSeveralNamespaces: a kustomization with a namespace writes it also
// into custom resources of the cluster, so bases that several include differ only in it.
// The API server ignores it there.
func TestClusterObjectInSeveralNamespaces(t *testing.T) {
	t.Parallel()
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader, namespace: NS}\n" +
		"rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"
	f := fleettest.Files(t, map[string]string{
		"roles/component.yaml": fleettest.Described("roles", "foundation", "110"),
		"roles/a.yaml":         strings.Replace(role, "NS", "a", 1), "roles/b.yaml": strings.Replace(role, "NS", "b", 1),
	}, fleet.Source{})
	if err := finding.Err(lint.Findings(f, "")); err != nil {
		t.Error(err)
	}
	if app := f.Applications[0]; app.Failed || len(app.Findings) == 0 || app.Findings[0].Severity != finding.Warning {
		t.Errorf("the findings are %v", app.Findings)
	}
}

// TestKindsOfWhatDoesNotRender: a component that does not render may define any kind.
func TestKindsOfWhatDoesNotRender(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"panels/component.yaml": fleettest.Described("panels", "foundation", "150"), "panels/panel.yaml": panel,
		"operator/component.yaml": fleettest.Described("operator", "foundation", "110"), "operator/crd.yaml": "kind: [\n",
	}
	missing := func(severity finding.Severity, text string) bool {
		return slices.ContainsFunc(lint.Findings(fleettest.Files(t, files, fleet.Source{}), ""), func(found finding.Finding) bool {
			return found.Rule == "missing-kind" && found.Severity == severity && strings.Contains(found.Message, text)
		})
	}
	if !missing(finding.Note, "unless it is in operator, which could not be rendered") || missing(finding.Warning, "") {
		t.Error("the note does not name the component that may define the kind")
	}
	files["operator/crd.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	if !missing(finding.Warning, "") || missing(finding.Note, "") {
		t.Error("the missing kind is not a warning")
	}
}
