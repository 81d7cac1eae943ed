package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	argocd "github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/sample"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/live"
	"github.com/ladder-cmp/ladder/live/cluster"
	"github.com/ladder-cmp/ladder/object"
)

// server is an API server with the objects of a snapshot.
type server struct {
	*testing.T
	objects   []map[string]any
	forbidden []string // resources
	requests  []string
}

func newServer(t *testing.T, texts ...string) *server {
	t.Helper()
	s := &server{T: t}
	for _, o := range sample.Objects(t, strings.Join(texts, "\n---\n")) {
		var item map[string]any
		if err := yaml.Unmarshal([]byte(o.Text()), &item); err != nil {
			t.Fatal(err)
		}
		s.objects = append(s.objects, item)
	}
	return s
}

// resourceOf guesses a plural as the API server does.
func resourceOf(kind string) string {
	for _, k := range live.Kinds {
		if k.Kind == kind {
			return k.Resource
		}
	}
	return strings.ToLower(kind) + "s"
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		s.Errorf("%s %s", r.Method, r.URL)
	}
	if strings.HasPrefix(r.URL.Path, "/api/") && strings.Contains(r.URL.Path, "/secrets") {
		s.Errorf("asks for Secrets: %s", r.URL)
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	if parts[0] == "apis" {
		group, parts = parts[1], parts[1:]
	}
	parts = parts[1:]
	switch {
	case len(parts) == 0:
		s.group(w, group)
		return
	case len(parts) == 1:
		s.resources(w, group)
		return
	case parts[len(parts)-1] == "log":
		fmt.Fprint(w, "panic: no database")
		return
	}
	parts = parts[1:]
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	if slices.Contains(s.forbidden, parts[0]) {
		fail(w, http.StatusForbidden, "Forbidden")
		return
	}
	items := []map[string]any{}
	for _, o := range s.objects {
		meta := o["metadata"].(map[string]any)
		version := strings.Split(o["apiVersion"].(string), "/")
		if len(version) == 1 {
			version = []string{"", version[0]}
		}
		if version[0] != group || resourceOf(o["kind"].(string)) != parts[0] || namespace != "" && meta["namespace"] != namespace {
			continue
		}
		if len(parts) == 1 {
			items = append(items, o)
		} else if meta["name"] == parts[1] {
			s.write(w, o)
			return
		}
	}
	if len(parts) > 1 {
		fail(w, http.StatusNotFound, "NotFound")
		return
	}
	s.page(w, r, items)
}

// page writes a page of a list.
func (s *server) page(w http.ResponseWriter, r *http.Request, items []map[string]any) {
	var from, limit int
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from) // empty at first
	_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
	meta := map[string]any{}
	if to := from + limit; limit > 0 && to < len(items) {
		items, meta["continue"] = items[from:to], fmt.Sprint(to)
	} else {
		items = items[from:]
	}
	s.write(w, map[string]any{"kind": "List", "apiVersion": "v1", "metadata": meta, "items": items})
}

func (s *server) group(w http.ResponseWriter, group string) {
	for _, o := range s.objects {
		if g, v, ok := strings.Cut(o["apiVersion"].(string), "/"); ok && g == group {
			s.write(w, map[string]any{"kind": "APIGroup", "preferredVersion": map[string]any{"version": v}})
			return
		}
	}
	fail(w, http.StatusNotFound, "NotFound")
}

func (s *server) resources(w http.ResponseWriter, group string) {
	all := []map[string]any{}
	for _, o := range s.objects {
		if g, _, _ := strings.Cut(o["apiVersion"].(string), "/"); g == group {
			all = append(all, map[string]any{"name": resourceOf(o["kind"].(string)), "kind": o["kind"]})
		}
	}
	s.write(w, map[string]any{"kind": "APIResourceList", "resources": all})
}

func (s *server) write(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.Error(err)
	}
}

