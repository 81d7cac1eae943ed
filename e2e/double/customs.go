package double

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// theirs are kinds of Argo CD itself, which runs beside the double and serves them.
var theirs = []schema.GroupKind{
	{Group: "argoproj.io", Kind: "Application"}, {Group: "argoproj.io", Kind: "ApplicationSet"}, {Group: "argoproj.io", Kind: "AppProject"},
}

func (t *reconciliation) customResources() {
	for groupKind, k := range t.kinds {
		if !k.custom || slices.Contains(theirs, groupKind) || groupKind.Group == olm {
			continue
		}
		record := t.record(k)
		for _, o := range t.byKind[groupKind] {
			if o.GetDeletionTimestamp() != nil {
				t.letGo(o, k, record)
			} else {
				t.customResource(o, k, record)
			}
		}
	}
}

// customResource lets the controller of a custom resource, if it serves, make what it makes and call it ready.
func (t *reconciliation) customResource(o *unstructured.Unstructured, k kind, record Record) {
	if t.scenarios.withheld(refOf(o)) {
		const why = "what it needs from outside the cluster does not answer"
		delete(t.served, o.GetUID())
		t.wait(o, why)
		t.report(o, "wait", record.Waits, why)
		return
	}
	if generation, served := t.served[o.GetUID()]; served && generation == o.GetGeneration() {
		t.makeAll(o, record.Makes)
		return
	}
	ripening := key(o, "ready")
	if why := t.controllerReason(k, record); why != "" {
		t.pace.forget(ripening)
		t.wait(o, why)
		return
	}
	if record.Finalizer != "" && !slices.Contains(o.GetFinalizers(), record.Finalizer) {
		t.patch(o, "get its finalizer", map[string]any{"metadata": map[string]any{
			"finalizers": append(o.GetFinalizers(), record.Finalizer), "resourceVersion": o.GetResourceVersion(),
		}})
	}
	if why := t.requirementsReason(o, record); why != "" {
		t.pace.forget(ripening)
		t.wait(o, why)
		t.report(o, "wait", record.Waits, why)
		return
	}
	if !t.pace.passed(ripening, max(t.pace.delay(ripening), record.Takes.Duration)) {
		t.wait(o, "its controller works on it")
		t.report(o, "begin", record.Begins, "")
		return
	}
	t.makeAll(o, record.Makes)
	if !t.define(o, record.Defines) {
		t.wait(o, "its controller defines kinds")
		return
	}
	t.becomeReady(o, record)
	t.wait(o, "it is ready in a moment")
}

// becomeReady writes the status of a custom resource that is ready. A status that
// nobody has recorded is a guess that its definition may refuse.
func (t *reconciliation) becomeReady(o *unstructured.Unstructured, record Record) {
	status := record.Ready
	if status == nil {
		status = &Status{}
	}
	ready := t.setStatus(o, "become ready", t.status(o, status, ""))
	if !t.isRecorded(record) {
		write := ready.do
		ready.do = func(ctx context.Context, client dynamic.Interface) error {
			if err := write(ctx, client); !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				return err
			}
			return nil
		}
	}
	uid, generation, served := o.GetUID(), o.GetGeneration(), t.served
	ready.done = func() { served[uid] = generation }
}

func (t *reconciliation) isRecorded(record Record) bool {
	same := func(r Record) bool { return r.Group == record.Group && slices.Equal(r.Kinds, record.Kinds) }
	return slices.ContainsFunc(t.records, same) ||
		slices.ContainsFunc(t.scenarios, func(s *Scenario) bool { return slices.ContainsFunc(s.Records, same) })
}

// report writes a status on the way, once for each reason.
func (t *reconciliation) report(o *unstructured.Unstructured, what string, status *Status, why string) {
	if status == nil {
		return
	}
	for name, value := range status.Conditions {
		if conditionStatus(o, name) != value || conditionMessage(o, name) != why {
			t.setStatus(o, what, t.status(o, status, why)).quiet = true
			return
		}
	}
	if len(status.Conditions) == 0 && t.pace.ripe(key(o, "report "+what)) {
		t.setStatus(o, what, t.status(o, status, why)).quiet = true
	}
}

