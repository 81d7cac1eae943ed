package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/e2e/cluster"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	bin, err := cluster.Build(context.Background(), "")
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if shared, err = cluster.Start(context.Background(), dir, bin); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, shared.Stop()) }()
	return m.Run(), nil
}

func TestServerTellsItsVersion(t *testing.T) {
	version, err := clientOf(t, shared.Config).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(version.GitVersion, "v1.") || version.Major != "1" || version.Minor == "" {
		t.Errorf("the server says %+v; Argo CD cannot read that", version)
	}
}

func TestKubeconfigAndTokenAreTwoUsers(t *testing.T) {
	fromFile, err := clientcmd.BuildConfigFromFlags("", shared.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	withToken := &rest.Config{Host: shared.URL, BearerToken: shared.Token, TLSClientConfig: rest.TLSClientConfig{CAData: shared.CA}}
	mark := markOf(t)
	namespace := newNamespace(t, "two-users")
	for name, config := range map[string]*rest.Config{"by-file": fromFile, "by-token": withToken} {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := clientOf(t, config).CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, user := range map[string]string{"by-file": cluster.Admin, "by-token": cluster.ArgoCD} {
		events := eventsOf(t, cluster.Filter{After: mark, Name: name})
		if len(events) != 1 || events[0].User != user {
			t.Errorf("ConfigMap %s: want one write by %s, have %v", name, user, events)
		}
	}
}

func TestEventsTellWhatWasWrittenAndWhatWasNot(t *testing.T) {
	mark := markOf(t)
	namespace := newNamespace(t, "events")
	configMaps := clientOf(t, shared.Config).CoreV1().ConfigMaps(namespace)
	object := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"wave": "3"}}}
	}
	must(configMaps.Create(t.Context(), object("trial"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))(t)
	must(configMaps.Create(t.Context(), object("first"), metav1.CreateOptions{}))(t)
	must(configMaps.Create(t.Context(), object("second"), metav1.CreateOptions{}))(t)
	must(configMaps.Update(t.Context(), object("first"), metav1.UpdateOptions{}))(t)
	if _, err := configMaps.Create(t.Context(), object("first"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Fatalf("a second creation: %v", err)
	}
	if err := configMaps.Delete(t.Context(), "second", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	in := func(f cluster.Filter) cluster.Filter {
		f.After, f.Namespaces, f.Resources = mark, []string{namespace}, []string{"configmaps"}
		return f
	}
	want(t, eventsOf(t, in(cluster.Filter{})), "create first 201", "create second 201", "update first 200", "delete second 200")
	want(t, eventsOf(t, in(cluster.Filter{DryRun: true, Verbs: []string{"create"}})), "create trial 201 dry",
		"create first 201", "create second 201")
	want(t, eventsOf(t, in(cluster.Filter{Refused: true, Name: "first"})), "create first 201", "update first 200", "create first 409")

	body := string(eventsOf(t, in(cluster.Filter{Name: "second", Verbs: []string{"create"}}))[0].Body)
	if !strings.Contains(body, `"wave":"3"`) {
		t.Errorf("the body that was sent is not in the event: %s", body)
	}
	applied, err := shared.Applied(mark, cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	applied = slices.DeleteFunc(applied, func(e cluster.Event) bool { return e.Resource != "configmaps" })
	want(t, applied, "create first 201", "create second 201")
}

func TestReadsOfServiceAccountsAreEvents(t *testing.T) {
	mark := markOf(t)
	namespace := newNamespace(t, "reads")
	client := clientOf(t, shared.Config)
	must(client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}},
		metav1.CreateOptions{}))(t)
	token := must(client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "reader", &authenticationv1.TokenRequest{},
		metav1.CreateOptions{}))(t)
	reader := clientOf(t,
		&rest.Config{Host: shared.URL, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: shared.CA}})
	if _, err := reader.CoreV1().Secrets(namespace).Get(t.Context(), "wanted", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("reading a Secret without a Role: %v", err)
	}
	must(client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{}))(t)

	filter := cluster.Filter{After: mark, Namespaces: []string{namespace}, Resources: []string{"secrets"}, Refused: true}
	want(t, eventsOf(t, filter))
	filter.Reads = true
	want(t, eventsOf(t, filter), "get wanted 403")
}

func TestEventsLieAfterTheirMark(t *testing.T) {
	namespace := newNamespace(t, "marks")
	mark := markOf(t)
	if events := eventsOf(t, cluster.Filter{After: mark, Namespaces: []string{"", namespace}}); len(events) > 0 {
		t.Errorf("nothing was written after the mark, but %v", events)
	}
}

