package double

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	injectFromCertificate = "cert-manager.io/inject-ca-from"
	injectFromSecret      = "cert-manager.io/inject-ca-from-secret"
)

// trust writes into webhook configurations, definitions and aggregated APIs which
// CA the API server is to trust. One that is written in the manifest stays; one
// that is empty is filled from what the annotation of cert-manager names, or else
// once the server behind it serves, as programs do that make their own.
func (t *reconciliation) trust() {
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		for _, o := range t.of("admissionregistration.k8s.io", kind) {
			if o.GetDeletionTimestamp() == nil {
				t.trustWebhooks(o)
			}
		}
	}
	for _, o := range t.of("apiextensions.k8s.io", "CustomResourceDefinition") {
		client, found, _ := unstructured.NestedMap(o.Object, "spec", "conversion", "webhook", "clientConfig")
		if found && o.GetDeletionTimestamp() == nil {
			if bundle := t.bundleFor(o, client); bundle != nil {
				t.patch(o, "trust "+serviceOf(client).String(),
					map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{
						"clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle)},
					}}}})
			}
		}
	}
	for _, o := range t.of("apiregistration.k8s.io", "APIService") {
		if spec, _, _ := unstructured.NestedMap(o.Object, "spec"); spec["service"] != nil && o.GetDeletionTimestamp() == nil {
			t.aggregate(o, spec)
		}
	}
}

// aggregate explains an aggregated API that is not available; that it becomes so
// is the API server's own doing, which asks the Service.
func (t *reconciliation) aggregate(o *unstructured.Unstructured, spec map[string]any) {
	ref := serviceOf(spec)
	if conditionStatus(o, "Available") != "True" {
		if why := t.missing(ref); why != "" {
			t.wait(o, why)
		} else {
			t.wait(o, "the API server asks "+ref.String()+": "+conditionMessage(o, "Available"))
		}
	}
	if spec["insecureSkipTLSVerify"] == true {
		return
	}
	if bundle := t.bundleFor(o, spec); bundle != nil {
		t.patch(o, "trust "+ref.String(), map[string]any{"spec": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle)}})
	}
}

func (t *reconciliation) trustWebhooks(o *unstructured.Unstructured) {
	webhooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	changed := false
	for _, item := range webhooks {
		webhook, _ := item.(map[string]any)
		client, _ := webhook["clientConfig"].(map[string]any)
		if bundle := t.bundleFor(o, client); bundle != nil {
			client["caBundle"] = base64.StdEncoding.EncodeToString(bundle)
			changed = true
		}
	}
	if changed {
		t.patch(o, "trust its servers",
			map[string]any{"webhooks": webhooks, "metadata": map[string]any{"resourceVersion": o.GetResourceVersion()}})
	}
}

// bundleFor is the CA to write into what has a service and a caBundle, nil if
// nothing is to be written.
func (t *reconciliation) bundleFor(o *unstructured.Unstructured, client map[string]any) []byte {
	if client["service"] == nil {
		return nil
	}
	encoded, _ := client["caBundle"].(string)
	written, _ := base64.StdEncoding.DecodeString(encoded)
	ref := serviceOf(client)
	wanted, why := t.injected(o)
	switch {
	case why != "":
		t.wait(o, "the CA to trust is not there: "+why)
		return nil
	case wanted != nil:
	case t.missing(ref) != "":
		return nil
	default:
		pair := t.pairOf(ref, t.stub.authority)
		if isTrusted(pair, written, hostsOf(ref)[0]) {
			return nil
		}
		wanted = pair.ca
	}
	if bytes.Equal(wanted, written) {
		return nil
	}
	return wanted
}

