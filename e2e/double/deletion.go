package double

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// namespaces furnishes namespaces as kube-controller-manager does, and lets
// deleted ones go when nothing is in them any more.
func (t *reconciliation) namespaces() {
	content := map[string][]*unstructured.Unstructured{}
	for ref, o := range t.objects {
		if ref.Namespace != "" {
			content[ref.Namespace] = append(content[ref.Namespace], o)
		}
	}
	for _, namespace := range t.of("", "Namespace") {
		if namespace.GetDeletionTimestamp() == nil {
			t.furnish(namespace)
			continue
		}
		inside := content[namespace.GetName()]
		slices.SortFunc(inside, func(a, b *unstructured.Unstructured) int { return refOf(a).compare(refOf(b)) })
		for _, o := range inside {
			if o.GetDeletionTimestamp() == nil {
				t.remove(o, "its namespace goes").quiet = true
			}
		}
		empty := key(namespace, "empty")
		switch {
		case len(inside) > 0:
			t.pace.forget(empty)
			t.wait(namespace, "it is to be deleted, and "+refOf(inside[0]).String()+" is in it")
		// What was made just before may not have been seen, and in a namespace that
		// is gone nothing can be changed any more.
		case t.pace.passed(empty, 200*time.Millisecond):
			t.finalize(namespace)
		default:
			t.wait(namespace, "it is to be deleted, and seems to be empty")
		}
	}
}

// furnish makes what every namespace has.
func (t *reconciliation) furnish(namespace *unstructured.Unstructured) {
	in := namespace.GetName()
	if t.get("", "ServiceAccount", in, "default") == nil {
		t.create(namespace, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default", "namespace": in},
		}}).quiet = true
	}
	if t.get("", "ConfigMap", in, "kube-root-ca.crt") == nil {
		t.create(namespace, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "kube-root-ca.crt", "namespace": in},
			"data": map[string]any{"ca.crt": string(t.stub.authority.certificate)},
		}}).quiet = true
	}
}

func (t *reconciliation) finalize(namespace *unstructured.Unstructured) {
	if finalizers, _, _ := unstructured.NestedSlice(namespace.Object, "spec", "finalizers"); len(finalizers) == 0 {
		return
	}
	empty := namespace.DeepCopy()
	unstructured.RemoveNestedField(empty.Object, "spec", "finalizers")
	resource := t.kinds[refOf(namespace).groupKind()].resource
	t.add(action{
		on: refOf(namespace), version: namespace.GetResourceVersion(), what: "be gone",
		do: func(ctx context.Context, client dynamic.Interface) error {
			_, err := client.Resource(resource).Update(ctx, empty, metav1.UpdateOptions{}, "finalize")
			return ifThere(err)
		},
	})
}

// garbage collects: what has lost all its owners goes, and what is to be deleted
// before or after its dependents waits for them.
func (t *reconciliation) garbage() {
	dependents := map[types.UID][]*unstructured.Unstructured{}
	for _, o := range t.objects {
		for _, owner := range o.GetOwnerReferences() {
			dependents[owner.UID] = append(dependents[owner.UID], o)
		}
		if o.GetDeletionTimestamp() == nil && len(o.GetOwnerReferences()) > 0 {
			t.collect(o)
		}
	}
	for _, o := range t.objects {
		if o.GetDeletionTimestamp() == nil {
			continue
		}
		if slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) {
			t.deleteDependents(o, dependents[o.GetUID()])
		}
		if slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) {
			t.orphanDependents(o, dependents[o.GetUID()])
		}
	}
}

// collect deletes an object none of whose owners is there. What is seen of the
// world may lag, so it waits a little and asks the API server.
func (t *reconciliation) collect(o *unstructured.Unstructured) {
	orphaned := key(o, "collect")
	for _, owner := range o.GetOwnerReferences() {
		if t.byUID[owner.UID] != nil {
			t.pace.forget(orphaned)
			return
		}
	}
	if !t.pace.passed(orphaned, 300*time.Millisecond) {
		return
	}
	removal := t.remove(o, "its owner is gone")
	then := removal.do
	world := t.world
	removal.do = func(ctx context.Context, client dynamic.Interface) error {
		for _, owner := range o.GetOwnerReferences() {
			if there, err := isThere(ctx, client, world, o.GetNamespace(), owner); there || err != nil {
				return err
			}
		}
		return then(ctx, client)
	}
}

func isThere(ctx context.Context, client dynamic.Interface, w *world, namespace string, owner metav1.OwnerReference) (bool, error) {
	for groupKind, k := range w.kinds {
		if groupKind.Kind != owner.Kind || groupKind.Group != groupOf(owner.APIVersion) {
			continue
		}
		if !k.namespaced {
			namespace = ""
		}
		found, err := client.Resource(k.resource).Namespace(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && found.GetUID() == owner.UID, err
	}
	return false, nil
}

func (t *reconciliation) deleteDependents(o *unstructured.Unstructured, dependents []*unstructured.Unstructured) {
	blocked := ""
	for _, d := range dependents {
		if d.GetDeletionTimestamp() == nil {
			t.remove(d, "its owner goes").quiet = true
		}
		for _, owner := range d.GetOwnerReferences() {
			if owner.UID == o.GetUID() && owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
				blocked = refOf(d).String()
			}
		}
	}
	if blocked != "" {
		t.wait(o, "it is to be deleted after "+blocked)
		return
	}
	t.dropFinalizer(o, metav1.FinalizerDeleteDependents).quiet = true
}

func (t *reconciliation) orphanDependents(o *unstructured.Unstructured, dependents []*unstructured.Unstructured) {
	for _, d := range dependents {
		var rest []any
		for _, owner := range d.GetOwnerReferences() {
			if owner.UID != o.GetUID() {
				rest = append(rest, map[string]any{"apiVersion": owner.APIVersion, "kind": owner.Kind, "name": owner.Name, "uid": string(owner.UID)})
			}
		}
		t.patch(d, "be nobody's", map[string]any{"metadata": map[string]any{"ownerReferences": rest, "resourceVersion": d.GetResourceVersion()}})
	}
	if len(dependents) == 0 {
		t.dropFinalizer(o, metav1.FinalizerOrphanDependents).quiet = true
	}
}