func fail(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// reader returns a reader of the server.
func (s *server) reader() *cluster.Reader {
	s.Helper()
	at := httptest.NewServer(s)
	s.Cleanup(at.Close)
	file := filepath.Join(s.TempDir(), "kubeconfig")
	text := fmt.Sprintf("kind: Config\napiVersion: v1\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n", at.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	r, err := cluster.New(argocd.Cluster{Kubeconfig: file, Namespace: "argocd"}, knowledge.Default())
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func shop() object.ID {
	return object.ID{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "shop"}
}

// TestRead reads every snapshot of package live from an API server: what the reader asks for is
// enough for the same causes.
func TestRead(t *testing.T) {
	dirs, err := filepath.Glob("../testdata/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "snapshot.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			now, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# now: "), "\n")
			r := newServer(t, string(text)).reader()
			snap, err := r.Read(context.Background(), shop())
			if err != nil {
				t.Fatal(err)
			}
			snap.Now = live.Time(now)
			snap.Logs = nil
			d := live.Diagnose(snap, knowledge.Default())
			want, err := os.ReadFile(filepath.Join(dir, "want.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if first, _, _ := strings.Cut(string(want), "\n"); first != d.Headline() {
				t.Errorf("read from the API server:\n%s\nnot\n%s", d.Headline(), first)
			}
			if r.Requests > 40 {
				t.Errorf("%d requests", r.Requests)
			}
		})
	}
}

// TestClusterRole compares the ClusterRole with what is asked for.
func TestClusterRole(t *testing.T) {
	text, err := os.ReadFile("../../deploy/why/clusterrole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role, _, _ := strings.Cut(string(text), "\n---\n")
	var got rbac.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(role), &got); err != nil {
		t.Fatal(err)
	}
	granted, asked := map[string]string{}, map[string]string{"pods/log.": "get"}
	for _, rule := range got.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				granted[resource+"."+group] = strings.Join(rule.Verbs, ",")
			}
		}
	}
	for _, k := range live.Kinds {
		asked[k.Resource+"."+k.Group] = "get"
		if k.Lists {
			asked[k.Resource+"."+k.Group] = "get,list"
		}
	}
	for _, group := range live.Groups() {
		asked["*."+group] = "get,list"
	}
	for what, verbs := range asked {
		if granted[what] != verbs {
			t.Errorf("%s: granted %q, asked %q", what, granted[what], verbs)
		}
	}
	for what := range granted {
		if asked[what] == "" || strings.HasPrefix(what, "secrets.") || what == "*." || what == "*.*" {
			t.Errorf("%s is granted", what)
		}
	}
}

// TestFaults has one line for each reason that nothing can be read.
func TestFaults(t *testing.T) {
	text, err := os.ReadFile("../testdata/secret-missing/snapshot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	typo := shop()
	typo.Name = "shopp"
	elsewhere := shop()
	elsewhere.Namespace = "gitops"
	for _, c := range []struct {
		app       object.ID
		forbidden []string
		texts     []string
		want      string
	}{
		{typo, nil, []string{string(text)}, `Application shopp not found in namespace argocd; did you mean "shop"?`},
		{elsewhere, nil, []string{string(text)}, "Application shop not found in namespace gitops; fix: pass --namespace argocd"},
		{shop(), []string{"applications"}, []string{string(text)}, "this user may not get Applications in namespace argocd; fix: "},
	} {
		s := newServer(t, c.texts...)
		s.forbidden = c.forbidden
		_, err := s.reader().Read(context.Background(), c.app)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	s := newServer(t, string(text))
	s.forbidden = []string{"pods"}
	snap, err := s.reader().Read(context.Background(), shop())
	if err != nil {
		t.Fatal(err)
	}
	if d := live.Diagnose(snap, knowledge.Default()); !strings.Contains(d.String(), "not read: pods in namespace shop, which this user may not read") {
		t.Errorf("does not say what it may not read:\n%s", d)
	}
}
