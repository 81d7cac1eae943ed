package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
)

// cluster is where an Argo CD runs. Nothing in it is ever changed.
type cluster struct {
	kubeconfig, context, namespace string
}

// inCluster is what a cluster has of an Argo CD.
type inCluster struct {
	objects []object.Object
	// secrets are the names of those in the namespace; nil if they may not be seen.
	secrets  []string
	findings []finding.Finding
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

// read reads what there is. What may not be seen is a finding, and a cluster that
// does not answer an error.
func (c cluster) read(ctx context.Context) (inCluster, error) {
	config, err := c.config()
	if err != nil {
		return inCluster{}, err
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return inCluster{}, c.fault(err)
	}
	var found inCluster
	for _, kind := range looked {
		items, err := list(ctx, all, kind.GroupVersionResource, c.namespace, kind.everywhere, kind.only)
		switch {
		case err == nil:
		case apierrors.IsNotFound(err) && (kind.optional || kind.only != ""):
		case apierrors.IsForbidden(err):
			found.findings = append(found.findings, notSeen(kind.Resource))
		case apierrors.IsNotFound(err):
			return inCluster{}, c.fault(fmt.Errorf("it has no %s; is Argo CD installed there?", kind.Resource))
		default:
			return inCluster{}, c.fault(err)
		}
		for _, item := range items {
			o, err := parsed(item)
			if err != nil {
				return inCluster{}, err
			}
			found.objects = append(found.objects, o...)
		}
	}
	found.secrets, err = secretNames(ctx, config, c.namespace)
	if apierrors.IsForbidden(err) {
		found.findings, err = append(found.findings, notSeen("secrets")), nil
	}
	if err != nil {
		return inCluster{}, c.fault(err)
	}
	return found, nil
}

func (c cluster) config() (*rest.Config, error) {
	if c.kubeconfig != "" {
		text, err := os.ReadFile(c.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("%s: %s; correct --kubeconfig", c.kubeconfig, reason(err))
		}
		if !isKubeconfig(text) {
			return nil, fmt.Errorf("%s: this is no kubeconfig; correct --kubeconfig, or name manifests without it", c.kubeconfig)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w; correct --kubeconfig, KUBECONFIG or --context", err)
	}
	config.Timeout = clusterPatience
	config.UserAgent = "cmp doctor " + version()
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
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

// fault says what keeps from reading a cluster.
func (c cluster) fault(err error) error {
	where := "the cluster"
	if c.context != "" {
		where = "the cluster of the context " + c.context
	}
	return fmt.Errorf("%s: %w; see whether kubectl get pods --namespace %s works", where, err, c.namespace)
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

// maxTable is how many bytes a table of names may have.
const maxTable = 64 << 20

// secretNames asks for a table of Secrets without the objects, which has their
// names and nothing of what is in them.
func secretNames(ctx context.Context, config *rest.Config, namespace string) ([]string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	// Not by a client of all kinds, which would make the program a quarter larger.
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	at := server.JoinPath("api/v1/namespaces", namespace, "secrets")
	at.RawQuery = "includeObject=None"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	answer, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden:
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("it was refused"))
	default:
		return nil, fmt.Errorf("it answers %q when asked for the Secrets' names", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxTable))
	if err != nil {
		return nil, err
	}
	var table struct {
		Kind    string `json:"kind"`
		Columns []struct {
			Name string `json:"name"`
		} `json:"columnDefinitions"`
		Rows []struct {
			Cells []any `json:"cells"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(text, &table); err != nil || table.Kind != "Table" || len(table.Columns) == 0 || !strings.EqualFold(table.Columns[0].Name, "name") {
		return nil, errors.New("it answers with no table of the Secrets' names")
	}
	names := []string{}
	for _, row := range table.Rows {
		if len(row.Cells) > 0 {
			names = append(names, fmt.Sprint(row.Cells[0]))
		}
	}
	return names, nil
}
