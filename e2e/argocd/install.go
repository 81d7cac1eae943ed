package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// install writes what Argo CD's own installation would: its CRDs, its default
// settings, the project default, and the cluster as a registered one, because the
// cluster has no in-cluster address.
func (a *ArgoCD) install(ctx context.Context) error {
	for _, name := range []string{"application-crd", "applicationset-crd", "appproject-crd"} {
		crd, err := a.shipped(filepath.Join("crds", name+".yaml"))
		if err != nil {
			return err
		}
		if err := a.kube.Apply(ctx, crd); err != nil {
			return err
		}
	}
	objs, err := a.settings()
	if err != nil {
		return err
	}
	for _, obj := range objs {
		if err := a.established(ctx, func() error { return a.kube.Apply(ctx, obj) }); err != nil {
			return err
		}
	}
	return nil
}

// established repeats an apply until the API server serves its kind.
func (a *ArgoCD) established(ctx context.Context, apply func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := apply()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// shipped reads a manifest of Argo CD's own.
func (a *ArgoCD) shipped(path string) (*unstructured.Unstructured, error) {
	text, err := os.ReadFile(filepath.Join(a.bin.Module, "manifests", path))
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, yaml.Unmarshal(text, &obj.Object)
}

// settings are the objects in Argo CD's namespace, which comes first.
func (a *ArgoCD) settings() ([]*unstructured.Unstructured, error) {
	general, err := a.shipped("base/config/argocd-cm.yaml")
	if err != nil {
		return nil, err
	}
	general.SetNamespace(Namespace)
	data, _, err := unstructured.NestedStringMap(general.Object, "data")
	if err != nil {
		return nil, err
	}
	if data == nil {
		data = map[string]string{}
	}
	maps.Copy(data, a.opt.Settings)
	data["cluster.inClusterEnabled"] = "false"
	if err := unstructured.SetNestedStringMap(general.Object, data, "data"); err != nil {
		return nil, err
	}
	access, err := json.Marshal(map[string]any{
		"bearerToken":     a.server.Token,
		"tlsClientConfig": map[string]any{"insecure": true},
	})
	if err != nil {
		return nil, err
	}
	part := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	anything := []any{map[string]any{"group": "*", "kind": "*"}}
	return []*unstructured.Unstructured{
		object("v1", "Namespace", "", Namespace, nil, nil),
		general,
		object("v1", "ConfigMap", Namespace, "argocd-rbac-cm", part, nil),
		object("v1", "ConfigMap", Namespace, "argocd-ssh-known-hosts-cm", part, nil),
		object("v1", "ConfigMap", Namespace, "argocd-tls-certs-cm", part, nil),
		object("v1", "ConfigMap", Namespace, "argocd-gpg-keys-cm", part, nil),
		object("v1", "Secret", Namespace, "argocd-secret", part, map[string]any{
			"stringData": map[string]any{"server.secretkey": "a key that signs sessions which nobody has"}}),
		object("v1", "Secret", Namespace, "cluster", map[string]string{"argocd.argoproj.io/secret-type": "cluster"}, map[string]any{
			"stringData": map[string]any{"name": "cluster", "server": a.server.URL, "config": string(access)}}),
		object("argoproj.io/v1alpha1", "AppProject", Namespace, "default", nil, map[string]any{"spec": map[string]any{
			"sourceRepos":                []any{"*"},
			"destinations":               []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist":   anything,
			"namespaceResourceWhitelist": anything,
		}}),
	}, nil
}

// object builds an object from its identity and the rest of its fields.
func object(apiVersion, kind, namespace, name string, labels map[string]string, rest map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(obj.Object, rest)
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	obj.SetNamespace(namespace)
	obj.SetName(name)
	if len(labels) > 0 {
		obj.SetLabels(labels)
	}
	return obj
}

// ShippedHealth returns the health checks that the project's own deployment
// adds to Argo CD's settings.
func ShippedHealth(root string) (map[string]string, error) {
	path := filepath.Join(root, "deploy", "argocd-values.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var values struct {
		Configs struct {
			CM map[string]string `json:"cm"`
		} `json:"configs"`
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values.Configs.CM, nil
}
