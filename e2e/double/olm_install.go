package double

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// Package is an operator in a catalog.
type Package struct {
	Name    string
	Catalog string // its CatalogSource; empty: redhat-operators
	// Defines are the kinds of its bundle, which come when it is installed.
	Defines []Definition
}

// Definition is a kind that an operator brings to the cluster. Its objects may hold
// anything.
type Definition struct {
	Group, Kind string
	Versions    []string // empty: v1
	Cluster     bool     // its objects are in no namespace
}

// Object is the CustomResourceDefinition.
func (d Definition) Object() *unstructured.Unstructured {
	singular, scope := strings.ToLower(d.Kind), "Namespaced"
	if d.Cluster {
		scope = "Cluster"
	}
	versions := d.Versions
	if len(versions) == 0 {
		versions = []string{"v1"}
	}
	var served []any
	for i, version := range versions {
		served = append(served, map[string]any{
			"name": version, "served": true, "storage": i == 0,
			"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			"subresources": map[string]any{"status": map[string]any{}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": singular + "s." + d.Group,
			// Groups of Kubernetes' own ask for a review.
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, e2e"},
		},
		"spec": map[string]any{
			"group": d.Group, "scope": scope, "versions": served,
			"names": map[string]any{"kind": d.Kind, "listKind": d.Kind + "List", "plural": singular + "s", "singular": singular},
		},
	}}
}

func (d Definition) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: d.Group, Kind: d.Kind}
}

// define makes the definitions that are missing, and reports whether all are
// established.
func (t *reconciliation) define(on *unstructured.Unstructured, definitions []Definition) bool {
	all := true
	for _, d := range definitions {
		wanted := d.Object()
		there := t.get("apiextensions.k8s.io", "CustomResourceDefinition", "", wanted.GetName())
		if there == nil {
			t.create(on, wanted)
		}
		all = all && there != nil && t.isReady(there)
	}
	return all
}

func (all scenarios) packageNamed(name string) (Package, bool) {
	for _, s := range all {
		for _, p := range s.Packages {
			if p.Name == name {
				return p, true
			}
		}
	}
	return Package{}, false
}

// operatorOf is the package whose operator serves a kind: one of its bundle, or one
// that comes with a resource of such a kind.
func (all scenarios) operatorOf(gk schema.GroupKind) (Package, bool) {
	has := func(definitions []Definition) bool {
		return slices.ContainsFunc(definitions, func(d Definition) bool { return d.groupKind() == gk })
	}
	for _, s := range all {
		for _, p := range s.Packages {
			if has(p.Defines) {
				return p, true
			}
		}
		for _, r := range s.Records {
			if has(r.Defines) {
				return all.operatorOf(schema.GroupKind{Group: r.Group, Kind: r.Kinds[0]})
			}
		}
	}
	return Package{}, false
}

// packageLabel says on a ClusterServiceVersion of which package it is.
const packageLabel = "cluster-double/package"

// Owns reports whether an object is a ClusterServiceVersion of a package.
func (p Package) Owns(o *unstructured.Unstructured) bool {
	return o.GetLabels()[packageLabel] == p.Name
}

// operatorReason says why the operator of a package does not serve its kinds.
func (t *reconciliation) operatorReason(p Package) string {
	why := "the operator of package " + p.Name + " is not installed"
	for _, v := range t.of(olm, "ClusterServiceVersion") {
		if !p.Owns(v) {
			continue
		}
		if text(v, "status", "phase") == "Succeeded" {
			return ""
		}
		why = refOf(v).String() + " is not ready"
	}
	return why
}

// nextLook is when OLM looks again at an InstallPlan whose definitions wait for the API
// (catalog/step.go and syncInstallPlans). A new kind is not served everywhere in the
// API server at once, least of all on a busy machine.
const nextLook = 5 * time.Second

// installPlan executes an InstallPlan that is approved, in a namespace that is managed
// (catalog/operator.go, syncInstallPlans).
func (t *reconciliation) installPlan(p *unstructured.Unstructured) {
	phase := text(p, "status", "phase")
	if phase == "Complete" || phase == "Failed" || p.GetDeletionTimestamp() != nil {
		return
	}
	if phase == "" {
		phase = "Installing"
		if text(p, "spec", "approval") == "Manual" {
			phase = "RequiresApproval"
		}
		t.setStatus(p, "be "+phase, map[string]any{"phase": phase})
		return
	}
	if why := t.managementReason(p.GetNamespace()); why != "" {
		t.wait(p, why)
		if conditionMessage(p, "Installed") != why {
			t.setStatus(p, "not be checked",
				map[string]any{"conditions": []any{condition("Installed", "False", "InstallCheckFailed", why, t.stamp())}})
		}
		return
	}
	approved, _, _ := unstructured.NestedBool(p.Object, "spec", "approved")
	switch {
	case phase == "RequiresApproval" && !approved:
		t.wait(p, "nobody has approved it")
	case phase == "RequiresApproval":
		t.setStatus(p, "be Installing", map[string]any{"phase": "Installing"})
	case !t.pace.ripe(key(p, "install")):
		t.wait(p, "its bundles are unpacked")
	case t.executed(p) && t.pace.passed(key(p, "look again"), nextLook):
		t.setStatus(p, "be Complete", map[string]any{"phase": "Complete", "conditions": []any{condition("Installed", "True", "", "", t.stamp())}})
	default:
		t.wait(p, "its steps are taken")
	}
}

