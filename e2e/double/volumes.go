package double

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"

// makeDefaultClass makes the StorageClass that claims get which name none.
func (d *Double) makeDefaultClass(ctx context.Context) error {
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata":    map[string]any{"name": "standard", "annotations": map[string]any{defaultClassAnnotation: "true"}},
		"provisioner": "cluster-double", "volumeBindingMode": d.opt.DefaultClass,
	}}
	classes := schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	if _, err := d.client.Resource(classes).Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the default StorageClass: %w", err)
	}
	return nil
}

// volumes makes the claims of StatefulSets and binds claims.
func (t *reconciliation) volumes() {
	for _, set := range t.of("apps", "StatefulSet") {
		if set.GetDeletionTimestamp() == nil {
			t.makeClaims(set)
		}
	}
	for _, claim := range t.of("", "PersistentVolumeClaim") {
		switch {
		case claim.GetDeletionTimestamp() != nil:
			t.releaseClaim(claim)
		case text(claim, "status", "phase") == "Bound":
			t.growClaim(claim)
		default:
			t.claim(claim)
		}
	}
	for _, volume := range t.of("", "PersistentVolume") {
		if volume.GetDeletionTimestamp() != nil && slices.Contains(volume.GetFinalizers(), volumeProtection) {
			t.dropFinalizer(volume, volumeProtection)
		}
	}
}

const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

func (t *reconciliation) makeClaims(set *unstructured.Unstructured) {
	template, ok := templateOf(set)
	if !ok || t.creationReason(set.GetNamespace(), template.Spec) != "" {
		return
	}
	for _, claim := range claimTemplates(set) {
		for i := range replicas(set) {
			made := claim.DeepCopy()
			made.APIVersion, made.Kind = "v1", "PersistentVolumeClaim"
			made.Name, made.Namespace = fmt.Sprintf("%s-%s-%d", claim.Name, set.GetName(), i), set.GetNamespace()
			selector, _, _ := unstructured.NestedStringMap(set.Object, "spec", "selector", "matchLabels")
			made.Labels = selector
			made.Status.Phase = ""
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
			if err == nil && t.get("", "PersistentVolumeClaim", made.Namespace, made.Name) == nil {
				t.create(set, &unstructured.Unstructured{Object: content})
			}
		}
	}
}

// claim binds a claim to a volume that is there, or else to one that its class makes.
func (t *reconciliation) claim(claim *unstructured.Unstructured) {
	if text(claim, "status", "phase") == "" {
		t.setStatus(claim, "be pending", map[string]any{"phase": "Pending"}).quiet = true
	}
	volume, why := t.volumeFor(claim)
	ripening := key(claim, "bind")
	if why != "" {
		t.pace.forget(ripening)
		t.wait(claim, why)
		return
	}
	if !t.pace.ripe(ripening) {
		t.wait(claim, "its volume is being made")
		return
	}
	t.bind(claim, volume)
	t.wait(claim, "it is bound in a moment")
}

// volumeFor finds the volume for a claim: nil for one that is yet to be made.
func (t *reconciliation) volumeFor(claim *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	if volume := t.freeVolume(claim); volume != nil {
		return volume, ""
	}
	name := text(claim, "spec", "storageClassName")
	if name == "" {
		return nil, "it names no StorageClass, there is no default one, and no volume fits"
	}
	class := t.get("storage.k8s.io", "StorageClass", "", name)
	if class == nil {
		return nil, Ref{Kind: "StorageClass", Name: name}.String() + " is missing, and no volume fits"
	}
	for _, need := range t.scenarios.needsOf(refOf(class)) {
		if why := t.unmet(need); why != "" {
			return nil, refOf(class).String() + " makes no volumes: " + why
		}
	}
	if text(class, "volumeBindingMode") == "WaitForFirstConsumer" && !t.isConsumed(claim) {
		return nil, refOf(class).String() + " waits for a first consumer, and no Pod uses the claim"
	}
	if text(class, "provisioner") == "kubernetes.io/no-provisioner" {
		return nil, refOf(class).String() + " makes no volumes, and no volume fits"
	}
	return nil, ""
}

// isConsumed reports whether a Pod that can be made uses the claim. It need not
// be able to start.
func (t *reconciliation) isConsumed(claim *unstructured.Unstructured) bool {
	for _, kind := range append([]schema.GroupKind{{Group: "batch", Kind: "Job"}}, running...) {
		for _, o := range t.of(kind.Group, kind.Kind) {
			if o.GetNamespace() == claim.GetNamespace() && o.GetDeletionTimestamp() == nil && replicas(o) > 0 && t.uses(o, claim.GetName()) {
				return true
			}
		}
	}
	return false
}