func conditionMessage(o *unstructured.Unstructured, name string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name {
			message, _ := c["message"].(string)
			return message
		}
	}
	return ""
}

func (t *reconciliation) status(o *unstructured.Unstructured, status *Status, why string) map[string]any {
	written := map[string]any{"observedGeneration": o.GetGeneration()}
	var names []string
	for name := range status.Conditions {
		names = append(names, name)
	}
	slices.Sort(names)
	var conditions []any
	for _, name := range names {
		reason := name
		if status.Conditions[name] != "True" {
			reason = "Not" + name
		}
		c := condition(name, status.Conditions[name], reason, why, t.stamp())
		c["observedGeneration"] = o.GetGeneration()
		conditions = append(conditions, c)
	}
	if len(conditions) > 0 {
		written["conditions"] = conditions
	}
	for name, value := range status.Fields {
		written[name] = expandAny(o.Object, value)
	}
	return written
}

// expandAny fills the templates in a value.
func expandAny(object map[string]any, value any) any {
	switch v := value.(type) {
	case string:
		return expandOne(object, v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = expandAny(object, v[i])
		}
		return list
	case map[string]any:
		fields := map[string]any{}
		for name := range v {
			fields[name] = expandAny(object, v[name])
		}
		return fields
	}
	return value
}

// requirementsReason says what a custom resource needs and has not.
func (t *reconciliation) requirementsReason(o *unstructured.Unstructured, record Record) string {
	for _, need := range t.scenarios.needsOf(refOf(o)) {
		if why := t.unmet(need); why != "" {
			return why
		}
	}
	for _, need := range record.Needs {
		if need.Address != "" {
			for _, address := range expand(o.Object, need.Address) {
				if why := t.addressReason(o.GetNamespace(), address); why != "" {
					return why
				}
			}
			continue
		}
		namespace := expandOne(o.Object, need.Namespace)
		if namespace == "" {
			namespace = o.GetNamespace()
		}
		kind := expandOne(o.Object, need.Kind)
		for _, name := range expand(o.Object, need.Name) {
			if why := t.requirementReason(need, kind, namespace, name, expand(o.Object, need.Key)); why != "" {
				return why
			}
		}
	}
	return ""
}

func (t *reconciliation) requirementReason(need Requirement, kind, namespace, name string, keys []string) string {
	if kind == "Secret" || kind == "ConfigMap" {
		if need.Key == "" {
			keys = nil
		}
		return t.keysReason(kind, namespace, name, keys, nil)
	}
	ref := Ref{Group: need.Group, Kind: kind, Namespace: namespace, Name: name}
	if o := t.get(ref.Group, ref.Kind, ref.Namespace, ref.Name); o == nil {
		return ref.String() + " is missing"
	} else if !t.isReady(o) {
		return t.notReady(o)
	}
	return ""
}

// addressReason returns why an address does not respond, if it is that of a Service of
// the cluster, such as web, web.shop or web.shop.svc…. External addresses always respond.
func (t *reconciliation) addressReason(namespace, address string) string {
	labels := strings.Split(hostOf(address), ".")
	name := labels[0]
	switch {
	case name == "":
		return ""
	case len(labels) == 1:
	case len(labels) > 2 && labels[2] == "svc", len(labels) == 2 && t.get("", "Namespace", "", labels[1]) != nil:
		namespace = labels[1]
	default:
		return ""
	}
	return t.missing(Ref{Kind: "Service", Namespace: namespace, Name: name})
}

// letGo lets the controller of a deleted custom resource, if it serves, remove the finalizers.
func (t *reconciliation) letGo(o *unstructured.Unstructured, k kind, record Record) {
	own := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents || strings.Contains(f, "argocd.argoproj.io")
	})
	if len(own) == 0 {
		return
	}
	if why := t.controllerReason(k, record); why != "" {
		t.wait(o, "it is to be deleted, and its finalizer "+own[0]+" stays: "+why)
		return
	}
	if !t.pace.ripe(key(o, "let go")) {
		t.wait(o, "it is to be deleted, and its controller works on it")
		return
	}
	t.dropFinalizer(o, own[0])
}

