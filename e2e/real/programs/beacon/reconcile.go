package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// again is how long the operator rests between two looks if nothing happens to Beacons:
// the Deployments that it made may have become ready meanwhile.
const again = time.Second

// reconcileAll keeps all Beacons of the namespace as they should be. It returns when
// ctx ends. Without the CRD it waits, as a controller-runtime manager does for a while.
func (o *operator) reconcileAll(ctx context.Context) {
	for ctx.Err() == nil {
		list, err := o.cluster.of("beacon").List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
			slog.Info("waiting", "for", "the CRD of Beacon")
		case err != nil:
			slog.Error("listing Beacons", "error", err)
		default:
			for i := range list.Items {
				if err := o.reconcile(ctx, &list.Items[i]); err != nil && !apierrors.IsConflict(err) {
					slog.Error("reconciling", "beacon", list.Items[i].GetName(), "error", err)
				}
			}
			o.rest(ctx, list.GetResourceVersion())
			continue
		}
		sleep(ctx, again)
	}
}

// rest returns when a Beacon changes, or after [again] at the latest.
func (o *operator) rest(ctx context.Context, since string) {
	ctx, stop := context.WithTimeout(ctx, again)
	defer stop()
	w, err := o.cluster.of("beacon").Watch(ctx, metav1.ListOptions{ResourceVersion: since})
	if err != nil {
		<-ctx.Done()
		return
	}
	defer w.Stop()
	select {
	case <-ctx.Done():
	case event, open := <-w.ResultChan():
		if !open || event.Type == watch.Error {
			<-ctx.Done()
		}
	}
}

// reconcile makes what a Beacon asks for and says in its status whether that runs.
func (o *operator) reconcile(ctx context.Context, beacon *unstructured.Unstructured) error {
	name := beacon.GetName()
	message, _, _ := unstructured.NestedString(beacon.Object, "spec", "message")
	parts := []struct {
		kind   string
		object map[string]any
	}{
		{"configmap", o.configMapOf(beacon, message)},
		{"service", o.serviceOf(beacon)},
		{"deployment", o.deploymentOf(beacon)},
	}
	for _, part := range parts {
		found, err := o.cluster.exists(ctx, ref{part.kind, name})
		if err == nil && (!found || part.kind == "configmap") {
			err = o.cluster.write(ctx, part.kind, part.object)
		}
		if err != nil {
			return err
		}
	}
	deployment, err := o.cluster.of("deployment").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	available, _, _ := unstructured.NestedInt64(deployment.Object, "status", "availableReplicas")
	return o.report(ctx, beacon, available > 0)
}

// report writes the condition Ready, unless it is there already.
func (o *operator) report(ctx context.Context, beacon *unstructured.Unstructured, ready bool) error {
	status, reason, message := "False", "Starting", "the Deployment is not available yet"
	if ready {
		status, reason, message = "True", "Available", "the light is on"
	}
	conditions, _, _ := unstructured.NestedSlice(beacon.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == status &&
			c["observedGeneration"] == beacon.GetGeneration() {
			return nil
		}
	}
	beacon = beacon.DeepCopy()
	beacon.Object["status"] = map[string]any{
		"observedGeneration": beacon.GetGeneration(),
		"conditions": []any{map[string]any{
			"type": "Ready", "status": status, "reason": reason, "message": message,
			"observedGeneration": beacon.GetGeneration(),
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}
	if _, err := o.cluster.of("beacon").UpdateStatus(ctx, beacon, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the status of Beacon %s: %w", beacon.GetName(), err)
	}
	return nil
}

func (o *operator) configMapOf(beacon *unstructured.Unstructured, message string) map[string]any {
	return part(beacon, "v1", "ConfigMap", "data", map[string]any{"message": message})
}

func (o *operator) serviceOf(beacon *unstructured.Unstructured) map[string]any {
	return part(beacon, "v1", "Service", "spec", map[string]any{
		"selector": labels(beacon),
		"ports":    []any{map[string]any{"port": int64(80), "targetPort": int64(8080)}},
	})
}

func (o *operator) deploymentOf(beacon *unstructured.Unstructured) map[string]any {
	return part(beacon, "apps/v1", "Deployment", "spec", map[string]any{
		"selector": map[string]any{"matchLabels": labels(beacon)},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels(beacon)},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "light", "image": o.habits.LightImage, "args": []any{"light"},
				"env": []any{map[string]any{"name": "MESSAGE", "valueFrom": map[string]any{
					"configMapKeyRef": map[string]any{"name": beacon.GetName(), "key": "message"}}}},
				"readinessProbe": map[string]any{"httpGet": map[string]any{"path": "/", "port": int64(8080)}, "periodSeconds": int64(1)},
			}}},
		},
	})
}

func labels(beacon *unstructured.Unstructured) map[string]any {
	return map[string]any{"beacon.example.com/name": beacon.GetName()}
}

// part is an object that goes when its Beacon goes.
func part(beacon *unstructured.Unstructured, version, kind, field string, content any) map[string]any {
	return map[string]any{
		"apiVersion": version, "kind": kind, field: content,
		"metadata": map[string]any{
			"name": beacon.GetName(), "labels": labels(beacon),
			"ownerReferences": []any{map[string]any{
				"apiVersion": beacon.GetAPIVersion(), "kind": beacon.GetKind(), "controller": true,
				"name": beacon.GetName(), "uid": string(beacon.GetUID()),
			}},
		},
	}
}
