package double

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// This file plays the Operator Lifecycle Manager, read in
// operator-lifecycle-manager 992bb097749e. Paths are below pkg/controller/operators.

const (
	olm = "operators.coreos.com"
	// globalCatalogs is the namespace whose catalogs all namespaces see, on OpenShift.
	globalCatalogs = "openshift-marketplace"
	// A registry takes longer to start than Argo CD waits between two waves, so that
	// what does not wait for it is seen.
	registryStart = 3 * time.Second
)

func (t *reconciliation) operators() {
	for _, c := range t.of(olm, "CatalogSource") {
		t.catalog(c)
	}
	for _, g := range t.of(olm, "OperatorGroup") {
		t.operatorGroup(g)
	}
	namespaces := map[string]bool{}
	for _, s := range t.of(olm, "Subscription") {
		namespaces[s.GetNamespace()] = true
	}
	for namespace := range namespaces {
		t.resolveNamespace(namespace)
	}
	for _, p := range t.of(olm, "InstallPlan") {
		t.installPlan(p)
	}
	for _, v := range t.of(olm, "ClusterServiceVersion") {
		t.serviceVersion(v)
	}
}

// within lists the objects of a kind of OLM in a namespace that are to stay.
func (t *reconciliation) within(namespace, kindName string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(t.of(olm, kindName)), func(o *unstructured.Unstructured) bool {
		return o.GetNamespace() != namespace || o.GetDeletionTimestamp() != nil
	})
}

func isConnected(catalog *unstructured.Unstructured) bool {
	return text(catalog, "status", "connectionState", "lastObservedState") == "READY"
}

// catalog starts the registry of a catalog, whose image is pulled with its Secrets.
func (t *reconciliation) catalog(c *unstructured.Unstructured) {
	if isConnected(c) || c.GetDeletionTimestamp() != nil {
		return
	}
	starting, why := key(c, "start"), "its registry starts"
	secrets, _, _ := unstructured.NestedStringSlice(c.Object, "spec", "secrets")
	for _, name := range secrets {
		if t.get("", "Secret", c.GetNamespace(), name) == nil {
			t.pace.forget(starting)
			why = "its image cannot be pulled: " + Ref{Kind: "Secret", Namespace: c.GetNamespace(), Name: name}.String() + " is missing"
		}
	}
	state := "READY"
	if strings.HasPrefix(why, "its image") || !t.pace.passed(starting, registryStart) {
		state = "CONNECTING"
		t.wait(c, why)
	}
	if text(c, "status", "connectionState", "lastObservedState") != state {
		t.setStatus(c, "be "+state, map[string]any{"connectionState": map[string]any{
			"address": c.GetName() + "." + c.GetNamespace() + ".svc:50051", "lastObservedState": state, "lastConnect": t.stamp(),
		}})
	}
}

// operatorGroup says which namespaces a group manages: none before this.
func (t *reconciliation) operatorGroup(g *unstructured.Unstructured) {
	if managed, _, _ := unstructured.NestedStringSlice(g.Object, "status", "namespaces"); len(managed) > 0 || !t.pace.ripe(key(g, "manage")) {
		return
	}
	namespaces, _, _ := unstructured.NestedSlice(g.Object, "spec", "targetNamespaces")
	if len(namespaces) == 0 {
		namespaces = []any{""}
	}
	t.setStatus(g, "manage its namespaces", map[string]any{"namespaces": namespaces, "lastUpdated": t.stamp()})
}

// managementReason says why no InstallPlan of a namespace is executed
// (pkg/lib/scoped/querier.go).
func (t *reconciliation) managementReason(namespace string) string {
	managing := slices.DeleteFunc(t.within(namespace, "OperatorGroup"), func(g *unstructured.Unstructured) bool {
		managed, _, _ := unstructured.NestedStringSlice(g.Object, "status", "namespaces")
		return len(managed) == 0
	})
	if len(managing) == 0 {
		return "no operator group found that is managing this namespace"
	}
	if len(managing) > 1 {
		return fmt.Sprintf("more than one operator group(s) are managing this namespace count=%d", len(managing))
	}
	account := text(managing[0], "spec", "serviceAccountName")
	if account != "" && t.get("", "ServiceAccount", namespace, account) == nil {
		return fmt.Sprintf("please make sure the service account exists. sa=%s operatorgroup=%s/%s", account, namespace, managing[0].GetName())
	}
	return ""
}