// controllerReason returns why no controller serves a kind, empty if one does.
func (t *reconciliation) controllerReason(k kind, record Record) string {
	if p, installed := t.scenarios.operatorOf(k.GroupKind); installed {
		return t.operatorReason(p)
	}
	if record.Alone || t.scenarios.served(k.Group) {
		return ""
	}
	if why, known := t.controllers[k]; known {
		return why
	}
	why := t.findController(k)
	t.controllers[k] = why
	return why
}

// findController looks for a serving controller: the workload that a scenario names, or
// else any whose RBAC indicates that it serves the kind.
func (t *reconciliation) findController(k kind) string {
	if by, named := t.scenarios.controller(k); named {
		if why := t.missing(by); why != "" {
			return "its controller does not serve: " + why
		}
		return ""
	}
	best, why := 0, fmt.Sprintf("no workload in the cluster may write %s/status of %s, and no scenario says who serves the group",
		k.resource.Resource, k.Group)
	for _, kind := range running {
		for _, o := range t.of(kind.Group, kind.Kind) {
			right := t.rightTo(o, k)
			if right == 0 || right < best || right == best && why == "" {
				continue
			}
			best, why = right, ""
			if !isServing(o) {
				why = "its controller does not serve: " + refOf(o).String() + " is not ready"
			}
		}
	}
	return why
}

// rightTo scores how likely the RBAC of a workload's ServiceAccount makes it that it serves a kind:
// 0 for no permission, 1 for all permissions, 3 for permission to write the status of just this kind.
func (t *reconciliation) rightTo(o *unstructured.Unstructured, k kind) int {
	template, ok := templateOf(o)
	if !ok {
		return 0
	}
	account := template.Spec.ServiceAccountName
	if account == "" {
		return 0 // nobody serves a kind as default
	}
	best := 0
	for _, binding := range slices.Concat(t.of(rbac, "ClusterRoleBinding"), t.of(rbac, "RoleBinding")) {
		if !bindsTo(binding, o.GetNamespace(), account) {
			continue
		}
		role := t.get(rbac, text(binding, "roleRef", "kind"), binding.GetNamespace(), text(binding, "roleRef", "name"))
		for _, rule := range t.rules(role) {
			best = max(best, ruleRight(rule, k))
		}
	}
	return best
}

func bindsTo(binding *unstructured.Unstructured, namespace, account string) bool {
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	return slices.ContainsFunc(subjects, func(s any) bool {
		subject, _ := s.(map[string]any)
		in, _ := subject["namespace"].(string)
		if in == "" {
			in = binding.GetNamespace()
		}
		return subject["kind"] == "ServiceAccount" && subject["name"] == account && in == namespace
	})
}

// rules are those of a role, with those of the roles that it aggregates.
func (t *reconciliation) rules(role *unstructured.Unstructured) []any {
	if role == nil {
		return nil
	}
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	selectors, _, _ := unstructured.NestedSlice(role.Object, "aggregationRule", "clusterRoleSelectors")
	for _, s := range selectors {
		selector, _ := s.(map[string]any)
		labels, _, _ := unstructured.NestedStringMap(selector, "matchLabels")
		for _, other := range t.of(rbac, "ClusterRole") {
			if sameLabels(labels, other.GetLabels()) {
				more, _, _ := unstructured.NestedSlice(other.Object, "rules")
				rules = append(rules, more...)
			}
		}
	}
	return rules
}

