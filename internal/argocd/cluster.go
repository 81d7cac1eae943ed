// Package argocd reads what there is of an Argo CD: in a live cluster, and in files with
// values of its chart. It changes nothing, and of Secrets it reads only the names. What
// certain Secrets hold is read where they are asked for by name (Cluster.Secrets).
package argocd

import (
	"context"
	"fmt"
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

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/wholefile"
	"github.com/ladder-cmp/ladder/object"
)

// Cluster is where an Argo CD runs. Nothing in it is ever changed.
type Cluster struct {
	Kubeconfig, Context, Namespace string
	// UserAgent is how the program calls itself.
	UserAgent string
}

// Read reads what there is. What may not be seen is a finding, and a cluster that
// does not answer an error.
func (c Cluster) Read(ctx context.Context) (Found, error) {
	config, err := c.config()
	if err != nil {
		return Found{}, err
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return Found{}, c.fault(err)
	}
	var found Found
	for _, kind := range looked {
		items, err := list(ctx, all, kind.GroupVersionResource, c.Namespace, kind.everywhere, kind.only)
		switch {
		case err == nil:
		case apierrors.IsNotFound(err) && (kind.optional || kind.only != ""):
		case apierrors.IsForbidden(err):
			found.Findings = append(found.Findings, notSeen(kind.Resource))
		case apierrors.IsNotFound(err):
			return Found{}, c.fault(fmt.Errorf("it has no %s; is Argo CD installed there?", kind.Resource))
		default:
			return Found{}, c.fault(err)
		}
		for _, item := range items {
			o, err := parsed(item)
			if err != nil {
				return Found{}, err
			}
			found.Objects = append(found.Objects, o...)
		}
	}
	found.Secrets, err = secretNames(ctx, config, c.Namespace)
	if apierrors.IsForbidden(err) {
		found.Findings, err = append(found.Findings, notSeen("secrets")), nil
	}
	if err != nil {
		return Found{}, c.fault(err)
	}
	return found, nil
}

// Applications reads the Applications and ApplicationSets, and nothing else.
func (c Cluster) Applications(ctx context.Context) (Found, error) {
	config, err := c.config()
	if err != nil {
		return Found{}, err
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return Found{}, c.fault(err)
	}
	var found Found
	for _, resource := range []string{"applications", "applicationsets"} {
		items, err := list(ctx, all, schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: resource}, c.Namespace, true, "")
		switch {
		case apierrors.IsForbidden(err):
			found.Findings = append(found.Findings, notSeen(resource))
		case err != nil:
			return Found{}, c.fault(err)
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

func (c Cluster) config() (*rest.Config, error) {
	if c.Kubeconfig != "" {
		text, err := os.ReadFile(c.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("%s: %s; correct --kubeconfig", c.Kubeconfig, wholefile.Reason(err))
		}
		if !isKubeconfig(text) {
			return nil, fmt.Errorf("%s: not a kubeconfig; correct --kubeconfig, or name manifests without it", c.Kubeconfig)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w; correct --kubeconfig, KUBECONFIG or --context", err)
	}
	config.Timeout = clusterPatience
	config.UserAgent = c.UserAgent
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// fault says what keeps from reading a cluster.
func (c Cluster) fault(err error) error {
	where := "the cluster"
	if c.Context != "" {
		where = "the cluster of the context " + c.Context
	}
	return fmt.Errorf("%s: %w; see whether kubectl get pods --namespace %s works", where, err, c.Namespace)
}

// Found is what a cluster has of an Argo CD.
type Found struct {
	Objects []object.Object
	// Secrets are the names of those in the namespace; nil if they may not be seen.
	Secrets  []string
	Findings []finding.Finding
}

// clusterPatience is how long a cluster may take for one answer.
const clusterPatience = 20 * time.Second

// looked are the kinds that are looked at. Those that are not in Argo CD's
// namespace only are in all that may be seen.
var looked = []struct {
	schema.GroupVersionResource
	everywhere, optional bool
	// only is the one object that matters, of a kind without namespaces.
	only string
}{
	{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}},
	{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}},
	{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
	{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}},
	{GroupVersionResource: schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}, optional: true},
	{GroupVersionResource: schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "podmonitors"}, everywhere: true, optional: true},
	{GroupVersionResource: schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}, everywhere: true},
	{GroupVersionResource: schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}, everywhere: true, optional: true},
	{GroupVersionResource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, only: "applications.argoproj.io"},
}

func notSeen(what string) finding.Finding {
	return finding.Finding{Severity: finding.Note, Rule: "not-allowed", Message: "this user may not list " + what + ", which are not looked at", Remedy: "use one who may"}
}

// list lists what there is of a kind: everywhere if that is asked for and allowed,
// or else in the namespace.
func list(ctx context.Context, from dynamic.Interface, kind schema.GroupVersionResource, namespace string, everywhere bool, only string) ([]unstructured.Unstructured, error) {
	if only != "" {
		one, err := from.Resource(kind).Get(ctx, only, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return []unstructured.Unstructured{*one}, nil
	}
	var at dynamic.ResourceInterface = from.Resource(kind).Namespace(namespace)
	if everywhere {
		at = from.Resource(kind)
	}
	var all []unstructured.Unstructured
	for opt := (metav1.ListOptions{Limit: 500}); ; {
		page, err := at.List(ctx, opt)
		if everywhere && apierrors.IsForbidden(err) {
			return list(ctx, from, kind, namespace, false, "")
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

// parsed makes a manifest of what a cluster has.
func parsed(item unstructured.Unstructured) ([]object.Object, error) {
	item.SetManagedFields(nil)
	text, err := item.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return object.Parse("", 0, string(text))
}

// isKubeconfig tells a kubeconfig, which need not say its kind, from other files.
// What is no YAML at all the library reports.
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
