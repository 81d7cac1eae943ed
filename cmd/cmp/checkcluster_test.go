package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// needsChecks is a component with two gates: the check for one kind came with Argo CD 3.1, and
// no Argo CD has one for the other.
const needsChecks = `apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: db}
spec: {instances: 1}
---
apiVersion: secrets.hashicorp.com/v1beta1
kind: VaultStaticSecret
metadata: {name: token}
spec: {type: kv-v2, mount: kv, path: token, destination: {name: token, create: true}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "shop:1", envFrom: [{secretRef: {name: db-app}}, {secretRef: {name: token}}]}]}
`

// TestCheckForArgoCD checks a component, and a directory of components, for the Argo CD of a
// cluster: its version and the checks in its argocd-cm.
func TestCheckForArgoCD(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"shop", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "all.yaml"), []byte(needsChecks), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const cluster, secret = "Argo CD 2.14 has no health check for Cluster.postgresql.cnpg.io",
		"no health check for VaultStaticSecret.secrets.hashicorp.com"
	for _, c := range []struct {
		name, image, key, value string
		flags, want             []string
	}{
		{"the newest", "quay.io/argoproj/argocd:v3.5.7", "a", "b", nil, []string{secret}},
		{"an old one", "quay.io/argoproj/argocd:v2.14.3", "a", "b", nil, []string{cluster, secret}},
		{"a flag counts more", "quay.io/argoproj/argocd:v2.14.3", "a", "b", []string{"--argocd-version", "3.1"}, []string{secret}},
		{"a check in argocd-cm", "quay.io/argoproj/argocd:v3.5.7", "resource.customizations.health.secrets.hashicorp.com_VaultStaticSecret",
			"return {}", nil, nil},
		{"the old form", "quay.io/argoproj/argocd:v2.14.3", "resource.customizations", "postgresql.cnpg.io/*:\n  health.lua: return {}\n",
			nil, []string{secret}},
		{"an unknown version", "quay.io/argoproj/argocd@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			"a", "b", nil, []string{secret}},
	} {
		installed := newArgoCD(t)
		for _, items := range installed.byResource {
			for _, item := range items {
				o := item.(map[string]any)
				if o["metadata"].(map[string]any)["name"] == "argocd-cm" {
					o["data"].(map[string]any)[c.key] = c.value
				}
				setImages(o, c.image)
			}
		}
		server := httptest.NewServer(installed)
		for _, arg := range []string{filepath.Join(dir, "shop"), dir} {
			args := append([]string{"check", arg, "--kubeconfig", kubeconfigOf(t, server.URL)}, c.flags...)
			var out, errs strings.Builder
			if code := run(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != exitOK {
				t.Errorf("%s: %v exits with %d: %s", c.name, args, code, errs.String())
			}
			for _, message := range []string{cluster, secret} {
				wanted := false
				for _, w := range c.want {
					wanted = wanted || w == message
				}
				if strings.Contains(out.String(), message) != wanted {
					t.Errorf("%s: %q in the check of %s: %v, want %v\n%s", c.name, message, arg, !wanted, wanted, out.String())
				}
			}
		}
		server.Close()
	}
}

// setImages sets the image of every container of Argo CD in a workload.
func setImages(o map[string]any, image string) {
	spec, _ := o["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	containers, _ := pod["containers"].([]any)
	for _, c := range containers {
		if container := c.(map[string]any); strings.Contains(container["image"].(string), "argocd") {
			container["image"] = image
		}
	}
}