// resolveNamespace writes the statuses of the Subscriptions of a namespace, and plans
// what they install (catalog/operator.go, syncResolvingNamespace). Without exactly one
// OperatorGroup it gets no further than the health of the catalogs.
func (t *reconciliation) resolveNamespace(namespace string) {
	subscriptions := t.within(namespace, "Subscription")
	groups := len(t.within(namespace, "OperatorGroup"))
	failure := t.resolutionFailure(namespace, subscriptions)
	for _, s := range subscriptions {
		status := map[string]any{}
		conditions := []any{t.catalogCondition(s)}
		plan := t.planOf(s)
		if plan != nil {
			conditions = append(conditions, t.planConditions(plan)...)
			maps.Copy(status, t.installStatus(s, plan))
		}
		switch {
		case groups != 1:
			t.wait(s, fmt.Sprintf("found %d operatorGroups, expected 1", groups))
		case failure != nil && status["state"] != "UpgradePending":
			conditions = append(conditions, failure)
			t.wait(s, fmt.Sprint(failure["message"]))
		case plan == nil || status["state"] != "AtLatestKnown":
			t.wait(s, "it is installed")
		}
		status["conditions"] = conditions
		if !sameStatus(s, status) {
			state, _ := status["state"].(string)
			t.setStatus(s, "be "+cmp.Or(state, "seen"), status)
		}
	}
	if groups == 1 && failure == nil {
		t.plan(namespace, subscriptions)
	}
}

// catalogsOf are the catalogs that a namespace sees (subscription/reconciler.go).
func (t *reconciliation) catalogsOf(namespace string) []*unstructured.Unstructured {
	catalogs := t.within(namespace, "CatalogSource")
	if namespace != globalCatalogs {
		catalogs = append(catalogs, t.within(globalCatalogs, "CatalogSource")...)
	}
	return catalogs
}

// catalogCondition is the health of all catalogs that a Subscription sees, not only
// of its own (subscription/state.go, UpdateHealth).
func (t *reconciliation) catalogCondition(s *unstructured.Unstructured) map[string]any {
	catalogs := t.catalogsOf(s.GetNamespace())
	own := Ref{olm, "CatalogSource", text(s, "spec", "sourceNamespace"), text(s, "spec", "source")}
	name := own.Namespace + "/" + own.Name
	unhealthy := slices.ContainsFunc(catalogs, func(c *unstructured.Unstructured) bool { return !isConnected(c) })
	target := slices.IndexFunc(catalogs, func(c *unstructured.Unstructured) bool { return refOf(c) == own })
	switch {
	case target < 0:
		return condition("CatalogSourcesUnhealthy", "True", "UnhealthyCatalogSourceFound", "targeted catalogsource "+name+" missing", t.stamp())
	case !isConnected(catalogs[target]):
		return condition("CatalogSourcesUnhealthy", "True", "UnhealthyCatalogSourceFound", "targeted catalogsource "+name+" unhealthy", t.stamp())
	case unhealthy:
		return condition("CatalogSourcesUnhealthy", "True", "UnhealthyCatalogSourceFound", "", t.stamp())
	}
	return condition("CatalogSourcesUnhealthy", "False", "AllCatalogSourcesHealthy", "all available catalogsources are healthy", t.stamp())
}

// resolutionFailure is the condition of all Subscriptions of a namespace when one
// catalog cannot be read, or one of them names what no catalog has.
func (t *reconciliation) resolutionFailure(namespace string, subscriptions []*unstructured.Unstructured) map[string]any {
	for _, c := range t.catalogsOf(namespace) {
		if !isConnected(c) {
			return condition("ResolutionFailed", "True", "ErrorPreventedResolution", "failed to list bundles of "+refOf(c).String(), t.stamp())
		}
	}
	for _, s := range subscriptions {
		if _, found := t.packageOf(s); !found {
			return condition("ResolutionFailed", "True", "ConstraintsNotSatisfiable",
				fmt.Sprintf("no operators found in package %s in the catalog referenced by subscription %s", text(s, "spec", "name"), s.GetName()),
				t.stamp())
		}
	}
	return nil
}

// packageOf is the package that a Subscription names, if its catalog has it.
func (t *reconciliation) packageOf(s *unstructured.Unstructured) (Package, bool) {
	if t.get(olm, "CatalogSource", text(s, "spec", "sourceNamespace"), text(s, "spec", "source")) == nil {
		return Package{}, false
	}
	p, known := t.scenarios.packageNamed(text(s, "spec", "name"))
	return p, known && cmp.Or(p.Catalog, "redhat-operators") == text(s, "spec", "source")
}