func TestConnectionsToServicesAreRouted(t *testing.T) {
	namespace := newNamespace(t, "network")
	client := clientOf(t, shared.Config)
	service := must(client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{}))(t)
	must(dynamicOf(t).Resource(webhooks).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": namespace},
		"webhooks": []any{map[string]any{
			"name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
			"clientConfig":      map[string]any{"service": map[string]any{"name": "hook", "namespace": namespace}},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": namespace}},
			"rules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"secrets"},
				"operations": []any{"CREATE"}}},
		}},
	}}, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		dynamicOf(t).Resource(webhooks).Delete(context.Background(), namespace, metav1.DeleteOptions{})
		shared.Route(nil)
	})
	asked := make(chan string, 100)
	shared.Route(func(_ context.Context, address string) (net.Conn, error) {
		asked <- address
		return nil, errors.New("nobody is at home")
	})
	for {
		// The API server takes a moment to load the new configuration.
		_, err := client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}},
			metav1.CreateOptions{})
		if err != nil {
			if !strings.Contains(err.Error(), "nobody is at home") {
				t.Fatalf("refused for another reason: %v", err)
			}
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the webhook is never asked")
		}
	}
	if address := <-asked; address != net.JoinHostPort(service.Spec.ClusterIP, "443") {
		t.Errorf("connection to %s, want the Service's %s:443", address, service.Spec.ClusterIP)
	}
}

func TestCleanDeletesWhatCameSince(t *testing.T) {
	namespace := newNamespace(t, "clean")
	client, dyn := clientOf(t, shared.Config), dynamicOf(t)
	must(client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "held", Finalizers: []string{"example.com/nobody-comes"}}}, metav1.CreateOptions{}))(t)
	must(client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}},
		metav1.CreateOptions{}))(t)
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.clean.example.com"},
		"spec": map[string]any{
			"group": "clean.example.com", "scope": "Cluster", "names": map[string]any{"kind": "Thing", "plural": "things"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	must(dyn.Resource(definitions).Create(t.Context(), definition, metav1.CreateOptions{}))(t)
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "clean.example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "one", "finalizers": []any{"example.com/nobody-comes"}},
	}}
	for created := false; !created; {
		_, err := dyn.Resource(things).Create(t.Context(), thing, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		created = err == nil
	}

	ofAnother := func(o *unstructured.Unstructured) bool { return o.GetName() == "elsewhere" }
	if err := shared.Clean(t.Context(), ofAnother); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "elsewhere", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("ConfigMap default/elsewhere: %v", err)
	}
	must(client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "held", metav1.GetOptions{}))(t)

	if err := shared.Clean(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s: %v", namespace, err)
	}
	if _, err := dyn.Resource(definitions).Get(t.Context(), definition.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("definition: %v", err)
	}
	must(client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}))(t)
	must(client.RbacV1().ClusterRoles().Get(t.Context(), "cluster-admin", metav1.GetOptions{}))(t)
}

var (
	webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingwebhookconfigurations"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	things      = schema.GroupVersionResource{Group: "clean.example.com", Version: "v1", Resource: "things"}
)

// want compares events with lines such as "create name 201".
func want(t *testing.T, events []cluster.Event, lines ...string) {
	t.Helper()
	var have []string
	for i, e := range events {
		line := fmt.Sprintf("%s %s %d", e.Verb, e.Name, e.Code)
		if e.DryRun {
			line += " dry"
		}
		have = append(have, line)
		if e.Time.IsZero() || i > 0 && e.Time.Before(events[i-1].Time) {
			t.Errorf("%s: its time %s is not in order", e, e.Time)
		}
	}
	if !slices.Equal(have, lines) {
		t.Errorf("events:\n  have %q\n  want %q", have, lines)
	}
}

func eventsOf(t *testing.T, f cluster.Filter) []cluster.Event {
	t.Helper()
	return must(shared.Events(f))(t)
}

// must is for calls whose failure ends the test: must(call())(t).
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func markOf(t *testing.T) cluster.Mark {
	t.Helper()
	return must(shared.Mark())(t)
}

func newNamespace(t *testing.T, name string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(clientOf(t, shared.Config).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))(t)
	return name
}

func clientOf(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	return must(kubernetes.NewForConfig(config))(t)
}

func dynamicOf(t *testing.T) dynamic.Interface {
	t.Helper()
	return must(dynamic.NewForConfig(shared.Config))(t)
}
