package double

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// running are the kinds whose Pods are meant to run on.
var running = []schema.GroupKind{
	{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"},
	{Group: "apps", Kind: "ReplicaSet"}, {Kind: "Pod"},
}

func isWorkload(o *unstructured.Unstructured) bool {
	return slices.Contains(running, refOf(o).groupKind())
}

// isServing reports whether a Pod of a workload is up. It may be one of an older
// revision: a rollout does not take a Deployment down.
func isServing(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Deployment", "ReplicaSet":
		return number(o, "status", "availableReplicas") > 0
	case "StatefulSet":
		return number(o, "status", "readyReplicas") > 0
	case "DaemonSet":
		return number(o, "status", "numberAvailable") > 0
	}
	return conditionStatus(o, "Ready") == "True" || text(o, "status", "phase") == "Succeeded"
}

// replicas is how many Pods a workload is to have. There is one node.
func replicas(o *unstructured.Unstructured) int64 {
	switch o.GetKind() {
	case "DaemonSet", "Pod":
		return 1
	}
	if n, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); found {
		return n
	}
	return 1
}

func (t *reconciliation) workloads() {
	for _, kind := range running {
		for _, o := range t.of(kind.Group, kind.Kind) {
			if o.GetDeletionTimestamp() == nil && metav1.GetControllerOf(o) == nil {
				t.workload(o)
			}
		}
	}
	for _, o := range t.of("batch", "Job") {
		if o.GetDeletionTimestamp() == nil && metav1.GetControllerOf(o) == nil {
			t.job(o)
		}
	}
}