// versionOf is the name of the ClusterServiceVersion that a Subscription installs.
func versionOf(s *unstructured.Unstructured) string {
	return cmp.Or(text(s, "spec", "startingCSV"), text(s, "spec", "name")+".v1.0.0")
}

// planOf is the InstallPlan that was made for a Subscription.
func (t *reconciliation) planOf(s *unstructured.Unstructured) *unstructured.Unstructured {
	for _, p := range t.within(s.GetNamespace(), "InstallPlan") {
		names, _, _ := unstructured.NestedStringSlice(p.Object, "spec", "clusterServiceVersionNames")
		owned := slices.ContainsFunc(p.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == s.GetUID() })
		if owned && slices.Contains(names, versionOf(s)) {
			return p
		}
	}
	return nil
}

// plan makes an InstallPlan for the Subscriptions of a namespace that have none. One
// Manual Subscription of the namespace makes it manual.
func (t *reconciliation) plan(namespace string, subscriptions []*unstructured.Unstructured) {
	approval := "Automatic"
	var versions []any
	var owners []metav1.OwnerReference
	for _, s := range subscriptions {
		if text(s, "spec", "installPlanApproval") == "Manual" {
			approval = "Manual"
		}
		if t.planOf(s) == nil && text(s, "status", "installPlanRef", "name") == "" {
			versions = append(versions, versionOf(s))
		}
		owners = append(owners, metav1.OwnerReference{APIVersion: s.GetAPIVersion(), Kind: s.GetKind(), Name: s.GetName(), UID: s.GetUID()})
	}
	if len(versions) == 0 {
		return
	}
	plan := &unstructured.Unstructured{Object: map[string]any{"apiVersion": olm + "/v1alpha1", "kind": "InstallPlan", "spec": map[string]any{
		"approval": approval, "approved": approval == "Automatic", "clusterServiceVersionNames": versions,
	}}}
	plan.SetNamespace(namespace)
	plan.SetName(fmt.Sprintf("install-%x", hash(fmt.Sprint(versions, owners))&0xfffff))
	plan.SetOwnerReferences(owners)
	t.create(subscriptions[0], plan)
}

// planConditions are what a Subscription says of its InstallPlan
// (subscription/state.go, CheckInstallPlanStatus).
func (t *reconciliation) planConditions(plan *unstructured.Unstructured) []any {
	switch phase := text(plan, "status", "phase"); phase {
	case "Complete":
		return nil
	case "Failed":
		return []any{condition("InstallPlanFailed", "True", "InstallComponentFailed", "", t.stamp())}
	default:
		return []any{condition("InstallPlanPending", "True", cmp.Or(phase, "InstallPlanNotYetReconciled"),
			conditionMessage(plan, "Installed"), t.stamp())}
	}
}

// installStatus says how far a Subscription is: at the latest version as soon as its
// ClusterServiceVersion exists, whatever that one's phase (ensureSubscriptionCSVState).
func (t *reconciliation) installStatus(s, plan *unstructured.Unstructured) map[string]any {
	status := map[string]any{
		"currentCSV": versionOf(s), "state": "UpgradePending",
		"installPlanRef": map[string]any{"apiVersion": plan.GetAPIVersion(), "kind": "InstallPlan", "name": plan.GetName(),
			"namespace": plan.GetNamespace(), "uid": string(plan.GetUID())},
	}
	if t.get(olm, "ClusterServiceVersion", s.GetNamespace(), versionOf(s)) != nil {
		status["state"], status["installedCSV"] = "AtLatestKnown", versionOf(s)
	}
	return status
}

// sameStatus reports whether an object has a status already, but for its times.
func sameStatus(o *unstructured.Unstructured, status map[string]any) bool {
	timeless := func(value any) string {
		var lines []string
		conditions, _ := value.([]any)
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok {
				lines = append(lines, fmt.Sprint(c["type"], c["status"], c["reason"], c["message"]))
			}
		}
		return strings.Join(lines, "\n")
	}
	has, _, _ := unstructured.NestedMap(o.Object, "status")
	for name, value := range status {
		if name == "conditions" && timeless(has[name]) != timeless(value) || name != "conditions" && fmt.Sprint(has[name]) != fmt.Sprint(value) {
			return false
		}
	}
	return has != nil
}
