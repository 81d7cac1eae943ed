package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The major versions of React in the supported versions of Argo CD, as their lock files name
// them: 16 up to 3.4, 19 since 3.5.
var reacts = []string{"16.14.0", "19.2.6"}

// react is a script that sets the globals React and ReactDOM, as Argo CD's bundle does. The
// development builds also say on the console what a component does wrong.
func react(t *testing.T, version string) string {
	t.Helper()
	dir := filepath.Join(installed, version)
	if _, err := os.Stat(dir); err != nil {
		fromNPMTo(t, dir, "react@"+version, "react-dom@"+version)
	}
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(dir, "node_modules", file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// Otherwise, React advertises its developer tools on the console.
	const quiet = "window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = { isDisabled: true };\n"
	if strings.HasPrefix(version, "16.") {
		return quiet + read("react/umd/react.development.js") + ";\n" + read("react-dom/umd/react-dom.development.js")
	}
	script := quiet + "window.process = { env: {} };\nconst modules = {}, require = (name) => modules[name];\n"
	for _, m := range [][2]string{{"react", "react/cjs/react.development.js"}, {"scheduler", "scheduler/cjs/scheduler.development.js"},
		{"react-dom", "react-dom/cjs/react-dom.development.js"}, {"client", "react-dom/cjs/react-dom-client.development.js"}} {
		script += fmt.Sprintf("(function (exports) { %s\nmodules[%q] = exports; })({});\n", read(m[1]), m[0])
	}
	return script + `window.React = modules.react; window.ReactDOM = { ...modules["react-dom"], ...modules.client };`
}

// argocd is a page of Argo CD with the extension, and the part of its API that a user may call.
type argocd struct {
	Application map[string]any   `json:"application"`
	Tree        map[string]any   `json:"tree"`
	Managed     []map[string]any `json:"-"` // the items of managed-resources
	Manifests   []string         `json:"-"`
	Events      map[string]any   `json:"-"` // by name of the object
	Live        map[string]any   `json:"-"` // live manifests, by name
	// Forbidden are paths of the API that the user may not read.
	Forbidden []string `json:"-"`

	theme, react string
	mu           sync.Mutex
	asked        []string
}

// base is where Argo CD is with --rootpath.
const base = "/argocd/"

// page serves the page, and opens it.
func (a *argocd) page(t *testing.T, s screen) *tab {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, "deploy", "ui-extension", "extension-ladder.js"))
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.ReadFile("testdata/extension/host.js")
	if err != nil {
		t.Fatal(err)
	}
	at, err := json.Marshal(a) // escapes "<"
	if err != nil {
		t.Fatal(err)
	}
	// Argo CD 3.5 wraps each file; while a ConfigMap is updated, the server can serve it twice.
	wrapped := "// source: extension-ladder.js \ntry {\n" + string(script) +
		"\n} catch(e) { console.error('Extension failed to load:', e); }\n"
	files := map[string]string{
		base + "react.js": react(t, cmp.Or(a.react, reacts[1])), base + "host.js": string(host), base + "extensions.js": wrapped + string(script),
		base + "applications/argocd/shop": `<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><title>Argo CD</title><base href="` +
			base + `">
<link rel="icon" href="data:image/svg+xml,"><style>body { margin: 0; font-family: sans-serif } .application-status-panel__item { padding: 8px 20px } .theme-dark { background: #100f0f; color: #fff } .unseen { font-size: 1px }</style></head><body><div id="app"></div>
<script src="react.js"></script><script src="host.js"></script><script src="extensions.js"></script><script>start("` +
			cmp.Or(a.theme, "light") + `", ` + string(at) + `)</script></body></html>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := files[r.URL.Path]; ok {
			if strings.HasSuffix(r.URL.Path, ".js") {
				w.Header().Set("Content-Type", "application/javascript")
			}
			fmt.Fprint(w, text)
			return
		}
		a.serve(w, r)
	}))
	t.Cleanup(server.Close)
	return open(t, server.URL+base, "applications/argocd/shop", s)
}

// serve answers as the API server does.
func (a *argocd) serve(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, base+"api/v1/applications/shop/")
	query := r.URL.Query()
	a.mu.Lock()
	a.asked = append(a.asked, path)
	a.mu.Unlock()
	if !ok || r.Method != http.MethodGet || query.Get("appNamespace") != "argocd" || query.Get("project") != "default" {
		http.Error(w, "the extension asks for "+r.URL.String(), http.StatusBadRequest)
		return
	}
	for _, forbidden := range a.Forbidden {
		if path == forbidden {
			http.Error(w, "permission denied", http.StatusForbidden)
			return
		}
	}
	var answer any
	switch path {
	case "managed-resources":
		answer = map[string]any{"items": a.Managed}
	case "manifests":
		answer = map[string]any{"manifests": a.Manifests}
	case "events":
		answer = a.Events[query.Get("resourceName")]
	case "resource":
		live, err := json.Marshal(a.Live[query.Get("resourceName")])
		if err != nil || !query.Has("group") || query.Get("version") == "" {
			http.Error(w, "incomplete", http.StatusBadRequest)
			return
		}
		answer = map[string]any{"manifest": string(live)}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a page that is gone
}

// explained is an object as cmp explain lists it.
type explained struct {
	Group, Kind, Namespace, Name, Why string
	Wave                              *int
}

// explain returns the objects of a component that have a wave, with Ladder's reasons.
func explain(t *testing.T, component string) []explained {
	t.Helper()
	cmd := exec.Command(program, "explain", component, "-o", "json", "-q")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Objects []explained }
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	var all []explained
	for _, o := range list.Objects {
		if o.Wave != nil {
			all = append(all, o)
		}
	}
	return all
}

// synced is an Application while its sync waits in a wave: the objects of earlier waves are
// healthy, and those of this wave are applied.
func synced(objects []explained, at int) *argocd {
	a := &argocd{Events: map[string]any{}, Live: map[string]any{}}
	var resources, entries, nodes []any
	for i, o := range objects {
		wave := *o.Wave
		resource := map[string]any{"group": o.Group, "version": "v1", "kind": o.Kind, "namespace": o.Namespace, "name": o.Name,
			"status": "OutOfSync", "health": map[string]any{"status": "Missing"}}
		if wave != 0 {
			resource["syncWave"] = wave
		}
		if wave <= at {
			health, phase := map[string]any{"status": "Healthy"}, "Succeeded"
			if wave == at {
				health, phase = map[string]any{"status": "Progressing", "message": "Pods run"}, "Running"
			}
			resource["status"], resource["health"] = "Synced", health
			entries = append(entries, map[string]any{"group": o.Group, "version": "v1", "kind": o.Kind, "namespace": o.Namespace, "name": o.Name,
				"status": "Synced", "syncPhase": "Sync", "hookPhase": phase, "message": o.Kind + "/" + o.Name + " created"})
			nodes = append(nodes, map[string]any{"group": o.Group, "version": "v1", "kind": o.Kind, "namespace": o.Namespace, "name": o.Name,
				"uid": fmt.Sprint("uid-", i), "health": health})
		}
		resources = append(resources, resource)
		target, _ := json.Marshal(map[string]any{"apiVersion": strings.TrimPrefix(o.Group+"/v1", "/"), "kind": o.Kind, "metadata": map[string]any{
			"name": o.Name, "namespace": o.Namespace,
			"annotations": map[string]any{"argocd.argoproj.io/sync-wave": fmt.Sprint(wave), "ladder-cmp.github.io/why": o.Why}}})
		a.Managed = append(a.Managed,
			map[string]any{"group": o.Group, "kind": o.Kind, "namespace": o.Namespace, "name": o.Name, "targetState": string(target)})
	}
	a.Tree = map[string]any{"nodes": nodes}
	a.Application = map[string]any{
		"metadata": map[string]any{"name": "shop", "namespace": "argocd"},
		"spec":     map[string]any{"project": "default", "destination": map[string]any{"namespace": "default"}},
		"status": map[string]any{
			"sync": map[string]any{"status": "OutOfSync", "revision": "aaaaaaaa11111111"}, "health": map[string]any{"status": "Progressing"},
			"resources": resources,
			"operationState": map[string]any{"phase": "Running", "message": "waiting for healthy state of batch/Job/shop-migrate",
				"startedAt":  "2026-03-01T10:00:00Z",
				"operation":  map[string]any{"sync": map[string]any{"revision": "aaaaaaaa11111111"}},
				"syncResult": map[string]any{"revision": "aaaaaaaa11111111", "resources": entries}},
		},
		"operation": map[string]any{"sync": map[string]any{}},
	}
	return a
}

// recorded is an Application with what Argo CD's API answered about it.
func recorded(t *testing.T, file string) *argocd {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "extension", file))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Application, Tree, Live map[string]any
		Managed                 []map[string]any
		Manifests               []string
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return &argocd{Application: r.Application, Tree: r.Tree, Managed: r.Managed, Manifests: r.Manifests, Live: r.Live}
}

// operation is the state of the last sync.
func (a *argocd) operation() map[string]any {
	return a.Application["status"].(map[string]any)["operationState"].(map[string]any)
}

// entry is the result of an object in the last sync, and resource its place in the status.
func (a *argocd) entry(name string) map[string]any {
	return named(a.operation()["syncResult"].(map[string]any)["resources"], name)
}

func (a *argocd) resource(name string) map[string]any {
	return named(a.Application["status"].(map[string]any)["resources"], name)
}

func named(list any, name string) map[string]any {
	for _, one := range list.([]any) {
		if m := one.(map[string]any); m["name"] == name {
			return m
		}
	}
	panic("nothing is called " + name)
}

// hook adds a hook to the result of the sync, which the status does not list.
func (a *argocd) hook(name, phase, state string) {
	result := a.operation()["syncResult"].(map[string]any)
	result["resources"] = append(result["resources"].([]any), map[string]any{"group": "batch", "version": "v1", "kind": "Job",
		"namespace": "default", "name": name, "hookType": phase, "syncPhase": phase, "hookPhase": state})
}

// finish ends all that the sync waits for.
func finish(a *argocd) {
	for _, entry := range a.operation()["syncResult"].(map[string]any)["resources"].([]any) {
		entry.(map[string]any)["hookPhase"] = "Succeeded"
	}
}

// with is an object with more fields.
func with(o, more map[string]any) map[string]any {
	all := maps.Clone(o)
	maps.Copy(all, more)
	return all
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// forget drops what was written to the console of a page, after a fault that is wanted.
func (p *tab) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logged = nil
}