func ruleRight(rule any, k kind) int {
	fields, _ := rule.(map[string]any)
	has := func(field string, values ...string) bool {
		list, _, _ := unstructured.NestedStringSlice(fields, field)
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	if !has("verbs", "update", "patch", "*") {
		return 0
	}
	plural := k.resource.Resource
	switch {
	case has("apiGroups", k.Group) && has("resources", plural+"/status", "*/status"):
		return 3
	case has("apiGroups", k.Group) && has("resources", plural, "*"):
		return 2
	case has("apiGroups", "*") && has("resources", plural, "*"):
		return 1
	}
	return 0
}

// makeProducts makes what a workload or a Job makes that runs, or has run.
func (t *reconciliation) makeProducts(o *unstructured.Unstructured) {
	if o.GetKind() == "Job" && conditionStatus(o, "Complete") != "True" {
		return
	}
	t.makeAll(o, append(t.scenarios.madeBy(refOf(o)), t.programProducts(o)...))
}

func (t *reconciliation) makeAll(o *unstructured.Unstructured, products []Product) {
	for _, p := range products {
		if p.Only != "" && len(expand(o.Object, p.Only)) == 0 || p.Unless != "" && len(expand(o.Object, p.Unless)) > 0 {
			continue
		}
		for _, name := range expand(o.Object, p.Name) {
			t.makeOne(o, p, name)
		}
	}
}

func (t *reconciliation) makeOne(o *unstructured.Unstructured, p Product, name string) {
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": p.Kind}}
	made.SetName(name)
	made.SetNamespace(expandOne(o.Object, p.Namespace))
	if made.GetNamespace() == "" {
		made.SetNamespace(o.GetNamespace())
	}
	if p.Kind != "Namespace" && t.namespaceGoes(made.GetNamespace()) {
		return
	}
	if !p.Stays && made.GetNamespace() == o.GetNamespace() {
		yes := true
		made.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
		}})
	}
	t.fill(made, o, p)
	there := t.get("", p.Kind, made.GetNamespace(), name)
	if there == nil {
		t.create(o, made)
		return
	}
	if lacks := lackingKeys(there, made); p.Kind != "Service" && len(lacks) > 0 {
		t.patch(there, "get its keys from "+refOf(o).String(),
			map[string]any{"data": lacks, "metadata": map[string]any{"annotations": made.GetAnnotations()}})
	}
}

func (t *reconciliation) namespaceGoes(name string) bool {
	namespace := t.get("", "Namespace", "", name)
	return namespace == nil || namespace.GetDeletionTimestamp() != nil
}

// fill gives a product its content.
func (t *reconciliation) fill(made, o *unstructured.Unstructured, p Product) {
	switch p.Kind {
	case "Namespace":
		return
	case "Service":
		var ports []any
		for _, port := range p.Ports {
			ports = append(ports, map[string]any{"name": fmt.Sprintf("port-%d", port), "port": port})
		}
		made.SetAnnotations(map[string]string{backedBy: string(o.GetUID())})
		made.Object["spec"] = map[string]any{"ports": ports}
		return
	}
	data := map[string]any{}
	for _, template := range p.Keys {
		if template == "*" {
			made.SetAnnotations(map[string]string{anyKey: "true"})
			continue
		}
		for _, k := range expand(o.Object, template) {
			data[k] = encoded(p.Kind, []byte("of "+refOf(o).String()))
		}
	}
	if len(p.TLS) > 0 {
		var hosts []string
		for _, template := range p.TLS {
			hosts = append(hosts, expand(o.Object, template)...)
		}
		for name, content := range t.stub.authority.secret(hosts) {
			data[name] = encoded(p.Kind, content)
		}
	}
	if p.Type != "" {
		made.Object["type"] = p.Type
	}
	made.Object["data"] = data
}

func lackingKeys(there, made *unstructured.Unstructured) map[string]any {
	have, _, _ := unstructured.NestedMap(there.Object, "data")
	want, _, _ := unstructured.NestedMap(made.Object, "data")
	lacks := map[string]any{}
	for name, value := range want {
		if have[name] == nil {
			lacks[name] = value
		}
	}
	return lacks
}

// forgetGone drops records of deleted objects.
func (t *reconciliation) forgetGone() {
	forget := func(uid types.UID) bool { return t.byUID[uid] == nil }
	for uid := range t.served {
		if forget(uid) {
			delete(t.served, uid)
		}
	}
	for uid := range t.tries {
		if forget(uid) {
			delete(t.tries, uid)
		}
	}
}
