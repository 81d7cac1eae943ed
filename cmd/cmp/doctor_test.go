package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/ladder-cmp/ladder/internal/corpus"
	"github.com/ladder-cmp/ladder/internal/doctor"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/object"
)

const doctorCases = "testdata/doctor"

// TestDoctorRules looks at each case: at base.yaml with the patches of patch.yaml,
// or of live.yaml, which is in a cluster; or at values.yaml. A rule has cases that
// are called like it, which find it.
func TestDoctorRules(t *testing.T) {
	base, err := os.ReadFile(filepath.Join(doctorCases, "base.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if found := examine(t.Context(), doctor.Input{Objects: manifestsIn(t, string(base))}); len(found) > 0 {
		t.Errorf("of what has no fault: %v", found)
	}
	proved := map[string]bool{}
	golden.Archives(t, filepath.Join(doctorCases, "*.txtar"), func(t *testing.T, in txtar.File) []txtar.File {
		var e doctor.Input
		switch in.Name {
		case "values.yaml":
			v, ok := doctor.ChartValues(in.Name, in.Data)
			if !ok {
				t.Fatal("these are no values")
			}
			e.Values = []doctor.Values{v}
		case "alone.yaml":
			e.Objects = manifestsIn(t, string(in.Data))
		default:
			e.Objects = manifestsIn(t, patched(t, string(base), string(in.Data)))
			e.Live = in.Name == "live.yaml"
			e.Secrets = []string{"there"}
		}
		var b strings.Builder
		for _, f := range examine(t.Context(), e) {
			if f.Remedy == "" {
				t.Errorf("%s has no remedy", f.Rule)
			}
			f.File, f.Line = "", 0 // of texts that nobody has
			fmt.Fprintf(&b, "%s %s: %s\n", f.Severity, f.Rule, f.Error())
			if strings.HasPrefix(filepath.Base(t.Name()), f.Rule) {
				proved[f.Rule] = true
				checkSeverity(t, f)
			}
		}
		return []txtar.File{golden.Text("findings", b.String())}
	})
	for _, r := range doctor.Rules() {
		if !proved[r.Name] {
			t.Errorf("no case in %s finds %s", doctorCases, r.Name)
		}
		for _, text := range []string{r.Finds, r.Why, r.Remedy, r.Source} {
			if text == "" {
				t.Errorf("%s is not explained", r.Name)
			}
		}
	}
}

func checkSeverity(t *testing.T, f finding.Finding) {
	t.Helper()
	for _, r := range doctor.Rules() {
		if r.Name == f.Rule && !slices.Contains(r.Severities, f.Severity) {
			t.Errorf("%s is said to be %v, and is %s", r.Name, r.Severities, f.Severity)
		}
	}
}

func manifestsIn(t *testing.T, text string) []object.Object {
	t.Helper()
	all, err := object.Parse("argocd.yaml", 1, text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// patched merges documents into those of the same kind and name, and adds the
// others.
func patched(t *testing.T, base, patch string) string {
	t.Helper()
	docs := strings.Split(base, "\n---\n")
	for _, change := range strings.Split(patch, "\n---\n") {
		c := kyaml.MustParse(change)
		is := func(doc string) bool {
			d := kyaml.MustParse(doc)
			return d.GetKind() == c.GetKind() && d.GetName() == c.GetName()
		}
		at := slices.IndexFunc(docs, is)
		if at < 0 {
			docs = append(docs, change)
			continue
		}
		merged, err := merge2.MergeStrings(change, docs[at], true, kyaml.MergeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		docs[at] = merged
	}
	docs = slices.DeleteFunc(docs, func(doc string) bool { return strings.TrimSpace(doc) == "" })
	return strings.Join(docs, "\n---\n")
}

// TestDoctorDeploy looks at what the project ships: values that go to the chart,
// and the same container beside the repo-server of a plain install.
func TestDoctorDeploy(t *testing.T) {
	text, err := os.ReadFile("../../deploy/argocd-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	v, ok := doctor.ChartValues("argocd-values.yaml", text)
	if !ok {
		t.Fatal("the values are not known as such")
	}
	onlyPlaceholder := func(file string, found []finding.Finding) {
		t.Helper()
		if len(found) != 1 || found[0].Rule != "image" || !strings.Contains(found[0].Message, "placeholder") {
			t.Errorf("%s has other problems than the placeholder of its image: %v", file, found)
		}
	}
	onlyPlaceholder("deploy/argocd-values.yaml", examine(t.Context(), doctor.Input{Values: []doctor.Values{v}}))
	base, err := os.ReadFile(filepath.Join(doctorCases, "base.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	docs := []string{strings.Replace(string(base), "  reposerver.plugin.tar.exclusions: .git/*\n", "", 1)}
	for _, file := range []string{"repo-server.yaml", "application-health.yaml", "exclusions.yaml"} {
		patch, err := os.ReadFile(filepath.Join("../../deploy/kustomize", file))
		if err != nil {
			t.Fatal(err)
		}
		docs[0] = patched(t, docs[0], string(patch))
	}
	onlyPlaceholder("deploy/kustomize", examine(t.Context(), doctor.Input{Objects: manifestsIn(t, docs[0])}))
}

// TestDoctorCorpus looks at what real charts render to: that of Argo CD lacks the
// container, and nothing else once it has it. Others are no Argo CD.
func TestDoctorCorpus(t *testing.T) {
	patch, err := os.ReadFile("../../deploy/kustomize/repo-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	corpus.Each(t, func(t *testing.T, text string) {
		look := func(text string) (rules []string) {
			for _, f := range examine(t.Context(), doctor.Input{Objects: manifestsIn(t, text)}) {
				if f.Severity != finding.Note {
					rules = append(rules, f.Rule)
				}
			}
			return rules
		}
		want := "no-repo-server"
		if filepath.Base(t.Name()) == "argo-cd" {
			const name = "argocd-repo-server"
			if found := look(patched(t, text, strings.NewReplacer(name, "rel-"+name, "registry.example.com/ladder:dev", "ghcr.io/ladder-cmp/ladder:v1.2.3").Replace(string(patch)))); len(found) > 0 {
				t.Errorf("with the container: %v", found)
			}
			want = "no-sidecar"
		}
		if found := look(text); !slices.Equal(found, []string{want}) {
			t.Errorf("found %v, want %s", found, want)
		}
	})
}

// TestDoctorCluster reads a cluster that notes what it is asked: nothing is
// changed, and of Secrets it is asked for no more than a table of their names.
func TestDoctorCluster(t *testing.T) {
	base, err := os.ReadFile(filepath.Join(doctorCases, "base.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	live := patched(t, string(base), `apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec: {template: {spec: {containers: [{name: ladder, env: [{name: A, valueFrom: {secretKeyRef: {name: gone, key: a}}}, {name: B, valueFrom: {secretKeyRef: {name: there, key: a}}}]}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: argocd-repo-server-1, labels: {app.kubernetes.io/name: argocd-repo-server}}
spec: {containers: [{name: ladder, image: "ghcr.io/ladder-cmp/ladder:v1.2.3@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}
status: {containerStatuses: [{name: ladder, ready: false, restartCount: 7, state: {waiting: {reason: CrashLoopBackOff}}}]}
`)
	byResource := map[string][]any{}
	for _, o := range manifestsIn(t, live) {
		var item map[string]any
		if err := kyaml.Unmarshal([]byte(o.Text()), &item); err != nil {
			t.Fatal(err)
		}
		item["metadata"].(map[string]any)["namespace"] = "argocd"
		resource := strings.ToLower(o.ID.Kind) + "s"
		byResource[resource] = append(byResource[resource], item)
	}
	forbidden := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := filepath.Base(r.URL.Path)
		var answer any
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("the cluster is asked to %s %s", r.Method, r.URL)
		case resource == forbidden:
			w.WriteHeader(http.StatusForbidden)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
		case resource == "secrets":
			if r.URL.Query().Get("includeObject") != "None" || !strings.Contains(r.Header.Get("Accept"), "as=Table") || strings.Contains(r.Header.Get("Accept"), ",") {
				t.Errorf("the cluster is asked for Secrets: %s, %s", r.URL, r.Header.Get("Accept"))
			}
			answer = map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": []any{map[string]any{"name": "Name"}}, "rows": []any{map[string]any{"cells": []any{"there"}}}}
		case byResource[resource] == nil && resource != "pods":
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
		default:
			first := byResource[resource][0].(map[string]any)
			answer = map[string]any{"kind": first["kind"].(string) + "List", "apiVersion": first["apiVersion"], "metadata": map[string]any{}, "items": byResource[resource]}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	kubeconfig := kubeconfigOf(t, server.URL)
	look := func(want int, args ...string) string {
		t.Helper()
		var out, faults strings.Builder
		if code := run(append([]string{"doctor", "--kubeconfig", kubeconfig}, args...), streams{In: strings.NewReader(""), Out: &out, Err: &faults}); code != want {
			t.Errorf("exit code %d: %s%s", code, out.String(), faults.String())
		}
		return out.String() + faults.String()
	}
	got := look(exitFailed)
	want := []string{"Secret gone not found;", "it does not run: CrashLoopBackOff;", "2 errors, 1 warning, 0 notes in 9 objects\n"}
	for _, text := range want {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in\n%s", text, got)
		}
	}
	forbidden = "secrets"
	if got := look(exitFailed, "--context", "production"); !strings.Contains(got, "note: this user may not list secrets") || strings.Contains(got, "Secret gone") {
		t.Errorf("without rights for Secrets:\n%s", got)
	}
	if got := look(exitFailed, "--context", "other"); !strings.Contains(got, `context "other" does not exist`) || strings.Count(got, "\n") != 1 {
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

// TestServingOf reads command lines as the server does, whatever this process has
// in its environment.
func TestServingOf(t *testing.T) {
	t.Setenv("LADDER_SERVE_PARALLEL", "7")
	t.Setenv(ladderfile.Variable, "elsewhere.yaml")
	f, err := servingOf([]string{"--parallel=3"}, map[string]string{"LADDER_SERVE_RENDER_TIMEOUT": "10s", ladderfile.Variable: "/etc/ladder/ladder.yaml"})
	if err != nil || f.Parallel != 3 || f.Render != 10 || f.Ladder != "/etc/ladder/ladder.yaml" || f.PluginDir != socketDir {
		t.Errorf("read %+v, %v", f, err)
	}
	for want, args := range map[string][]string{"unknown flag: --paralel": {"--paralel=1"}, "-1": {"--parallel=-1"}, "64 MiB": {"--worker-memory=1"}, "xml": {"--log-format=xml"}, "unexpected argument": {"now"}} {
		if _, err := servingOf(args, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
