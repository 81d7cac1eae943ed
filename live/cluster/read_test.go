package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	argocd "github.com/ladder-cmp/ladder/argocd/cluster"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/live"
	"github.com/ladder-cmp/ladder/live/cluster"
	"github.com/ladder-cmp/ladder/object"
)

// server is an API server with the objects of a snapshot.
type server struct {
	testing.TB
	objects   []map[string]any
	forbidden []string // resources
	requests  []string
	logs      map[string]string // by Pod and container
}

// logged is a comment with the log of a container.
var logged = regexp.MustCompile(`(?m)^# log: Pod [^/]+/(\S+ \S+) (.*)$`)

func newServer(t *testing.T, texts ...string) *server {
	t.Helper()
	s := &server{TB: t, logs: map[string]string{}}
	for _, o := range golden.Must(object.Parse("in.yaml", 1, strings.Join(texts, "\n---\n"))) {
		var item map[string]any
		if err := yaml.Unmarshal([]byte(o.Text()), &item); err != nil {
			t.Fatal(err)
		}
		s.objects = append(s.objects, item)
	}
	for _, m := range logged.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		s.logs[m[1]] = m[2]
	}
	return s
}

// resourceOf guesses a plural as the API server does.
func resourceOf(kind string) string {
	for _, k := range live.Kinds() {
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
		fmt.Fprint(w, s.logs[parts[len(parts)-2]+" "+r.URL.Query().Get("container")])
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
	text := fmt.Sprintf("kind: Config\napiVersion: v1\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n", at.URL)
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
// enough for the same causes; of a snapshot with the comment export, for the first one.
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
			d := live.Diagnose(snap, knowledge.Default())
			want, err := os.ReadFile(filepath.Join(dir, "want.txt"))
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(want), "\n")
			if isPart := strings.Contains(string(text), "\n# export: "); isPart {
				first, _, _ = strings.Cut(first, "; behind it: ")
			}
			if strings.TrimSuffix(d.Headline(), ".") != strings.TrimSuffix(first, ".") {
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
	for _, k := range live.Kinds() {
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
	d := live.Diagnose(snap, knowledge.Default())
	if !strings.Contains(d.String(), "not read: pods in namespace shop, which this user may not read") {
		t.Errorf("does not say what it may not read:\n%s", d)
	}
}

// fleet is a parent with 200 Applications of 100 objects each, all but one of which are healthy:
// its Deployment of 100 Pods cannot pull its image.
func (s *server) fleet() {
	const apps, objects = 200, 100
	bad := fmt.Sprintf("app-%d", apps-2)
	var children []any
	for i := range apps {
		name := fmt.Sprintf("app-%d", i)
		phase, health := "Succeeded", "Healthy"
		var resources, entries []any
		for k := range objects {
			kind := []string{"ConfigMap", "Service", "Pod"}[k%3]
			object := map[string]any{"version": "v1", "kind": kind, "namespace": name, "name": fmt.Sprintf("o%d", k), "status": "Synced"}
			resources = append(resources, object)
			s.put("v1", kind, name, fmt.Sprintf("o%d", k), map[string]any{},
				map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}, "")
		}
		if name == bad {
			phase, health = "Running", "Progressing"
			entries = append(entries, map[string]any{"group": "apps", "version": "v1", "kind": "Deployment", "namespace": name, "name": "web",
				"hookPhase": "Running", "syncPhase": "Sync"})
		}
		children = append(children, map[string]any{"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": "argocd",
			"name": name, "status": "Synced"})
		s.application(name, phase, health, entries, resources)
	}
	s.application("shop", "Succeeded", "Healthy", nil, children)
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a:gone"}}}}
	s.put("apps/v1", "Deployment", bad, "web", map[string]any{"replicas": objects, "template": template}, map[string]any{}, "")
	s.put("apps/v1", "ReplicaSet", bad, "web-1", map[string]any{"replicas": objects, "template": template},
		map[string]any{"replicas": objects}, "web")
	for k := range objects {
		waiting := map[string]any{"reason": "ImagePullBackOff", "message": "a:gone: not found"}
		s.put("v1", "Pod", bad, fmt.Sprintf("web-1-%d", k),
			map[string]any{"nodeName": "n", "containers": []any{map[string]any{"name": "a", "image": "a:gone"}}},
			map[string]any{"phase": "Pending", "startTime": "2026-03-02T10:00:00Z",
				"containerStatuses": []any{map[string]any{"name": "a", "state": map[string]any{"waiting": waiting}}}}, "web-1")
	}
}

// put adds an object, which the object of the name owner owns.
func (s *server) put(apiVersion, kind, namespace, name string, spec, status map[string]any, owner string) {
	meta := map[string]any{"name": name, "namespace": namespace, "uid": namespace + name}
	if owner != "" {
		meta["ownerReferences"] = []any{map[string]any{"name": owner, "uid": namespace + owner}}
	}
	s.objects = append(s.objects, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta, "spec": spec, "status": status})
}

