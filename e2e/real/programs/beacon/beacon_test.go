package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

const namespace = "harbour"

// operatorOf is an operator with these flags in a cluster with these objects.
func operatorOf(t *testing.T, args []string, objects ...runtime.Object) *operator {
	t.Helper()
	h, err := parseHabits(args)
	if err != nil {
		t.Fatal(err)
	}
	lists := map[schema.GroupVersionResource]string{}
	for kind, k := range kinds {
		lists[k.resource] = kind + "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	return &operator{habits: h, cluster: cluster{client: client, namespace: namespace}}
}

func object(version, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func beacon(name, message string) *unstructured.Unstructured {
	u := object("beacon.example.com/v1", "Beacon", name)
	u.Object["spec"] = map[string]any{"message": message}
	return u
}

func TestExitsWithoutWhatItRequires(t *testing.T) {
	args := []string{"--require=secret/licence"}
	if err := operatorOf(t, args).start(t.Context()); err == nil || !strings.Contains(err.Error(), "secret/licence not found") {
		t.Errorf("want an error that names the Secret, got %v", err)
	}
	if err := operatorOf(t, args, object("v1", "Secret", "licence")).start(t.Context()); err != nil {
		t.Errorf("the Secret is there: %v", err)
	}
}

func TestInstallsItsCRD(t *testing.T) {
	o := operatorOf(t, []string{"--install-crd", "--require=crd/beacons.beacon.example.com"})
	for range 2 { // a second start finds it
		if err := o.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadiness(t *testing.T) {
	for _, c := range []struct {
		args    []string
		objects []runtime.Object
		ready   bool
	}{
		{ready: true},
		{args: []string{"--never-ready"}},
		{args: []string{"--ready-after=1h"}},
		{args: []string{"--ready-with=beacon/north"}},
		{args: []string{"--ready-with=beacon/north"}, objects: []runtime.Object{beacon("north", "hello")}, ready: true},
	} {
		o := operatorOf(t, c.args, c.objects...)
		if o.ready(t.Context()) == nil {
			t.Errorf("%v: ready before the start", c.args)
		}
		o.started()
		w := httptest.NewRecorder()
		o.probes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if got := w.Code == http.StatusOK; got != c.ready {
			t.Errorf("%v: ready %t, want %t: %s", c.args, got, c.ready, w.Body)
		}
	}
}

func TestReconcileReportsReady(t *testing.T) {
	o := operatorOf(t, nil, beacon("north", "hello"))
	condition := func() any {
		live, err := o.cluster.of("beacon").Get(t.Context(), "north", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.reconcile(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		live, err = o.cluster.of("beacon").Get(t.Context(), "north", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		return conditions[0].(map[string]any)["status"]
	}
	if got := condition(); got != "False" {
		t.Errorf("Ready is %v before the Deployment is available", got)
	}
	deployment, err := o.cluster.of("deployment").Get(t.Context(), "north", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deployment.Object["status"] = map[string]any{"availableReplicas": int64(1)}
	if _, err := o.cluster.of("deployment").UpdateStatus(t.Context(), deployment, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := condition(); got != "True" {
		t.Errorf("Ready is %v though the Deployment is available", got)
	}
}

func TestRegisteredWebhookIsServedWithItsCA(t *testing.T) {
	empty := object("v1", "Secret", "webhook-keys")
	o := operatorOf(t, []string{"--webhook-secret=webhook-keys", "--register-webhook"}, empty)
	if err := o.prepareWebhook(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := slices.Clone(o.keys.ca)
	if err := o.prepareWebhook(t.Context()); err != nil { // a restart
		t.Fatal(err)
	}
	if !slices.Equal(first, o.keys.ca) {
		t.Error("a restart made new keys though the Secret holds some")
	}
	if found, err := o.cluster.exists(t.Context(), ref{"webhook", "beacon-" + namespace}); err != nil || !found {
		t.Errorf("no webhook configuration: %t %v", found, err)
	}

	server := httptest.NewUnstartedServer(o.webhookServer().Handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{o.keys.server}}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(o.keys.ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "beacon-webhook.harbour.svc"}}}
	for message, allowed := range map[string]string{"hello": `"allowed":true`, "": `"allowed":false`} {
		review := `{"request":{"uid":"1","object":{"spec":{"message":"` + message + `"}}}}`
		answer, err := client.Post(server.URL+"/validate", "application/json", strings.NewReader(review))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := answer.Write(&text); err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if !strings.Contains(text.String(), allowed) {
			t.Errorf("message %q: want %s in %s", message, allowed, text.String())
		}
	}
}

func TestInjectsItsCA(t *testing.T) {
	args := []string{"--webhook-secret=webhook-keys", "--inject-ca=beacons"}
	if err := operatorOf(t, args).prepareWebhook(t.Context()); err == nil {
		t.Error("want an error without the webhook configuration")
	}
	configuration := object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "beacons")
	configuration.SetNamespace("")
	configuration.Object["webhooks"] = []any{map[string]any{"name": "a.example.com", "clientConfig": map[string]any{}}}
	o := operatorOf(t, args, configuration)
	if err := o.prepareWebhook(t.Context()); err != nil {
		t.Fatal(err)
	}
	live, err := o.cluster.of("webhook").Get(t.Context(), "beacons", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hooks, _, _ := unstructured.NestedSlice(live.Object, "webhooks")
	if hooks[0].(map[string]any)["clientConfig"].(map[string]any)["caBundle"] == nil {
		t.Errorf("no CA in %v", hooks[0])
	}
}

func TestCertifyWritesWhatAnotherPodServesWith(t *testing.T) {
	if err := operatorOf(t, nil).certify(t.Context()); err == nil {
		t.Error("want an error without a Secret to write")
	}
	o := operatorOf(t, []string{"--webhook-secret=webhook-keys"})
	if err := o.certify(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret, err := o.cluster.of("secret").Get(t.Context(), "webhook-keys", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if k, err := keysOf(secret); err != nil || k.ca == nil {
		t.Errorf("no keys in the Secret: %v", err)
	}
}

func TestKeysAreForTheHost(t *testing.T) {
	k, err := makeKeys("beacon-webhook.harbour.svc", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(k.server.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := certificate.VerifyHostname("other.harbour.svc"); err == nil {
		t.Error("the certificate holds for another host")
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--require=cupboard/licence"}, {"--require=secret"}, {"now"}, {"--inject-ca=beacons"},
		{"--webhook-secret=a", "--webhook-certificate=/b"},
	} {
		if _, err := parseHabits(args); err == nil {
			t.Errorf("%v: want an error", args)
		}
	}
}
