// Package cluster reads the installation of an Argo CD: from a live cluster, and
// from values files of its chart. It modifies nothing, and reads no
// Secrets but those requested by name (Cluster.Secrets).
package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	yaml "go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Cluster is the cluster of an Argo CD. It is never modified.
type Cluster struct {
	Kubeconfig, Context, Namespace string
	// UserAgent identifies the program to the API server.
	UserAgent string
}

// Read reads the installation. Missing permissions are findings; a cluster that
// does not respond is an error.
func (c Cluster) Read(ctx context.Context) (Found, error) { return c.read(ctx, listedKinds) }

// ArgoCD reads which health checks the Argo CD has. What the user may not list is a finding.
func (c Cluster) ArgoCD(ctx context.Context) (knowledge.ArgoCD, []finding.Finding, error) {
	found, err := c.read(ctx, listedKinds[:3]) // Deployments, StatefulSets and ConfigMaps
	return doctor.ArgoCDOf(found.Objects), found.Findings, err
}

func (c Cluster) read(ctx context.Context, kinds []listedKind) (Found, error) {
	config, err := c.Config()
	if err != nil {
		return Found{}, err
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return Found{}, c.Fault(err)
	}
	var found Found
	for _, kind := range kinds {
		items, err := list(ctx, all, kind.GroupVersionResource, c.Namespace, kind.everywhere)
		switch {
		case err == nil:
		case apierrors.IsNotFound(err) && kind.optional:
		case apierrors.IsForbidden(err):
			found.Findings = append(found.Findings, notSeen(kind.Resource))
		case apierrors.IsNotFound(err):
			return Found{}, c.Fault(fmt.Errorf("it has no %s; is Argo CD installed there?", kind.Resource))
		default:
			return Found{}, c.Fault(err)
		}
		for _, item := range items {
			o, err := parsed(item)
			if err != nil {
				return Found{}, err
			}
			found.Objects = append(found.Objects, o...)
		}
	}
	return found, nil
}

// Config returns how to reach the cluster. Its error names the flag to correct.
func (c Cluster) Config() (*rest.Config, error) {
	if c.Kubeconfig != "" {
		text, err := os.ReadFile(c.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("%s: %s; fix: correct --kubeconfig", c.Kubeconfig, wholefile.Reason(err))
		}
		if !isKubeconfig(text) {
			return nil, fmt.Errorf("%s: not a kubeconfig; fix: correct --kubeconfig, or pass manifests without it", c.Kubeconfig)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, finding.Fault("no kubeconfig was found", "set KUBECONFIG, or pass --kubeconfig")
	}
	if err != nil {
		return nil, fmt.Errorf("invalid kubeconfig: %w; fix: correct --kubeconfig, KUBECONFIG or --context", err)
	}
	config.Timeout = requestTimeout
	config.UserAgent = c.UserAgent
	config.WarningHandler = rest.NoWarnings{}
	// Without this, a server with a public CA or none is asked through http.DefaultTransport, which the program disables.
	config.Dial = (&net.Dialer{Timeout: requestTimeout}).DialContext
	return config, nil
}

// Fault says why a cluster cannot be read.
func (c Cluster) Fault(err error) error {
	where := "the cluster"
	if c.Context != "" {
		where = "the cluster of the context " + c.Context
	}
	return fmt.Errorf("%s: %w; see whether kubectl get pods --namespace %s works", where, err, c.Namespace)
}

// Found is the installation found in a cluster.
type Found struct {
	Objects  []object.Object
	Findings []finding.Finding
}

// requestTimeout is the timeout for a request.
const requestTimeout = 20 * time.Second

// listedKind is a kind to list: either in Argo CD's namespace only, or in all
// permitted ones.
type listedKind struct {
	schema.GroupVersionResource
	everywhere, optional bool
}

var listedKinds = []listedKind{
	{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}},
	{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}},
	{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
	{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}},
	{GroupVersionResource: schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
		optional: true},
	{GroupVersionResource: schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "podmonitors"},
		everywhere: true, optional: true},
	{GroupVersionResource: schema.GroupVersionResource{Group: argocd.Group, Version: "v1alpha1", Resource: "applications"}, everywhere: true},
	{GroupVersionResource: schema.GroupVersionResource{Group: argocd.Group, Version: "v1alpha1", Resource: "applicationsets"},
		everywhere: true, optional: true},
}

func notSeen(what string) finding.Finding {
	return finding.Finding{Severity: finding.Note, Rule: finding.NotFound,
		Message: "this user may not list " + what + ", so they are not checked", Remedy: "select a user with this permission"}
}

// list lists the objects of a kind: in all namespaces if requested and permitted,
// otherwise in one.
func list(ctx context.Context, from dynamic.Interface, kind schema.GroupVersionResource, namespace string,
	everywhere bool) ([]unstructured.Unstructured, error) {
	var at dynamic.ResourceInterface = from.Resource(kind).Namespace(namespace)
	if everywhere {
		at = from.Resource(kind)
	}
	var all []unstructured.Unstructured
	for opt := (metav1.ListOptions{Limit: 500}); ; {
		page, err := at.List(ctx, opt)
		if everywhere && apierrors.IsForbidden(err) {
			return list(ctx, from, kind, namespace, false)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if opt.Continue = page.GetContinue(); opt.Continue == "" {
			return all, nil
		}
	}
}

// parsed converts an object of the cluster to a manifest.
func parsed(item unstructured.Unstructured) ([]object.Object, error) {
	item.SetManagedFields(nil)
	text, err := item.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return object.Parse("", 0, string(text))
}

// isKubeconfig recognizes a kubeconfig, whose kind is optional. Invalid YAML is
// reported by the library.
func isKubeconfig(text []byte) bool {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return true
	}
	if len(doc.Content) == 0 {
		return false
	}
	v := object.ValueOf(doc.Content[0])
	if kind := v.Get("kind"); kind.Exists() {
		return kind.Text() == "Config"
	}
	return v.Get("clusters").Exists() || v.Get("contexts").Exists()
}