// executed takes the steps of an InstallPlan: ClusterServiceVersions first, then their
// definitions (OrderSteps of v1alpha1). It reports whether all are taken.
func (t *reconciliation) executed(p *unstructured.Unstructured) bool {
	names, _, _ := unstructured.NestedStringSlice(p.Object, "spec", "clusterServiceVersionNames")
	made := true
	var definitions []Definition
	for _, s := range t.within(p.GetNamespace(), "Subscription") {
		version := versionOf(s)
		if !slices.Contains(names, version) {
			continue
		}
		bundle, _ := t.scenarios.packageNamed(text(s, "spec", "name"))
		definitions = append(definitions, bundle.Defines...)
		if t.get(olm, "ClusterServiceVersion", p.GetNamespace(), version) == nil {
			made = false
			v := &unstructured.Unstructured{Object: map[string]any{"apiVersion": olm + "/v1alpha1", "kind": "ClusterServiceVersion",
				"spec": map[string]any{"displayName": bundle.Name}}}
			v.SetName(version)
			v.SetNamespace(p.GetNamespace())
			v.SetLabels(map[string]string{packageLabel: bundle.Name})
			t.create(p, v)
		}
	}
	return made && t.define(p, definitions)
}

// phases are those of a ClusterServiceVersion that is installed (olm/operator.go,
// transitionCSVState).
var phases = []string{"Pending", "InstallReady", "Installing", "Succeeded"}

// serviceVersion brings an operator up, phase by phase, once its kinds are there.
func (t *reconciliation) serviceVersion(v *unstructured.Unstructured) {
	phase := text(v, "status", "phase")
	next := slices.Index(phases, phase) + 1
	if next == len(phases) || phase == "Failed" || v.GetDeletionTimestamp() != nil {
		return
	}
	if groups := len(t.within(v.GetNamespace(), "OperatorGroup")); groups != 1 {
		t.wait(v, fmt.Sprintf("there are %d OperatorGroups in its namespace", groups))
		t.setStatus(v, "be Failed", map[string]any{"phase": "Failed"})
		return
	}
	t.wait(v, "its operator is installed")
	for _, s := range t.scenarios {
		for _, p := range s.Packages {
			if p.Owns(v) && !t.defined(p.Defines) {
				t.wait(v, "one or more requirements couldn't be found")
				return
			}
		}
	}
	if t.pace.ripe(key(v, phases[next])) {
		t.setStatus(v, "be "+phases[next], map[string]any{"phase": phases[next]})
	}
}

func (t *reconciliation) defined(definitions []Definition) bool {
	return !slices.ContainsFunc(definitions, func(d Definition) bool { return !t.kinds[d.groupKind()].custom })
}

// approve lets a Job that approves InstallPlans do so. It polls until there is one, and
// returns why it is not done yet; refused is why it may not.
func (t *reconciliation) approve(job *unstructured.Unstructured) (why, refused string) {
	if !t.scenarios.approves(refOf(job)) {
		return "", ""
	}
	plans := t.within(job.GetNamespace(), "InstallPlan")
	if len(plans) == 0 {
		return "it looks for an InstallPlan", ""
	}
	if t.rightTo(job, t.kinds[refOf(plans[0]).groupKind()]) == 0 {
		return "", "its account may not patch InstallPlans"
	}
	for _, p := range plans {
		if approved, _, _ := unstructured.NestedBool(p.Object, "spec", "approved"); !approved {
			t.patch(p, "be approved", map[string]any{"spec": map[string]any{"approved": true}})
			why = "it approves " + refOf(p).String()
		}
	}
	return why, ""
}

func (all scenarios) approves(r Ref) bool {
	return slices.ContainsFunc(all, func(s *Scenario) bool {
		return slices.ContainsFunc(s.Approvers, func(a Ref) bool { return a.names(r) })
	})
}

// olmKinds are those of OLM itself.
var olmKinds = []Definition{
	{Group: olm, Kind: "CatalogSource", Versions: []string{"v1alpha1"}},
	{Group: olm, Kind: "Subscription", Versions: []string{"v1alpha1"}},
	{Group: olm, Kind: "InstallPlan", Versions: []string{"v1alpha1"}},
	{Group: olm, Kind: "ClusterServiceVersion", Versions: []string{"v1alpha1"}},
	{Group: olm, Kind: "OperatorGroup", Versions: []string{"v1", "v1alpha2"}},
}

// OpenShiftNamespaces are those that the double makes with OLM.
var OpenShiftNamespaces = []string{globalCatalogs, "openshift-operators"}

// installOLM makes what an OpenShift has of OLM: its kinds, a catalog for all
// namespaces, and the namespace for operators that watch all.
func (d *Double) installOLM(ctx context.Context) error {
	var all []*unstructured.Unstructured
	for _, kind := range olmKinds {
		all = append(all, kind.Object())
	}
	for _, name := range OpenShiftNamespaces {
		all = append(all, newObject("v1", "Namespace", "", name))
	}
	all = append(all, newObject(olm+"/v1", "OperatorGroup", "openshift-operators", "global-operators"))
	catalog := newObject(olm+"/v1alpha1", "CatalogSource", globalCatalogs, "redhat-operators")
	catalog.Object["spec"] = map[string]any{"sourceType": "grpc", "image": "registry.example.com/redhat-operators:v1"}
	for _, o := range append(all, catalog) {
		if err := createSoon(ctx, d.client, o); err != nil {
			return err
		}
	}
	return nil
}

func newObject(apiVersion, kindName, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kindName}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// createSoon creates an object once its kind is served; one that is there stays.
func createSoon(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	resource := schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: strings.ToLower(gvk.Kind) + "s"}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, last = client.Resource(resource).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{})
		return last == nil || apierrors.IsAlreadyExists(last), nil
	})
	if err != nil {
		return fmt.Errorf("making %s: %w (%w)", refOf(o), last, err)
	}
	return nil
}
