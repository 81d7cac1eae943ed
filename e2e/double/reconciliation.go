package double

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// reconciliation is one look at the world: what waits for what, and what is to be done.
type reconciliation struct {
	*world
	scenarios scenarios
	records   []Record
	programs  []program
	pace      *pace
	backoff   time.Duration
	stub      *stub
	served    map[types.UID]int64
	tries     map[types.UID]int

	waits   map[Ref]string
	actions []action

	serving     map[Ref]string  // known answers of servingReason
	controllers map[kind]string // known answers of controllerReason
}

// action is a write to the API server.
type action struct {
	on      Ref
	version string // of the object that was looked at; empty: do it whenever it is decided
	what    string // "become ready", for people
	quiet   bool   // nothing anybody wants to read
	do      func(context.Context, dynamic.Interface) error
	done    func() // called when it has succeeded; no two at a time
}

// decide looks at everything once.
func (t *reconciliation) decide() {
	t.forgetGone()
	t.namespaces()
	t.garbage()
	t.volumes()
	t.workloads()
	t.operators()
	t.customResources()
	t.services()
	t.autoscalers()
	t.quotas()
	t.trust()
}

// wait notes why an object is not healthy yet.
func (t *reconciliation) wait(o *unstructured.Unstructured, why string) { t.waits[refOf(o)] = why }

func (t *reconciliation) add(a action) { t.actions = append(t.actions, a) }

// patch merges a change into an object, or into its status.
func (t *reconciliation) patch(o *unstructured.Unstructured, what string, change map[string]any, subresources ...string) *action {
	body, err := json.Marshal(change)
	k := t.kinds[refOf(o).groupKind()]
	t.add(action{
		on: refOf(o), version: o.GetResourceVersion(), what: what,
		do: func(ctx context.Context, client dynamic.Interface) error {
			if err != nil {
				return err
			}
			_, err := client.Resource(k.resource).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, body,
				metav1.PatchOptions{}, subresources...)
			return ifThere(err)
		},
	})
	return &t.actions[len(t.actions)-1]
}

// setStatus merges a status.
func (t *reconciliation) setStatus(o *unstructured.Unstructured, what string, status map[string]any) *action {
	if k := t.kinds[refOf(o).groupKind()]; !k.status {
		return t.patch(o, what, map[string]any{"status": status})
	}
	return t.patch(o, what, map[string]any{"status": status}, "status")
}

// create creates an object; it does not change an existing one.
func (t *reconciliation) create(on *unstructured.Unstructured, o *unstructured.Unstructured) *action {
	k, known := t.kinds[refOf(o).groupKind()]
	t.add(action{
		on: refOf(on), version: on.GetResourceVersion(), what: "make " + refOf(o).String(),
		do: func(ctx context.Context, client dynamic.Interface) error {
			if !known {
				return fmt.Errorf("the cluster has no kind %s", refOf(o).groupKind())
			}
			_, err := client.Resource(k.resource).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		},
	})
	return &t.actions[len(t.actions)-1]
}

func (t *reconciliation) remove(o *unstructured.Unstructured, why string) *action {
	k := t.kinds[refOf(o).groupKind()]
	uid, background := o.GetUID(), metav1.DeletePropagationBackground
	t.add(action{
		on: refOf(o), version: o.GetResourceVersion(), what: "be deleted, " + why,
		do: func(ctx context.Context, client dynamic.Interface) error {
			return ifThere(client.Resource(k.resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(),
				metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}}))
		},
	})
	return &t.actions[len(t.actions)-1]
}

// ifThere forgives what went away in the meantime.
func ifThere(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// key names a step of an object for the pace. It has the generation, because a
// changed object starts anew.
func key(o *unstructured.Unstructured, step string) stepKey {
	return stepKey{fmt.Sprintf("%s/%s/%d/%s", refOf(o), o.GroupVersionKind().Group, o.GetGeneration(), step), o.GetUID()}
}

func (t *reconciliation) stamp() string { return t.pace.now.UTC().Format(time.RFC3339) }

// missing says why an object cannot be relied on, empty if it can: that it is
// not there, or, if it can be ready, that it is not.
func (t *reconciliation) missing(r Ref) string {
	o := t.find(r)
	if o == nil {
		return r.String() + " is missing"
	}
	if !t.isReady(o) {
		return t.notReady(o)
	}
	return ""
}

// unmet says why a declared need is not met.
func (t *reconciliation) unmet(n Need) string {
	if n.Applied && t.find(n.Needs) != nil {
		return ""
	}
	return t.missing(n.Needs)
}

func (t *reconciliation) notReady(o *unstructured.Unstructured) string {
	if o.GetKind() == "Service" {
		return t.serviceReason(o)
	}
	return refOf(o).String() + " is not ready"
}

// isReady reports whether an object is what it is meant to be.
func (t *reconciliation) isReady(o *unstructured.Unstructured) bool {
	switch kind := refOf(o).groupKind(); {
	case isWorkload(o):
		return isServing(o)
	case kind == schema.GroupKind{Group: "batch", Kind: "Job"}:
		return conditionStatus(o, "Complete") == "True"
	case kind == schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return text(o, "status", "phase") == "Bound"
	case kind == schema.GroupKind{Kind: "Service"}:
		return t.serviceReason(o) == ""
	case kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return conditionStatus(o, "Established") == "True"
	case kind == schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		return conditionStatus(o, "Available") == "True"
	case t.kinds[kind].custom:
		_, served := t.served[o.GetUID()]
		return served
	}
	return true
}