// workload brings a workload up: its revision is seen at once and is ready a
// while after all that its Pods need is there.
func (t *reconciliation) workload(o *unstructured.Unstructured) {
	if isUp(o) {
		t.makeProducts(o)
		return
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused {
		return
	}
	template, ok := templateOf(o)
	if !ok {
		t.wait(o, "its Pods cannot be read")
		return
	}
	if !isSeen(o) {
		t.setStatus(o, "start", startingStatus(o, t.stamp()))
	}
	ripening := key(o, "ready")
	if replicas(o) > 0 {
		why := t.podReason(o.GetNamespace(), template.Spec)
		if why == "" {
			why = t.needReason(o)
		}
		if why != "" {
			t.pace.forget(ripening)
			t.wait(o, why)
			return
		}
	}
	if !t.pace.passed(ripening, max(t.pace.delay(ripening), t.scenarios.startOf(refOf(o)))) {
		t.wait(o, "its Pods are starting")
		return
	}
	t.setStatus(o, "become ready", readyStatus(o, t.stamp())).admit(o, template)
	t.wait(o, "its Pods are ready in a moment")
}

// needReason says which declared need of an object is not met.
func (t *reconciliation) needReason(o *unstructured.Unstructured) string {
	for _, need := range t.scenarios.needsOf(refOf(o)) {
		if why := t.unmet(need); why != "" {
			return "it crashes: " + why
		}
	}
	return ""
}

// admit makes an action ask the API server first whether it would take a Pod of
// the template: quotas, priority classes, Pod security and webhooks are its
// business.
func (a *action) admit(o *unstructured.Unstructured, template corev1.PodTemplateSpec) {
	if o.GetKind() == "Pod" || replicas(o) == 0 {
		return
	}
	then := a.do
	a.do = func(ctx context.Context, client dynamic.Interface) error {
		if err := tryPod(ctx, client, o, template); err != nil {
			return fmt.Errorf("its Pods are refused: %w", err)
		}
		return then(ctx, client)
	}
}

func tryPod(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured, template corev1.PodTemplateSpec) error {
	pod := corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: o.GetName() + "-", Namespace: o.GetNamespace(),
			Labels: template.Labels, Annotations: template.Annotations, Finalizers: template.Finalizers,
		},
		Spec: template.Spec,
	}
	for _, claim := range claimTemplates(o) {
		pod.Spec.Volumes = append(slices.Clone(pod.Spec.Volumes), corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + o.GetName() + "-0"},
		}})
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod)
	if err != nil {
		return err
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	_, err = client.Resource(pods).Namespace(o.GetNamespace()).Create(ctx, &unstructured.Unstructured{Object: content},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// isSeen reports whether the status speaks of the present revision.
func isSeen(o *unstructured.Unstructured) bool {
	if o.GetKind() == "Pod" {
		return text(o, "status", "startTime") != ""
	}
	return number(o, "status", "observedGeneration") == o.GetGeneration()
}

// isUp reports whether the present revision runs.
func isUp(o *unstructured.Unstructured) bool {
	if !isSeen(o) {
		return false
	}
	n := replicas(o)
	switch o.GetKind() {
	case "Deployment":
		return number(o, "status", "updatedReplicas") == n && number(o, "status", "availableReplicas") == n
	case "ReplicaSet":
		return number(o, "status", "availableReplicas") == n
	case "StatefulSet":
		return number(o, "status", "readyReplicas") == n && number(o, "status", "updatedReplicas") == n
	case "DaemonSet":
		return number(o, "status", "updatedNumberScheduled") == n && number(o, "status", "numberAvailable") == n
	}
	return isServing(o)
}

// startingStatus is that of a revision whose Pods do not run yet. What an older
// revision has running stays, as in a rollout; a StatefulSet lets one Pod go.
func startingStatus(o *unstructured.Unstructured, now string) map[string]any {
	n := replicas(o)
	switch o.GetKind() {
	case "Deployment":
		old := min(number(o, "status", "availableReplicas"), n)
		updated := n
		if old > 0 {
			updated = 0
		}
		return map[string]any{
			"observedGeneration": o.GetGeneration(), "replicas": n, "updatedReplicas": updated,
			"readyReplicas": old, "availableReplicas": old, "unavailableReplicas": n - old,
			"conditions": []any{
				condition("Available", yes(old > 0), "MinimumReplicas", "", now),
				condition("Progressing", "True", "ReplicaSetUpdated", "", now),
			},
		}
	case "StatefulSet":
		old := max(min(number(o, "status", "readyReplicas"), n)-1, 0)
		return map[string]any{
			"observedGeneration": o.GetGeneration(), "replicas": n, "readyReplicas": old, "availableReplicas": old,
			"currentReplicas": n, "updatedReplicas": 0, "updateRevision": revision(o),
		}
	case "DaemonSet":
		return map[string]any{
			"observedGeneration": o.GetGeneration(), "desiredNumberScheduled": n, "currentNumberScheduled": n,
			"updatedNumberScheduled": n, "numberMisscheduled": 0, "numberReady": 0, "numberAvailable": 0, "numberUnavailable": n,
		}
	case "ReplicaSet":
		return map[string]any{"observedGeneration": o.GetGeneration(), "replicas": n, "readyReplicas": 0, "availableReplicas": 0}
	}
	return map[string]any{"phase": "Pending", "startTime": now}
}

func readyStatus(o *unstructured.Unstructured, now string) map[string]any {
	n := replicas(o)
	switch o.GetKind() {
	case "Deployment":
		return map[string]any{
			"observedGeneration": o.GetGeneration(), "replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n,
			"unavailableReplicas": 0,
			"conditions": []any{
				condition("Available", "True", "MinimumReplicasAvailable", "", now),
				condition("Progressing", "True", "NewReplicaSetAvailable", "", now),
			},
		}
	case "StatefulSet":
		return map[string]any{
			"observedGeneration": o.GetGeneration(), "replicas": n, "readyReplicas": n, "availableReplicas": n,
			"currentReplicas": n, "updatedReplicas": n, "currentRevision": revision(o), "updateRevision": revision(o),
		}
	case "DaemonSet":
		return map[string]any{
			"observedGeneration": o.GetGeneration(), "desiredNumberScheduled": n, "currentNumberScheduled": n,
			"updatedNumberScheduled": n, "numberMisscheduled": 0, "numberReady": n, "numberAvailable": n, "numberUnavailable": 0,
		}
	case "ReplicaSet":
		return map[string]any{"observedGeneration": o.GetGeneration(), "replicas": n, "readyReplicas": n, "availableReplicas": n}
	}
	if restart := text(o, "spec", "restartPolicy"); restart == "Never" || restart == "OnFailure" {
		return map[string]any{"phase": "Succeeded"}
	}
	return map[string]any{"phase": "Running",
		"conditions": []any{condition("Ready", "True", "", "", now), condition("ContainersReady", "True", "", "", now)}}
}

func revision(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s-%d", o.GetName(), o.GetGeneration())
}

func condition(name, status, reason, message, now string) map[string]any {
	return map[string]any{"type": name, "status": status, "reason": reason, "message": message, "lastTransitionTime": now}
}

func yes(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// job runs a Job to its end. While its Pod cannot start it waits; while what the
// program needs is not there, its Pods fail one after the other.
func (t *reconciliation) job(o *unstructured.Unstructured) {
	if conditionStatus(o, "Complete") == "True" || conditionStatus(o, "Failed") == "True" {
		t.makeProducts(o)
		t.expire(o)
		return
	}
	if suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspended {
		if conditionStatus(o, "Suspended") != "True" {
			t.setStatus(o, "be suspended", map[string]any{"conditions": []any{condition("Suspended", "True", "JobSuspended", "", t.stamp())}})
		}
		return
	}
	started := text(o, "status", "startTime")
	if started == "" {
		t.setStatus(o, "start", map[string]any{"startTime": t.stamp(), "active": 1})
		t.wait(o, "its Pod is starting")
		return
	}
	template, _ := templateOf(o)
	ripening := key(o, fmt.Sprintf("run %d", t.tries[o.GetUID()]))
	if why := t.podReason(o.GetNamespace(), template.Spec); why != "" {
		t.pace.forget(ripening)
		t.wait(o, why)
		return
	}
	pause := t.backoff<<min(t.tries[o.GetUID()], 10) - t.backoff // none before the first
	if !t.pace.passed(ripening, t.pace.delay(ripening)+pause) {
		t.wait(o, "its Pod runs")
		return
	}
	why, refused := t.approve(o)
	if refused = cmp.Or(t.needReason(o), refused); refused != "" {
		t.jobFails(o, refused)
		return
	}
	if why != "" {
		t.wait(o, why)
		return
	}
	t.setStatus(o, "complete", map[string]any{
		"active": 0, "succeeded": max(number(o, "spec", "completions"), 1), "completionTime": t.stamp(),
		"conditions": []any{
			condition("SuccessCriteriaMet", "True", "CompletionsReached", "", t.stamp()),
			condition("Complete", "True", "CompletionsReached", "", t.stamp()),
		},
	}).admit(o, template)
	t.wait(o, "its Pod is done in a moment")
}

// jobFails counts a Pod that has failed, and ends the Job if that was the last.
func (t *reconciliation) jobFails(o *unstructured.Unstructured, why string) {
	limit := int64(6)
	if n, found, _ := unstructured.NestedInt64(o.Object, "spec", "backoffLimit"); found {
		limit = n
	}
	uid, failed := o.GetUID(), t.tries[o.GetUID()]+1
	t.wait(o, why)
	if int64(failed) <= limit {
		t.setStatus(o, fmt.Sprintf("fail for the %d. time, %s", failed, why), map[string]any{"failed": failed}).done = func() {
			t.tries[uid] = failed
		}
		return
	}
	message := "Job has reached the specified backoff limit"
	t.setStatus(o, "fail, "+why, map[string]any{
		"active": 0, "failed": failed,
		"conditions": []any{
			condition("FailureTarget", "True", "BackoffLimitExceeded", message, t.stamp()),
			condition("Failed", "True", "BackoffLimitExceeded", message, t.stamp()),
		},
	})
}

// expire deletes a finished Job when its time to live is over.
func (t *reconciliation) expire(o *unstructured.Unstructured) {
	seconds, found, _ := unstructured.NestedInt64(o.Object, "spec", "ttlSecondsAfterFinished")
	if found && t.pace.passed(key(o, "expire "+string(o.GetUID())), time.Duration(seconds)*time.Second) {
		t.remove(o, "its time to live is over")
	}
}

// claimTemplates are the claims that a StatefulSet makes for each of its Pods.
func claimTemplates(o *unstructured.Unstructured) []corev1.PersistentVolumeClaim {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
	var claims []corev1.PersistentVolumeClaim
	for _, item := range list {
		var claim corev1.PersistentVolumeClaim
		if content, ok := item.(map[string]any); ok && runtime.DefaultUnstructuredConverter.FromUnstructured(content, &claim) == nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// sameLabels reports whether a selector, a map of labels, takes these labels.
func sameLabels(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

func hostOf(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	rest, _, _ = strings.Cut(rest, "/")
	host, _, _ := strings.Cut(rest[strings.LastIndex(rest, "@")+1:], ":")
	return host
}