func (t *reconciliation) uses(o *unstructured.Unstructured, claim string) bool {
	template, ok := templateOf(o)
	if !ok || t.creationReason(o.GetNamespace(), template.Spec) != "" {
		return false
	}
	for _, v := range template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	for _, c := range claimTemplates(o) {
		for i := range replicas(o) {
			if fmt.Sprintf("%s-%s-%d", c.Name, o.GetName(), i) == claim {
				return true
			}
		}
	}
	return false
}

// freeVolume is a volume of the cluster that the claim may have.
func (t *reconciliation) freeVolume(claim *unstructured.Unstructured) *unstructured.Unstructured {
	for _, volume := range t.of("", "PersistentVolume") {
		holder, held, _ := unstructured.NestedMap(volume.Object, "spec", "claimRef")
		isOurs := held && holder["name"] == claim.GetName() && holder["namespace"] == claim.GetNamespace()
		named := text(claim, "spec", "volumeName")
		switch {
		case volume.GetDeletionTimestamp() != nil, held && !isOurs, named != "" && named != volume.GetName():
		case isOurs, named != "":
			return volume
		case text(volume, "spec", "storageClassName") == text(claim, "spec", "storageClassName") && isLargeEnough(volume, claim) &&
			offersModes(volume, claim):
			return volume
		}
	}
	return nil
}

func isLargeEnough(volume, claim *unstructured.Unstructured) bool {
	has, err1 := resource.ParseQuantity(text(volume, "spec", "capacity", "storage"))
	wants, err2 := resource.ParseQuantity(text(claim, "spec", "resources", "requests", "storage"))
	return err1 == nil && err2 == nil && has.Cmp(wants) >= 0
}

func offersModes(volume, claim *unstructured.Unstructured) bool {
	offered, _, _ := unstructured.NestedStringSlice(volume.Object, "spec", "accessModes")
	wanted, _, _ := unstructured.NestedStringSlice(claim.Object, "spec", "accessModes")
	return !slices.ContainsFunc(wanted, func(mode string) bool { return !slices.Contains(offered, mode) })
}

// bind writes both sides of a binding; a volume that its class makes is nobody's
// to look at, so it is only named.
func (t *reconciliation) bind(claim, volume *unstructured.Unstructured) {
	name := "pvc-" + string(claim.GetUID())
	if volume != nil {
		name = volume.GetName()
		t.patch(volume, "belong to "+refOf(claim).String(), map[string]any{"spec": map[string]any{"claimRef": map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.GetNamespace(), "name": claim.GetName(),
			"uid": string(claim.GetUID()),
		}}})
		t.setStatus(volume, "be bound", map[string]any{"phase": "Bound"})
	}
	if text(claim, "spec", "volumeName") == "" {
		t.patch(claim, "name its volume", map[string]any{"spec": map[string]any{"volumeName": name}}).quiet = true
		return // bound in the next turn: the API server must have seen the name first
	}
	modes, _, _ := unstructured.NestedSlice(claim.Object, "spec", "accessModes")
	t.setStatus(claim, "be bound", map[string]any{"phase": "Bound", "accessModes": modes, "capacity": requested(claim)})
}

func requested(claim *unstructured.Unstructured) map[string]any {
	return map[string]any{"storage": text(claim, "spec", "resources", "requests", "storage")}
}

func (t *reconciliation) growClaim(claim *unstructured.Unstructured) {
	if text(claim, "status", "capacity", "storage") != text(claim, "spec", "resources", "requests", "storage") {
		t.setStatus(claim, "grow", map[string]any{"capacity": requested(claim)})
	}
}

// releaseClaim lets a deleted claim go when no Pod uses it any more.
func (t *reconciliation) releaseClaim(claim *unstructured.Unstructured) {
	if !slices.Contains(claim.GetFinalizers(), claimProtection) {
		return
	}
	if t.isConsumed(claim) {
		t.wait(claim, "it is to be deleted, and a Pod uses it")
		return
	}
	t.dropFinalizer(claim, claimProtection)
}

// dropFinalizer takes one finalizer away.
func (t *reconciliation) dropFinalizer(o *unstructured.Unstructured, finalizer string) *action {
	var rest []any
	for _, f := range o.GetFinalizers() {
		if f != finalizer {
			rest = append(rest, f)
		}
	}
	// The version makes sure that no other finalizer comes back with an old list.
	return t.patch(o, "lose its finalizer "+finalizer,
		map[string]any{"metadata": map[string]any{"finalizers": rest, "resourceVersion": o.GetResourceVersion()}})
}
