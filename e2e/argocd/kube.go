package argocd

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager is the field manager of objects that the tests write.
const fieldManager = "ladder-e2e"

// Kube reads and writes objects of any kind.
type Kube struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewKube makes a client.
func NewKube(config *rest.Config) (*Kube, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.UserAgent = -1, -1, fieldManager
	config.WarningHandler = rest.NoWarnings{} // they are about manifests of others
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Kube{dyn, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// Resource returns the client for objects of a kind, in a namespace if the kind
// has any. Definitions come and go, so that a kind that is not known is looked
// up again.
func (k *Kube) Resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := k.mapping(gvk)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return k.dynamic.Resource(mapping.Resource), nil
	}
	return k.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

func (k *Kube) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		k.mapper.Reset()
		mapping, err = k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	return mapping, err
}

// Key names an object by its resource, as the audit log does: group, resource,
// namespace and name.
func (k *Kube) Key(obj *unstructured.Unstructured) (string, error) {
	mapping, err := k.mapping(obj.GroupVersionKind())
	if err != nil {
		return "", err
	}
	return strings.Join([]string{mapping.Resource.Group, mapping.Resource.Resource, obj.GetNamespace(), obj.GetName()}, "/"), nil
}

// Apply writes an object, whether or not it exists.
func (k *Kube) Apply(ctx context.Context, obj *unstructured.Unstructured) error {
	client, err := k.Resource(obj.GroupVersionKind(), obj.GetNamespace())
	if err != nil {
		return err
	}
	if _, err := client.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// Get reads an object.
func (k *Kube) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	client, err := k.Resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return client.Get(ctx, name, metav1.GetOptions{})
}

// Definitions reads all CustomResourceDefinitions.
func (k *Kube) Definitions(ctx context.Context) ([]*unstructured.Unstructured, error) {
	client, err := k.Resource(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "")
	if err != nil {
		return nil, err
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	var all []*unstructured.Unstructured
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// Merge changes an object by a JSON merge patch.
func (k *Kube) Merge(ctx context.Context, gvk schema.GroupVersionKind, namespace, name, patch string) error {
	client, err := k.Resource(gvk, namespace)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// Delete asks for the deletion of an object.
func (k *Kube) Delete(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) error {
	client, err := k.Resource(gvk, namespace)
	if err != nil {
		return err
	}
	return client.Delete(ctx, name, metav1.DeleteOptions{})
}
