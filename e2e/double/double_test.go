package double_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/e2e/cluster"
	"github.com/ladder-cmp/ladder/e2e/double"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

var (
	shared *cluster.Cluster
	stage  *double.Double
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	bin, err := cluster.Build(ctx, "")
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "double")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if shared, err = cluster.Start(ctx, dir, bin); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, shared.Stop()) }()
	stage, err = double.Start(ctx, shared.Config, double.Options{
		MinDelay: 20 * time.Millisecond, MaxDelay: 100 * time.Millisecond, Backoff: 20 * time.Millisecond,
		DefaultClass: "WaitForFirstConsumer", Network: shared, Log: slog.New(slog.NewTextHandler(testLog{}, nil)),
	})
	if err != nil {
		return 0, err
	}
	defer stage.Stop()
	return m.Run(), nil
}

// testLog shows what the double does when tests are verbose.
type testLog struct{}

func (testLog) Write(p []byte) (int, error) {
	if testing.Verbose() {
		return os.Stderr.Write(p)
	}
	return len(p), nil
}

// play adds a scenario for the length of a test.
func play(t *testing.T, s double.Scenario) {
	t.Helper()
	t.Cleanup(stage.Play(s))
}

// apply creates the objects of a text in a namespace named for the test, which
// it makes the first time, and returns the namespace. $NS in the text is its name.
func apply(t *testing.T, text string) string {
	t.Helper()
	namespace := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	once, _ := made.LoadOrStore(namespace, &sync.Once{})
	once.(*sync.Once).Do(func() {
		createText(t, namespace, "{apiVersion: v1, kind: Namespace, metadata: {name: $NS}}")
	})
	for _, document := range strings.Split(text, "\n---\n") {
		createText(t, namespace, document)
	}
	return namespace
}

var made sync.Map

func createText(t *testing.T, namespace, text string) {
	t.Helper()
	if err := tryCreate(t, namespace, text); err != nil {
		t.Fatal(err)
	}
}

func tryCreate(t *testing.T, namespace, text string) error {
	t.Helper()
	var o unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "$NS", namespace)), &o.Object); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	to, namespaced := resourceOf(t, o.GroupVersionKind())
	if namespaced && o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}
	_, err := to.Namespace(o.GetNamespace()).Create(t.Context(), &o, metav1.CreateOptions{})
	if err == nil && !namespaced {
		t.Cleanup(func() { to.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}) })
	}
	return err
}

// resourceOf waits until the API server knows a kind.
func resourceOf(t *testing.T, kind schema.GroupVersionKind) (dynamic.NamespaceableResourceInterface, bool) {
	t.Helper()
	client, err := dynamic.NewForConfig(shared.Config)
	if err != nil {
		t.Fatal(err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(shared.Config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	var found dynamic.NamespaceableResourceInterface
	var namespaced bool
	eventually(t, func() string {
		mapper.Reset()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err.Error()
		}
		found, namespaced = client.Resource(mapping.Resource), mapping.Scope.Name() == "namespace"
		return ""
	})
	return found, namespaced
}

// get reads an object, nil if it is not there.
func get(t *testing.T, version, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	to, _ := resourceOf(t, schema.FromAPIVersionAndKind(version, kind))
	o, err := to.Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return o
}

// eventually asks until the answer, what is wrong, is empty.
func eventually(t *testing.T, wrong func() string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		answer := wrong()
		if answer == "" {
			return
		}
		if time.Now().After(deadline) {
			var waits []string
			for _, w := range stage.Waiting() {
				waits = append(waits, w.String())
			}
			t.Fatalf("%s\nwaiting:\n  %s", answer, strings.Join(waits, "\n  "))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// waits waits until an object, "Kind namespace/name" or "Kind name", waits for a
// reason that has a text in it.
func waits(t *testing.T, object, why string) {
	t.Helper()
	eventually(t, func() string {
		have := "nothing"
		for _, w := range stage.Waiting() {
			if w.Of.String() == object {
				if strings.Contains(w.Why, why) {
					return ""
				}
				have = w.Why
			}
		}
		return fmt.Sprintf("%s should wait because %q, but it waits because of %s", object, why, have)
	})
}

// becomes waits until a field of an object, a path with dots, has a value.
func becomes(t *testing.T, version, kind, namespace, name, path, value string) {
	t.Helper()
	eventually(t, func() string {
		o := get(t, version, kind, namespace, name)
		if o == nil {
			return fmt.Sprintf("%s %s/%s is missing", kind, namespace, name)
		}
		if have := field(o, path); have != value {
			return fmt.Sprintf("%s %s/%s: %s is %q, want %q", kind, namespace, name, path, have, value)
		}
		return ""
	})
}

// is asserts a field now.
func is(t *testing.T, version, kind, namespace, name, path, value string) {
	t.Helper()
	o := get(t, version, kind, namespace, name)
	if o == nil {
		t.Fatalf("%s %s/%s is missing", kind, namespace, name)
	}
	if have := field(o, path); have != value {
		t.Errorf("%s %s/%s: %s is %q, want %q", kind, namespace, name, path, have, value)
	}
}

// field is the text of a field; "conditions.Ready" is the status of a condition.
func field(o *unstructured.Unstructured, path string) string {
	if name, ok := strings.CutPrefix(path, "conditions."); ok {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == name {
				return fmt.Sprint(c["status"])
			}
		}
		return ""
	}
	value, found, _ := unstructured.NestedFieldNoCopy(o.Object, strings.Split(path, ".")...)
	if !found {
		return ""
	}
	return fmt.Sprint(value)
}

func remove(t *testing.T, version, kind, namespace, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	to, _ := resourceOf(t, schema.FromAPIVersionAndKind(version, kind))
	if err := to.Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

func goes(t *testing.T, version, kind, namespace, name string) {
	t.Helper()
	eventually(t, func() string {
		if get(t, version, kind, namespace, name) != nil {
			return fmt.Sprintf("%s %s/%s is still there", kind, namespace, name)
		}
		return ""
	})
}

func merge(t *testing.T, version, kind, namespace, name, change string) {
	t.Helper()
	to, _ := resourceOf(t, schema.FromAPIVersionAndKind(version, kind))
	if _, err := to.Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(change), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func replaceNS(text, namespace string) string { return strings.ReplaceAll(text, "$NS", namespace) }

func clusterFilter(after cluster.Mark, namespace, resource string) cluster.Filter {
	return cluster.Filter{After: after, Namespaces: []string{namespace}, Resources: []string{resource}, Subresource: true}
}

// selfSigned is a certificate with its key, as a Secret holds them.
func selfSigned(t *testing.T, host string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(name string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: name, Bytes: der}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", secret)
}