// injected is the CA that annotations of cert-manager name.
func (t *reconciliation) injected(o *unstructured.Unstructured) ([]byte, string) {
	secret := o.GetAnnotations()[injectFromSecret]
	if from := o.GetAnnotations()[injectFromCertificate]; from != "" {
		namespace, name, _ := strings.Cut(from, "/")
		ref := Ref{"cert-manager.io", "Certificate", namespace, name}
		if why := t.missing(ref); why != "" {
			return nil, why
		}
		secret = namespace + "/" + text(t.find(ref), "spec", "secretName")
	}
	if secret == "" {
		return nil, ""
	}
	namespace, name, _ := strings.Cut(secret, "/")
	if why := t.keysReason("Secret", namespace, name, []string{"ca.crt"}, nil); why != "" {
		return nil, why
	}
	return decoded(t.get("", "Secret", namespace, name), "ca.crt"), ""
}

// serviceOf is the Service that a clientConfig names.
func serviceOf(client map[string]any) Ref {
	service, _ := client["service"].(map[string]any)
	namespace, _ := service["namespace"].(string)
	name, _ := service["name"].(string)
	return Ref{Kind: "Service", Namespace: namespace, Name: name}
}

// hostsOf are the names under which the API server and others call a Service.
func hostsOf(service Ref) []string {
	short := service.Name + "." + service.Namespace
	return []string{short + ".svc", short + ".svc.cluster.local", short}
}

// pair is what a server shows, and the CA that it is to be trusted by.
type pair struct {
	certificate tls.Certificate
	ca          []byte
}

// pairOf is what the server behind a Service shows: the certificate in a Secret
// that it mounts, or else one that it has made itself.
func (w *world) pairOf(service Ref, own *authority) pair {
	for _, o := range w.backends(service) {
		template, _ := templateOf(o)
		for _, v := range template.Spec.Volumes {
			if v.Secret == nil {
				continue
			}
			if secret := w.get("", "Secret", service.Namespace, v.Secret.SecretName); secret != nil {
				if p, ok := pairIn(secret, hostsOf(service)[0]); ok {
					return p
				}
			}
		}
	}
	return own.pair(hostsOf(service))
}

// pairIn finds a certificate for a host in a Secret, under the names that
// programs give it.
func pairIn(secret *unstructured.Unstructured, host string) (pair, bool) {
	for _, names := range [][3]string{{"tls.crt", "tls.key", "ca.crt"}, {"cert", "key", "ca"}} {
		certificate, err := tls.X509KeyPair(decoded(secret, names[0]), decoded(secret, names[1]))
		if err != nil || certificate.Leaf.VerifyHostname(host) != nil {
			continue
		}
		ca := decoded(secret, names[2])
		if ca == nil { // it has signed itself
			ca = decoded(secret, names[0])
		}
		return pair{certificate, ca}, true
	}
	return pair{}, false
}

// backends are the workloads behind a Service.
func (w *world) backends(ref Ref) []*unstructured.Unstructured {
	service := w.get("", "Service", ref.Namespace, ref.Name)
	if service == nil {
		return nil
	}
	selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	var found []*unstructured.Unstructured
	for _, kind := range running {
		for _, o := range w.of(kind.Group, kind.Kind) {
			if template, ok := templateOf(o); ok && o.GetNamespace() == ref.Namespace && sameLabels(selector, template.Labels) {
				found = append(found, o)
			}
		}
	}
	return found
}

// isTrusted reports whether a bundle vouches for what a server shows.
func isTrusted(p pair, bundle []byte, host string) bool {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return false
	}
	for _, der := range p.certificate.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	_, err := p.certificate.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between})
	return err == nil
}

// decoded is a value of a Secret.
func decoded(secret *unstructured.Unstructured, key string) []byte {
	value, err := base64.StdEncoding.DecodeString(text(secret, "data", key))
	if err != nil || len(value) == 0 {
		return nil
	}
	return value
}

// encoded is the form of a value in a Secret or a ConfigMap.
func encoded(kind string, value []byte) string {
	if kind == "Secret" {
		return base64.StdEncoding.EncodeToString(value)
	}
	return string(value)
}
