package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// secretsServer is a cluster that has Secrets, by "namespace/name", and answers nothing
// else. It returns a kubeconfig.
func secretsServer(t *testing.T, secrets map[string]map[string][]byte, forbidden *bool) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var namespace, name string
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api/v1/namespaces/NAMESPACE/secrets/NAME
		if r.Method != http.MethodGet || len(parts) != 6 || parts[4] != "secrets" {
			t.Errorf("the cluster is asked to %s %s", r.Method, r.URL)
		} else {
			namespace, name = parts[3], parts[5]
		}
		data := secrets[namespace+"/"+name]
		var answer any = map[string]any{"kind": "Secret", "apiVersion": "v1",
			"metadata": map[string]any{"name": name, "namespace": namespace}, "data": data}
		switch {
		case *forbidden:
			w.WriteHeader(http.StatusForbidden)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
		case data == nil:
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %s}}]\n"+
		"contexts: [{name: production, context: {cluster: c}}]\ncurrent-context: production\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// TestSeedAdopt keeps what a cluster has: the printed values render to it, the rest has a
// recipe, and only the output shows what Secrets hold.
func TestSeedAdopt(t *testing.T) {
	const password = "it's: s3cret #1"
	forbidden := false
	config := secretsServer(t, map[string]map[string][]byte{
		"shop/cellar-auth": {"username": []byte("keeper"), "password": []byte(password),
			"url": []byte("postgresql://keeper:" + password + "@cellar:5432")},
		"shop/cellar-tls": {"ca.crt": []byte("live-ca"), "tls.crt": []byte("live-cert"), "tls.key": []byte("live-key")},
	}, &forbidden)
	cmp := func(want int, args ...string) (out, faults string) {
		t.Helper()
		var o, e strings.Builder
		if code := run(args, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e}); code != want {
			t.Errorf("exit code %d: %s", code, e.String())
		}
		return o.String(), e.String()
	}
	const chart = "../../testdata/charts/cellar"
	adopt := []string{"seed", "adopt", chart, "--name", "cellar", "--namespace", "shop", "--kubeconfig", config}
	out, faults := cmp(exitOK, adopt...)
	for _, secret := range []string{password, "live-"} {
		if strings.Contains(faults, secret) {
			t.Errorf("messages show %q:\n%s", secret, faults)
		}
	}
	for _, want := range []string{
		"Secret shop/cellar-tls: no value of the chart sets ca.crt, tls.crt, tls.key;",
		"Secret shop/cellar-keys: it is not in the cluster, so there is nothing to keep;",
	} {
		if strings.Count(faults, want) != 1 {
			t.Errorf("%q is not in\n%s", want, faults)
		}
	}
	if !strings.Contains(out, "#           - /data/tls.key\n") || strings.Contains(out, "live-") {
		t.Errorf("the recipe:\n%s", out)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(out), &values); err != nil || fmt.Sprint(values) != "map[auth:map[password:"+password+"]]" {
		t.Errorf("%v: %v in\n%s", err, values, out)
	}

	// The file is for its owner alone, and renders to what the cluster has.
	file := filepath.Join(t.TempDir(), "adopted.yaml")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if quiet, _ := cmp(exitOK, append(adopt, "--param", "random=derived", "-o", file)...); quiet != "" {
		t.Errorf("printed, too:\n%s", quiet)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	manifests, _ := cmp(exitOK, "render", chart, "--name", "cellar", "--namespace", "shop", "-f", file)
	if !strings.Contains(manifests, fmt.Sprintf("password: %q\n", password)) {
		t.Errorf("not rendered to what is there:\n%s", manifests)
	}

	if _, faults := cmp(exitUsage, append(adopt, "-o", "json")...); !strings.Contains(faults, "write -o adopted.yaml") {
		t.Error(faults)
	}

	// Who may not read it is told so, and what generates nothing needs no cluster.
	forbidden = true
	if _, faults := cmp(exitFailed, adopt...); !strings.Contains(faults, "this user is not allowed to read Secret shop/cellar-auth") {
		t.Error(faults)
	}
	if out, faults := cmp(exitOK, "seed", "adopt", "../../testdata/components/shop", "--kubeconfig", config); out != "" ||
		!strings.Contains(faults, "generates no values of Secrets") {
		t.Errorf("%s%s", out, faults)
	}
}
