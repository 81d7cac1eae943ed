package double

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// autoscalers writes the status of autoscalers and of PodDisruptionBudgets. An autoscaler
// reports a failure until its target serves and has metrics: Argo CD shows it as
// Degraded, as in a real cluster.
func (t *reconciliation) autoscalers() {
	for _, o := range t.of("autoscaling", "HorizontalPodAutoscaler") {
		if o.GetDeletionTimestamp() == nil {
			t.autoscaler(o)
		}
	}
	for _, o := range t.of("policy", "PodDisruptionBudget") {
		if o.GetDeletionTimestamp() == nil {
			t.budget(o)
		}
	}
}

func (t *reconciliation) autoscaler(o *unstructured.Unstructured) {
	target := t.get(groupOf(text(o, "spec", "scaleTargetRef", "apiVersion")), text(o, "spec", "scaleTargetRef", "kind"),
		o.GetNamespace(), text(o, "spec", "scaleTargetRef", "name"))
	able, active := "True", "True"
	ableReason, activeReason := "ReadyForNewScale", "ValidMetricFound"
	why := ""
	switch {
	case target == nil:
		able, ableReason, active, activeReason, why = "False", "FailedGetScale", "False", "FailedGetScale",
			"its target "+text(o, "spec", "scaleTargetRef", "name")+" is missing"
	case !t.isReady(target):
		active, activeReason, why = "False", "FailedGetResourceMetric", t.notReady(target)
	case t.scenarios.withheld(refOf(o)):
		active, activeReason, why = "False", "FailedGetResourceMetric", "it is given no metrics"
	}
	if why != "" {
		t.wait(o, why)
	}
	if conditionReason(o, "AbleToScale") == ableReason && conditionReason(o, "ScalingActive") == activeReason {
		return
	}
	if why == "" && !t.pace.ripe(key(o, "metrics")) {
		t.wait(o, "its metrics are there in a moment")
		return
	}
	what := "scale"
	if why != "" {
		what = "not scale, " + why
	}
	t.setStatus(o, what,
		map[string]any{"observedGeneration": o.GetGeneration(), "desiredReplicas": 1, "currentMetrics": nil, "conditions": []any{
			condition("AbleToScale", able, ableReason, why, t.stamp()), condition("ScalingActive", active, activeReason, why, t.stamp()),
		}})
}

// groupOf is the group of an apiVersion.
func groupOf(version string) string {
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil {
		return ""
	}
	return parsed.Group
}

func conditionReason(o *unstructured.Unstructured, name string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name {
			reason, _ := c["reason"].(string)
			return reason
		}
	}
	return ""
}

func (t *reconciliation) budget(o *unstructured.Unstructured) {
	selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	healthy, expected := int64(0), int64(0)
	for _, kind := range running {
		for _, w := range t.of(kind.Group, kind.Kind) {
			if template, ok := templateOf(w); ok && w.GetNamespace() == o.GetNamespace() && sameLabels(selector, template.Labels) {
				expected += replicas(w)
				if isServing(w) {
					healthy += replicas(w)
				}
			}
		}
	}
	allowed, reason := "True", "SufficientPods"
	if healthy < expected || healthy == 0 {
		allowed, reason = "False", "InsufficientPods"
	}
	if conditionReason(o, "DisruptionAllowed") == reason && number(o, "status", "observedGeneration") == o.GetGeneration() {
		return
	}
	t.setStatus(o, "count its Pods", map[string]any{
		"observedGeneration": o.GetGeneration(), "currentHealthy": healthy, "desiredHealthy": expected, "expectedPods": expected,
		"disruptionsAllowed": map[bool]int64{true: 1}[allowed == "True"],
		"conditions":         []any{condition("DisruptionAllowed", allowed, reason, "", t.stamp())},
	}).quiet = true
}

// quotas writes the status of each quota, with nothing used. Until then, the API server
// rejects objects that the quota counts.
func (t *reconciliation) quotas() {
	for _, o := range t.of("", "ResourceQuota") {
		hard, _, _ := unstructured.NestedMap(o.Object, "spec", "hard")
		reported, _, _ := unstructured.NestedMap(o.Object, "status", "hard")
		used := map[string]any{}
		for name := range hard {
			if reported[name] != hard[name] {
				used[name] = "0"
			}
		}
		if len(used) > 0 && o.GetDeletionTimestamp() == nil {
			t.setStatus(o, "count what is used", map[string]any{"hard": hard, "used": used}).quiet = true
		}
	}
}
