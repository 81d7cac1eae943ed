package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prepareWebhook gets the keys of the webhook and tells the API server of them, as far
// as that is a habit.
func (o *operator) prepareWebhook(ctx context.Context) error {
	if dir := o.habits.WebhookCertificate; dir != "" {
		certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
		if err != nil {
			return fmt.Errorf("reading the certificate of the webhook: %w; fix: mount a Secret with tls.crt and tls.key at %s", err, dir)
		}
		o.keys.server = certificate
		return nil
	}
	if err := o.loadOrMakeKeys(ctx); err != nil {
		return err
	}
	if o.habits.RegisterWebhook {
		if err := o.cluster.write(ctx, "webhook", o.configuration()); err != nil {
			return err
		}
	}
	if name := o.habits.InjectCA; name != "" {
		return o.injectCA(ctx, name)
	}
	return nil
}

// certify writes the keys of a webhook that another Pod serves, and its CA if told to.
func (o *operator) certify(ctx context.Context) error {
	if o.habits.WebhookSecret == "" {
		return fmt.Errorf("--webhook-secret is missing; fix: name the Secret to write")
	}
	return o.prepareWebhook(ctx)
}

// loadOrMakeKeys takes the keys from the Secret, or writes new ones to it.
func (o *operator) loadOrMakeKeys(ctx context.Context) error {
	name := o.habits.WebhookSecret
	found, err := o.cluster.exists(ctx, ref{"secret", name})
	if err != nil {
		return err
	}
	if found {
		secret, err := o.cluster.of("secret").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return wrap(err, "reading", "secret", name)
		}
		if o.keys, err = keysOf(secret); err != nil || o.keys.ca != nil {
			return wrap(err, "reading", "secret", name)
		}
	}
	host := fmt.Sprintf("%s.%s.svc", o.habits.Service, o.cluster.namespace)
	if o.keys, err = makeKeys(host, time.Now()); err != nil {
		return fmt.Errorf("making the keys of the webhook: %w", err)
	}
	return o.cluster.write(ctx, "secret", o.keys.secret(name))
}

// injectCA writes the CA into all webhooks of a configuration that somebody else made.
func (o *operator) injectCA(ctx context.Context, name string) error {
	live, err := o.cluster.of("webhook").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("writing the CA: %w", err)
	}
	hooks, _ := live.Object["webhooks"].([]any)
	for _, hook := range hooks {
		if hook, ok := hook.(map[string]any); ok {
			if config, ok := hook["clientConfig"].(map[string]any); ok {
				config["caBundle"] = base64.StdEncoding.EncodeToString(o.keys.ca)
			}
		}
	}
	_, err = o.cluster.of("webhook").Update(ctx, live, metav1.UpdateOptions{})
	return wrap(err, "updating", "webhook", name)
}

// configuration is the one that the operator registers itself.
func (o *operator) configuration() map[string]any {
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "beacon-" + o.cluster.namespace},
		"webhooks": []any{map[string]any{
			"name":                    "beacons.beacon.example.com",
			"admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
			"timeoutSeconds":    int64(5),
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": o.cluster.namespace}},
			"clientConfig": map[string]any{
				"caBundle": base64.StdEncoding.EncodeToString(o.keys.ca),
				"service":  map[string]any{"name": o.habits.Service, "namespace": o.cluster.namespace, "path": "/validate"},
			},
			"rules": []any{map[string]any{
				"apiGroups": []any{beacons.Group}, "apiVersions": []any{"v1"},
				"operations": []any{"CREATE", "UPDATE"}, "resources": []any{beacons.Resource},
			}},
		}},
	}
}

func (o *operator) webhookServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/validate", validate)
	return &http.Server{Addr: ":9443", Handler: mux, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{o.keys.server}, MinVersion: tls.VersionTLS12}}
}

// validate refuses a Beacon without a message.
func validate(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<20)).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "want an AdmissionReview with a request", http.StatusBadRequest)
		return
	}
	var beacon struct{ Spec struct{ Message string } }
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	switch err := json.Unmarshal(review.Request.Object.Raw, &beacon); {
	case err != nil:
		answer.Allowed, answer.Result = false, &metav1.Status{Message: "reading the Beacon: " + err.Error()}
	case beacon.Spec.Message == "":
		answer.Allowed, answer.Result = false, &metav1.Status{Message: "spec.message is empty; fix: say what the light shows"}
	}
	review.Request, review.Response = nil, answer
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(out.Bytes())
}
