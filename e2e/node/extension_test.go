package node_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"
)

// apiIsExtended has the API server reach a program through a Service, as an admission
// webhook and as an aggregated API.
func apiIsExtended(ctx context.Context, t *testing.T, n rig) {
	ca := deployExtension(ctx, t, n)
	dyn, err := dynamic.NewForConfig(n.Config)
	if err != nil {
		t.Fatal(err)
	}
	service := map[string]any{"name": "extension", "namespace": "default"}
	webhook := map[string]any{"name": "review.hello.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
		"clientConfig": map[string]any{"service": map[string]any{"name": "extension", "namespace": "default", "path": "/review"},
			"caBundle": base64.StdEncoding.EncodeToString(ca)},
		"objectSelector": map[string]any{"matchLabels": map[string]any{"hello": "refuses"}},
		"rules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
			"operations": []any{"CREATE"}}}}
	for _, of := range []struct {
		group, version, resource, kind, name, key string
		value                                     any
	}{
		{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "hello",
			"webhooks", []any{webhook}},
		{"apiregistration.k8s.io", "v1", "apiservices", "APIService", "v1.hello.example.com", "spec", map[string]any{
			"group": "hello.example.com", "version": "v1", "service": service, "insecureSkipTLSVerify": true, "groupPriorityMinimum": int64(1000),
			"versionPriority": int64(10)}},
	} {
		resource := schema.GroupVersionResource{Group: of.group, Version: of.version, Resource: of.resource}
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": of.group + "/" + of.version, "kind": of.kind, "metadata": map[string]any{"name": of.name}, of.key: of.value,
		}}
		if _, err := dyn.Resource(resource).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(ctx, t, func() error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "refused-", Labels: map[string]string{"hello": "refuses"}}}
		_, err := n.client.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "hello refuses") {
			return fmt.Errorf("the webhook does not refuse a ConfigMap: %v", err)
		}
		return nil
	})
	eventually(ctx, t, func() error {
		answer, err := n.client.Discovery().RESTClient().Get().AbsPath("/apis/hello.example.com/v1").DoRaw(ctx)
		if err == nil && !strings.Contains(string(answer), `"hello.example.com/v1"`) {
			err = fmt.Errorf("the aggregated API answers %s", answer)
		}
		return err
	})
}

// deployExtension runs hello extend behind a Service, and returns the CA of its
// certificate.
func deployExtension(ctx context.Context, t *testing.T, n rig) []byte {
	t.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKey("extension.default.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	create(ctx, t, n.client.CoreV1().Secrets("default").Create, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "extension"}, Data: map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key},
	})
	create(ctx, t, n.client.CoreV1().Services("default").Create, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "extension"},
		Spec: corev1.ServiceSpec{Selector: labels("extension"),
			Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}}},
	})
	container := hello("extend", "/tls/tls.crt", "/tls/tls.key")
	container.VolumeMounts = []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}
	container.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1,
		ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8443)}}}
	deployPod(ctx, t, n, "extension", corev1.PodSpec{
		Containers: []corev1.Container{container},
		Volumes: []corev1.Volume{
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "extension"}}}},
	})
	return crt
}

// metricsAreServed reads what metrics-server reads, through the API server, which
// checks the kubelet's certificate.
func metricsAreServed(ctx context.Context, t *testing.T, n rig) {
	deploy(ctx, t, n, "measured")
	eventually(ctx, t, func() error {
		text, err := n.client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/node/proxy/metrics/resource").DoRaw(ctx)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "container_memory_working_set_bytes{") && strings.Contains(line, `pod="measured-`) {
				return nil
			}
		}
		return fmt.Errorf("the kubelet does not measure the Pod: %s", text)
	})
}
