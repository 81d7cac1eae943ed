package facts

import (
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

func TestSelectorExpressions(t *testing.T) {
	objs, err := object.Parse("", 0, `
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
in: {key: tier, operator: In, values: [web, api]}
notIn: {key: tier, operator: NotIn, values: [web, api]}
exists: {key: tier, operator: Exists}
doesNotExist: {key: tier, operator: DoesNotExist}
unknown: {key: tier, operator: Near}
`)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		expression     string
		value          string
		present, wants bool
	}{
		{"in", "web", true, true}, {"in", "db", true, false}, {"in", "", false, false},
		{"notIn", "web", true, false}, {"notIn", "db", true, true}, {"notIn", "", false, true},
		{"exists", "db", true, true}, {"exists", "", false, false},
		{"doesNotExist", "db", true, false}, {"doesNotExist", "", false, true},
		{"unknown", "db", true, false},
	}
	for _, tt := range tests {
		if got := holds(objs[0].Get(tt.expression), tt.value, tt.present); got != tt.wants {
			t.Errorf("%s of %q (present: %v) = %v, want %v", tt.expression, tt.value, tt.present, got, tt.wants)
		}
	}
}

// TestNames is the table of the forms in which an object names another.
func TestNames(t *testing.T) {
	rec := func(to ...knowledge.GroupKind) knowledge.Reference { return knowledge.Reference{To: to, Name: "name"} }
	issuer, cluster := knowledge.GroupKind{Group: "cert-manager.io", Kind: "Issuer"},
		knowledge.GroupKind{Group: "cert-manager.io", Kind: "ClusterIssuer"}
	tests := []struct {
		value string
		rec   knowledge.Reference
		want  string // "" for none
	}{
		{"a", rec(issuer), "Issuer.cert-manager.io a"},
		{"{name: a}", rec(issuer, cluster), "Issuer.cert-manager.io a"},
		{"{name: a, kind: ClusterIssuer}", rec(issuer, cluster), "ClusterIssuer.cert-manager.io a"},
		{"{name: a, kind: ClusterIssuer, group: cert-manager.io}", rec(issuer, cluster), "ClusterIssuer.cert-manager.io a"},
		{"{name: a, kind: Issuer, group: other.example.com}", rec(issuer), "Issuer.other.example.com a"},
		{"{name: a, kind: Deployment, apiVersion: apps/v1}", rec(issuer), "Deployment.apps a"},
		{"{name: a, kind: Service, apiVersion: v1}", rec(issuer), "Service a"},
		{"{name: a, kind: User}", rec(issuer), ""},
		{"{namespace: b}", rec(issuer), ""},
		{`""`, rec(issuer), ""},
		{"{name: a, type: ClusterIssuer}", rec(issuer, cluster), "ClusterIssuer.cert-manager.io a"},
		{"{name: a, type: Other}", rec(issuer, cluster), "Issuer.cert-manager.io a"},
	}
	for _, tt := range tests {
		objs, err := object.Parse("", 0, "apiVersion: v1\nkind: X\nmetadata: {name: x}\nref: "+tt.value)
		if err != nil {
			t.Fatal(err)
		}
		m, ok := readName(&tt.rec, knowledge.Found{Field: "ref", Value: objs[0].Get("ref")})
		got := ""
		if ok {
			got = m.gk.String() + " " + m.name
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.value, got, tt.want)
		}
	}
}

// TestGrantedTo makes sure that the permissions of a ServiceAccount and of its groups are joined once, and that
// what callers append to them stays theirs.
func TestGrantedTo(t *testing.T) {
	objs, err := object.Parse("", 0, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}
subjects: [{kind: ServiceAccount, name: a, namespace: ns}, {kind: Group, name: system:authenticated}]
`)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := New([]Part{{Objects: objs, Namespace: "ns"}}, knowledge.Default(), Options{})
	account := object.ID{Kind: "ServiceAccount", Namespace: "ns", Name: "a"}
	first := f.GrantedTo(account)
	_ = append(first, Rule{In: "other"})
	if again := f.GrantedTo(account); len(first) != 2 || len(again) != 2 || &first[0] != &again[0] || cap(first) != 2 {
		t.Errorf("got %v and %v with room for %d, want the same two rules", first, again, cap(first))
	}
}