func (s *server) application(name, phase, health string, entries, resources []any) {
	state := map[string]any{"phase": phase, "startedAt": "2026-03-02T10:00:00Z", "syncResult": map[string]any{"resources": entries}}
	s.put("argoproj.io/v1alpha1", "Application", "argocd", name, map[string]any{}, map[string]any{"health": map[string]any{"status": health},
		"sync": map[string]any{"status": "Synced"}, "operationState": state, "resources": resources}, "")
	s.objects[len(s.objects)-1]["operation"] = map[string]any{"sync": map[string]any{}}
}

// TestRequests counts what is asked of a cluster with 200 Applications and 20,000 objects.
func TestRequests(t *testing.T) {
	s := &server{TB: t}
	s.fleet()
	if len(s.objects) < 20000 {
		t.Fatalf("%d objects", len(s.objects))
	}
	r := s.reader()
	snap, err := r.Read(context.Background(), shop())
	if err != nil {
		t.Fatal(err)
	}
	d := live.Diagnose(snap, knowledge.Default())
	want := "Application argocd/app-198 hangs in Sync, wave 0; behind it: Deployment app-198/web cannot pull image a:gone"
	if !strings.Contains(d.Headline(), want) {
		t.Errorf("got %s", d)
	}
	if r.Requests > 20 || len(snap.Objects) > 1000 {
		t.Errorf("%d requests, %d objects", r.Requests, len(snap.Objects))
	}
}

// BenchmarkRead is how long an answer takes there, for somebody with an API server on the same machine.
func BenchmarkRead(b *testing.B) {
	s := &server{TB: b}
	s.fleet()
	r := s.reader()
	for b.Loop() {
		snap, err := r.Read(context.Background(), shop())
		if err != nil {
			b.Fatal(err)
		}
		live.Diagnose(snap, knowledge.Default())
	}
}

// TestNotification fills in the template for Argo CD Notifications with an Application that hangs.
func TestNotification(t *testing.T) {
	text, err := os.ReadFile("../../deploy/why/notifications.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	var message struct {
		Message string `json:"message"`
	}
	if err := yaml.Unmarshal([]byte(config.Data["template.sync-hangs"]), &message); err != nil {
		t.Fatal(err)
	}
	snapshot, err := os.ReadFile("../testdata/secret-missing/snapshot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, string(snapshot))
	var out strings.Builder
	if err := template.Must(template.New("").Parse(message.Message)).Execute(&out, map[string]any{"app": s.objects[0]}); err != nil {
		t.Fatal(err)
	}
	want := "shop syncs since 2026-03-02T10:00:00Z: waiting for healthy state of batch/Job/shop-migrate\n" +
		"- Sync: Job shop/shop-migrate job.batch/shop-migrate created\ncmp why shop -n argocd\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestLogIsGone leaves out what the kubelet says in place of the log of a container that it has removed.
func TestLogIsGone(t *testing.T) {
	text, err := os.ReadFile("../testdata/crash-loop/snapshot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, string(text))
	for container := range s.logs {
		s.logs[container] = "unable to retrieve container logs for containerd://76d2515e"
	}
	snap, err := s.reader().Read(context.Background(), shop())
	if err != nil || len(snap.Logs) > 0 {
		t.Errorf("got %v, %v", snap.Logs, err)
	}
}
