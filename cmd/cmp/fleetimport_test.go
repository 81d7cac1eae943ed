package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestImportCluster imports the Application of a cluster without ApplicationSets, as the API
// server returns it: with its status and what kubectl apply notes, which belong to the
// cluster. The cluster is only read.
func TestImportCluster(t *testing.T) {
	const application = `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": {"name": "shop", "namespace": "argocd", "uid": "1", "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
			"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "example.com/runbook": "https://runbooks.example.com"},
			"managedFields": [{"manager": "argocd"}]},
		"spec": {"project": "shop", "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
			"source": {"repoURL": "https://git.example.com/platform.git", "path": "testdata/components/shop", "targetRevision": "main"}},
		"status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}}`
	forbidden := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("the cluster is asked to %s %s", r.Method, r.URL)
		case forbidden:
			w.WriteHeader(http.StatusForbidden)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`
		case strings.HasSuffix(r.URL.Path, "/applications"):
			answer = `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {}, "items": [` + application + `]}`
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	documents(t) // from the root of the repository
	args := []string{"fleet", "import", "--kubeconfig", kubeconfigOf(t, server.URL), "--context", "production", "--dry-run"}
	look := func(want int) (string, string) {
		t.Helper()
		var out, faults strings.Builder
		if code := run(args, streams{In: strings.NewReader(""), Out: &out, Err: &faults}); code != want {
			t.Errorf("exit code %d: %s%s", code, out.String(), faults.String())
		}
		return out.String(), faults.String()
	}
	out, faults := look(exitOK)
	for _, want := range []string{"name: shop\n", "example.com/runbook: https://runbooks.example.com", "path: testdata/components/shop"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	for _, of := range []string{"last-applied", "status", "managedFields", "resourceVersion"} {
		if strings.Contains(out+faults, of) {
			t.Errorf("%s, which belongs to the cluster, is imported or reported:\n%s", of, fmt.Sprint(out, faults))
		}
	}
	forbidden = true
	out, faults = look(exitFailed)
	if out != "" || !strings.Contains(faults, "this user may not list applications") || !strings.Contains(faults, "no Application found") {
		t.Errorf("without permission: %s%s", out, faults)
	}
}
