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

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/object"
)

// missingSecrets are variables of the sidecar from a Secret that is missing and from one that no
// one may read, and crashingPod does not start.
const (
	missingSecrets = `env: [{name: A, valueFrom: {secretKeyRef: {name: gone, key: a}}}, {name: B, ` +
		`valueFrom: {secretKeyRef: {name: there, key: a}}}]`
	crashingPod = `---
apiVersion: v1
kind: Pod
metadata: {name: argocd-repo-server-1, labels: {app.kubernetes.io/name: argocd-repo-server}}
spec: {containers: [{name: ladder, image: "ghcr.io/ladder-cmp/ladder:v1.2.3@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}
status: {containerStatuses: [{name: ladder, ready: false, restartCount: 7, state: {waiting: {reason: CrashLoopBackOff}}}]}
`
)

// argoCD is a cluster with an Argo CD, which is only read.
type argoCD struct {
	t          *testing.T
	byResource map[string][]any
	forbidden  string // a resource that the user may not list
}

func newArgoCD(t *testing.T) *argoCD {
	t.Helper()
	base, err := os.ReadFile("../../argocd/doctor/testdata/cases/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	byResource := map[string][]any{}
	const ports = "ports: [{name: ladder-metrics"
	broken := strings.Replace(string(base), ports, missingSecrets+"\n        "+ports, 1) + crashingPod
	for _, o := range golden.Must(object.Parse("in.yaml", 1, broken)) {
		var item map[string]any
		if err := kyaml.Unmarshal([]byte(o.Text()), &item); err != nil {
			t.Fatal(err)
		}
		item["metadata"].(map[string]any)["namespace"] = "argocd"
		resource := strings.ToLower(o.ID.Kind) + "s"
		byResource[resource] = append(byResource[resource], item)
	}
	return &argoCD{t: t, byResource: byResource}
}

func (i *argoCD) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource := filepath.Base(r.URL.Path)
	var answer any
	switch {
	case r.Method != http.MethodGet:
		i.t.Errorf("the cluster is asked to %s %s", r.Method, r.URL)
	case resource == i.forbidden:
		w.WriteHeader(http.StatusForbidden)
		answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
	case resource == "secrets":
		i.t.Errorf("the cluster is asked for Secrets: %s", r.URL)
	case i.byResource[resource] == nil && resource != "pods":
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
	default:
		first := i.byResource[resource][0].(map[string]any)
		answer = map[string]any{"kind": first["kind"].(string) + "List", "apiVersion": first["apiVersion"], "metadata": map[string]any{},
			"items": i.byResource[resource]}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		i.t.Error(err)
	}
}

// TestDoctorCluster reads a cluster that notes what it is asked: nothing is
// changed, and no Secret is read.
func TestDoctorCluster(t *testing.T) {
	cluster := newArgoCD(t)
	server := httptest.NewServer(cluster)
	defer server.Close()
	kubeconfig := kubeconfigOf(t, server.URL)
	look := func(want int, args ...string) string {
		t.Helper()
		var out, faults strings.Builder
		code := run(append([]string{"doctor", "--kubeconfig", kubeconfig}, args...),
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &faults})
		if code != want {
			t.Errorf("exit code %d: %s%s", code, out.String(), faults.String())
		}
		return out.String() + faults.String()
	}
	got := look(exitFailed)
	want := []string{"it does not run: CrashLoopBackOff;", "1 error, 1 warning, 0 notes in 9 objects\n"}
	for _, text := range want {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in\n%s", text, got)
		}
	}
	cluster.forbidden = "configmaps"
	if got := look(exitFailed, "--context", "production"); !strings.Contains(got, "note [not-found]: this user may not list configmaps") {
		t.Errorf("without rights for ConfigMaps:\n%s", got)
	}
	if got := look(exitFailed, "--context", "other"); !strings.Contains(got, `context "other" does not exist`) ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("of a context that is not there:\n%s", got)
	}
	server.Close()
	if got := look(exitFailed); !strings.Contains(got, "kubectl get pods --namespace argocd") || strings.Count(got, "\n") != 1 {
		t.Errorf("of a cluster that does not answer:\n%s", got)
	}
}

// kubeconfigOf writes a kubeconfig of one API server, with the context production.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %s}}]
contexts: [{name: production, context: {cluster: c}}]
current-context: production
`, server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
