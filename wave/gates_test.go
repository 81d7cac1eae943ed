package wave_test

import (
	"testing"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// TestRungGates awaits a rung because a ladder.yaml says so, although nothing of a
// higher one needs it; with the fewest waves nobody asks.
func TestRungGates(t *testing.T) {
	objs, err := object.Parse("in.yaml", 1,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: driver, annotations: {ladder-cmp.github.io/rung: secrets}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: car}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: map}}
`)
	if err != nil {
		t.Fatal(err)
	}
	base, err := knowledge.Default().With("ladder.yaml", "rungs: [{name: secrets, gates: true}]\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		base  *knowledge.Base
		style wave.Style
		want  map[string]int
	}{
		{knowledge.Default(), wave.Rungs, map[string]int{"driver": 0, "car": 0, "map": 0}},
		{base, wave.Rungs, map[string]int{"driver": 30, "car": 50, "map": 30}},
		{base, wave.Compact, map[string]int{"driver": 0, "car": 0, "map": 0}},
	} {
		g, err := graph.Build(objs, tt.base, graph.Options{Namespace: "ns"})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := wave.Assign(g, tt.base, wave.Options{Waves: tt.style})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range plan.Graph.Nodes {
			if got := plan.Places[i].Wave; got != tt.want[n.Key.Name] {
				t.Errorf("waves %s: %s is in wave %d, want %d", tt.style, n.Key, got, tt.want[n.Key.Name])
			}
		}
		for _, f := range plan.Findings {
			t.Errorf("waves %s: %s", tt.style, f)
		}
	}
}

// TestSourceComment holds that an order does not depend on which file a manifest is
// in, if Helm wrote above it which template it is from.
func TestSourceComment(t *testing.T) {
	const operator = `# Source: zoo/templates/operator.yaml
{apiVersion: apps/v1, kind: Deployment, metadata: {name: keeper}, spec: {template: {spec: {serviceAccountName: keeper}}}}
---
# Source: zoo/templates/rights.yaml
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: keeper}, rules: [{apiGroups: [zoo.example.com], resources: [zebras, zebras/status], verbs: ["*"]}]}
---
# Source: zoo/templates/rights.yaml
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: keeper}, roleRef: {kind: ClusterRole, name: keeper}, subjects: [{kind: ServiceAccount, name: keeper, namespace: ns}]}
---
# Source: zoo/templates/helper.yaml
{apiVersion: apps/v1, kind: Deployment, metadata: {name: helper}}
---
# Source: inn/templates/web.yaml
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`
	objs, err := object.Parse("all.yaml", 1, operator)
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Build(objs, knowledge.Default(), graph.Options{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range g.Nodes {
		if partner := n.Key.Name == "helper"; n.Companion != partner {
			t.Errorf("%s runs beside the operator: %v, want %v", n.Key, n.Companion, partner)
		}
	}
}
