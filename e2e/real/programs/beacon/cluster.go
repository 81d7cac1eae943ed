package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var beacons = schema.GroupVersionResource{Group: "beacon.example.com", Version: "v1", Resource: "beacons"}

// kinds are the resources that the operator reads and writes, by the words of its flags.
var kinds = map[string]struct {
	resource    schema.GroupVersionResource
	clusterWide bool
}{
	"beacon":     {resource: beacons},
	"configmap":  {resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
	"secret":     {resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}},
	"service":    {resource: schema.GroupVersionResource{Version: "v1", Resource: "services"}},
	"deployment": {resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}},
	"crd": {clusterWide: true, resource: schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}},
	"webhook": {clusterWide: true, resource: schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}},
}

// cluster is where the operator runs.
type cluster struct {
	client    dynamic.Interface
	namespace string
}

func (c cluster) of(kind string) dynamic.ResourceInterface {
	k := kinds[kind]
	if k.clusterWide {
		return c.client.Resource(k.resource)
	}
	return c.client.Resource(k.resource).Namespace(c.namespace)
}

// exists says whether an object is there. One whose kind is not served is not.
func (c cluster) exists(ctx context.Context, r ref) (bool, error) {
	_, err := c.of(r.Kind).Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", r, err)
	}
	return true, nil
}

// write creates an object, or gives the one that is there the same content.
func (c cluster) write(ctx context.Context, kind string, object map[string]any) error {
	want := &unstructured.Unstructured{Object: object}
	_, err := c.of(kind).Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return wrap(err, "creating", kind, want.GetName())
	}
	live, err := c.of(kind).Get(ctx, want.GetName(), metav1.GetOptions{})
	if err != nil {
		return wrap(err, "reading", kind, want.GetName())
	}
	for _, field := range []string{"spec", "data", "webhooks"} {
		if value, ok := object[field]; ok {
			live.Object[field] = value
		}
	}
	_, err = c.of(kind).Update(ctx, live, metav1.UpdateOptions{})
	return wrap(err, "updating", kind, want.GetName())
}

func wrap(err error, doing, kind, name string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, ref{kind, name}, err)
}
