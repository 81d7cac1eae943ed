package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clusterApplications are two Applications as the API server returns them.
const clusterApplications = `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {}, "items": [
	{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "shop", "namespace": "argocd", "finalizers": ["resources-finalizer.argocd.argoproj.io"]},
		"spec": {"project": "default", "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
			"source": {"repoURL": "https://git.example.com/platform.git", "path": "charts/shop", "helm": {"valuesObject": {"replicas": 3}}}},
		"status": {"resources": [{"kind": "ConfigMap", "version": "v1", "namespace": "shop", "name": "shop"}],
			"history": [{"id": 0, "deployStartedAt": "2026-11-01T08:01:00Z", "deployedAt": "2026-11-01T08:01:40Z"}]}},
	{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "argocd", "finalizers": ["resources-finalizer.argocd.argoproj.io"]},
		"spec": {"project": "default", "destination": {"server": "https://kubernetes.default.svc", "namespace": "web"},
			"source": {"repoURL": "https://git.example.com/platform.git", "path": "web"}},
		"status": {"resources": [{"kind": "ConfigMap", "version": "v1", "namespace": "web", "name": "web"}],
			"operationState": {"phase": "Succeeded", "startedAt": "2026-11-01T08:00:00Z", "finishedAt": "2026-11-01T08:00:30Z"}}}]}`

// standIn serves the Applications of a cluster, which is only read.
func standIn(t *testing.T) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := clusterApplications
		if r.Method != http.MethodGet {
			t.Errorf("the cluster is asked to %s %s", r.Method, r.URL)
		}
		if !strings.HasSuffix(r.URL.Path, "/applications") {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL)
}

// importPage is docs/import.md, whose commands are run against an API server.
type importPage struct {
	text       string // from the last command on
	kubeconfig string
}

// find goes on to a line of code.
func (p *importPage) find(t *testing.T, line string) {
	t.Helper()
	at := strings.Index(p.text, "`"+line+"`")
	if at < 0 {
		t.Fatalf("docs/import.md does not have %q after the commands before it", line)
	}
	p.text = p.text[at:]
}

// follow runs a command, live ones with the API server, and returns what it prints.
func (p *importPage) follow(t *testing.T, live bool, line string, flags ...string) string {
	t.Helper()
	args := append(strings.Fields(line)[1:], flags...)
	if live {
		args = append(args, "--kubeconfig", p.kubeconfig)
	}
	var out, faults strings.Builder
	if code := run(args, streams{In: strings.NewReader(""), Out: &out, Err: &faults}); code != exitOK {
		t.Fatalf("%s: exit code %d: %s%s", line, code, out.String(), faults.String())
	}
	return out.String() + faults.String()
}

// next runs a command that the page has after those before.
func (p *importPage) next(t *testing.T, live bool, line string, flags ...string) string {
	t.Helper()
	p.find(t, line)
	return p.follow(t, live, line, flags...)
}

// checkTakenOver makes sure that the Applications in a directory have their names, their
// namespaces, and components as their sources.
func checkTakenOver(t *testing.T, dir string) {
	t.Helper()
	for name, path := range map[string]string{"shop": "components/shop", "web": "components/web"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"  name: " + name + "\n  namespace: argocd\n", "    namespace: " + name + "\n", "    path: " + path + "\n", "repoURL: https://git.example.com/platform.git\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}

// TestTakeOver runs the commands of docs/import.md in their order against an API server, and
// those that read it later. The objects stay the same, and so do the names of the
// Applications, so that Argo CD updates them.
func TestTakeOver(t *testing.T) {
	page, err := os.ReadFile("../../docs/import.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	p := &importPage{text: text[strings.Index(text, "## Switch over"):], kubeconfig: standIn(t)}
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{
		".git/HEAD":                    "ref: refs/heads/main\n",
		"charts/shop/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
		"charts/shop/values.yaml":      "replicas: 1\n",
		"charts/shop/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {replicas: \"{{ .Values.replicas }}\"}\n",
		"web/c.yaml":                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	})
	p.follow(t, true, "cmp fleet import --context production")
	p.next(t, false, "cmp fleet lint components")
	p.next(t, false, "cmp fleet steps components --write")
	if got := p.next(t, true, "cmp diff components --context production", "--exit-code"); strings.Contains(got, "Application shop ->") || strings.Contains(got, "Application web ->") {
		t.Errorf("the objects differ:\n%s", got)
	}
	p.next(t, false, "cmp fleet apps components --out argocd/fleet")
	checkTakenOver(t, "argocd/fleet")
	for _, line := range []string{"kubectl diff -k argocd/fleet", "argocd/fleet/root.yaml"} {
		p.find(t, line)
		file := strings.TrimPrefix(line, "kubectl diff -k ")
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	// A component that lost a value is different from what the cluster runs.
	write(t, ".", map[string]string{"charts/shop/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"})
	if got := p.follow(t, true, "cmp diff components --context production"); !strings.Contains(got, "Application shop -> shop") || !strings.Contains(got, "- ConfigMap shop/shop") {
		t.Errorf("what the cluster has besides is missing:\n%s", got)
	}
	// The durations of its rollout are those of the syncs.
	for _, flag := range []string{"--from-cluster", "--context production"} {
		if got := p.follow(t, true, "cmp fleet simulate components "+flag); !strings.Contains(got, "Real rollout of 2026-11-01T08:00:00Z") || strings.Count(got, " of 1") < 1 && !strings.Contains(got, "2 of 2") {
			t.Errorf("no rollout of the cluster:\n%s", got)
		}
	}
}
