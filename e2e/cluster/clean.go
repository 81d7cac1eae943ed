package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Cleaner deletes what a case left in a cluster.
type Cleaner struct {
	config *rest.Config
	spare  func(*unstructured.Unstructured) bool
	kept   map[string]bool
}

// NewCleaner returns a cleaner of a cluster that keeps what exists now. It never deletes
// objects for which spare is true, such as those that controllers create for themselves
// at any time. spare may be nil.
func NewCleaner(ctx context.Context, config *rest.Config, spare func(*unstructured.Unstructured) bool) (*Cleaner, error) {
	c := &Cleaner{config: config, spare: spare}
	return c, c.Keep(ctx)
}

// Keep makes the cleaner keep what is in the cluster now: what the API server creates
// by itself, what a double creates in each namespace, what all cases of a suite share.
func (c *Cleaner) Keep(ctx context.Context) error {
	objects, err := c.objects(ctx)
	if err != nil {
		return fmt.Errorf("listing what is in the cluster: %w", err)
	}
	c.kept = map[string]bool{}
	for _, o := range objects {
		c.kept[o.key()] = true
	}
	return nil
}

// Clean deletes what has come since [Cleaner.Keep] and returns when it is gone:
// namespaces with their content, CRDs, webhook configurations, and everything else.
// If mine is not nil, Clean deletes only objects for which it is true, and everything
// in the namespaces for which it is true; this cleans one of several cases that share
// the cluster. Finalizers are removed, because nothing may be left to handle them.
func (c *Cleaner) Clean(ctx context.Context, mine func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := c.cleanOnce(ctx, mine)
		if err == nil && len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("cleaning the cluster: %d objects stay, among them %s (last error: %w)", len(left), first(left), err)
		}
	}
}

func first(left []found) string {
	if len(left) == 0 {
		return "none"
	}
	return left[0].key()
}

// cleanOnce deletes what can be deleted and returns what was still there. What
// prevents deletions goes first: webhooks and conversions that do not respond, then
// aggregated APIs; CRDs go last, with their objects.
func (c *Cleaner) cleanOnce(ctx context.Context, mine func(*unstructured.Unstructured) bool) ([]found, error) {
	all, err := c.objects(ctx)
	if err != nil {
		return nil, err
	}
	namespaces := map[string]bool{}
	for _, o := range all {
		if o.resource.Resource == "namespaces" && !c.stays(o) && (mine == nil || mine(o.object)) {
			namespaces[o.object.GetName()] = true
		}
	}
	inhabited := map[string]bool{}
	for _, o := range all {
		inhabited[o.object.GetNamespace()] = true
	}
	var left []found
	for _, o := range all {
		if !c.stays(o) && (mine == nil || mine(o.object) || namespaces[o.object.GetNamespace()]) {
			left = append(left, o)
		}
	}
	for _, step := range cleaning {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(8)
		for _, o := range left {
			if step.takes(o) {
				group.Go(func() error { return c.remove(ctx, o) })
			}
		}
		if err := group.Wait(); err != nil {
			return left, err
		}
	}
	for namespace := range namespaces {
		// Not before it is empty: nothing can be changed in one that is not there,
		// so a finalizer in it would stay for ever.
		if !inhabited[namespace] {
			if err := c.finalize(ctx, namespace); err != nil {
				return left, err
			}
		}
	}
	return left, nil
}

func (c *Cleaner) stays(o found) bool {
	return c.kept[o.key()] || c.spare != nil && c.spare(o.object)
}

// cleaning is the order in which objects are deleted.
var cleaning = []struct {
	what  string
	takes func(found) bool
}{
	{"admission", func(o found) bool { return o.resource.Group == "admissionregistration.k8s.io" }},
	{"aggregated APIs", func(o found) bool { return o.resource.Group == "apiregistration.k8s.io" }},
	{"objects", func(o found) bool {
		return o.resource.Group != "admissionregistration.k8s.io" && o.resource.Group != "apiregistration.k8s.io" && !o.isDefinition()
	}},
	{"definitions", found.isDefinition},
}

func (c *Cleaner) remove(ctx context.Context, o found) error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	to := client.Resource(o.resource).Namespace(o.object.GetNamespace())
	name := o.object.GetName()
	if len(o.object.GetFinalizers()) > 0 && !o.isDefinition() {
		_, err := to.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if ignoreMissing(err) != nil {
			return fmt.Errorf("taking the finalizers of %s: %w", o.key(), err)
		}
	}
	if o.isDefinition() {
		// Its objects cannot be listed, hence not deleted, while nobody converts them.
		_, err := to.Patch(ctx, name, types.MergePatchType,
			[]byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`), metav1.PatchOptions{})
		if ignoreMissing(err) != nil {
			return fmt.Errorf("ending the conversion of %s: %w", o.key(), err)
		}
	}
	background, now := metav1.DeletePropagationBackground, int64(0)
	err = to.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background, GracePeriodSeconds: &now})
	if ignoreMissing(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting %s: %w", o.key(), err)
	}
	return nil
}

// finalize lets a namespace go that is being deleted.
func (c *Cleaner) finalize(ctx context.Context, namespace string) error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	object, err := namespaces.Get(ctx, namespace, metav1.GetOptions{})
	if err != nil || object.GetDeletionTimestamp() == nil {
		return ignoreMissing(err)
	}
	unstructured.RemoveNestedField(object.Object, "spec", "finalizers")
	_, err = namespaces.Update(ctx, object, metav1.UpdateOptions{}, "finalize")
	if ignoreMissing(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("finalizing namespace %s: %w", namespace, err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// found is an object of the cluster.
type found struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// key is the same for every version of the API.
func (o found) key() string {
	return strings.Join([]string{o.resource.Resource, o.resource.Group, o.object.GetNamespace(), o.object.GetName()}, "/")
}

func (o found) isDefinition() bool { return o.resource.Group == "apiextensions.k8s.io" }

// passing are resources that the API server or its clients renew by themselves.
var passing = map[string]bool{
	"events": true, "leases.coordination.k8s.io": true, "events.events.k8s.io": true, "endpoints": true,
	"nodes": true, "csinodes.storage.k8s.io": true,
}

// objects lists all that is in the cluster and can be deleted. Aggregated APIs
// and definitions that do not answer are passed over: their objects go when
// what stands before them has gone.
func (c *Cleaner) objects(ctx context.Context) ([]found, error) {
	resources, err := c.resources()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	lists := make([][]found, len(resources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, resource := range resources {
		group.Go(func() error {
			list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return nil
			}
			for j := range list.Items {
				lists[i] = append(lists[i], found{resource, &list.Items[j]})
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []found
	for _, list := range lists {
		all = append(all, list...)
	}
	return all, nil
}

func (c *Cleaner) resources() ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discovering resources: %w", err)
	}
	var resources []schema.GroupVersionResource
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discovering resources: %w", err)
		}
		for _, resource := range list.APIResources {
			found := version.WithResource(resource.Name)
			if !passing[found.GroupResource().String()] {
				resources = append(resources, found)
			}
		}
	}
	return resources, nil
}
