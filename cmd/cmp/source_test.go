package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// TestServeFetches: workers have no network, and render what the server fetches for
// them. A vendored component needs nobody.
func TestServeFetches(t *testing.T) {
	charts := t.TempDir()
	write(t, charts, map[string]string{
		"redis-17.1.0/Chart.yaml":        "{apiVersion: v2, name: redis, version: 17.1.0}",
		"redis-17.1.0/templates/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: redis}}",
	})
	repository := httptest.NewServer(chartRepository(charts))
	defer repository.Close()
	host := strings.TrimPrefix(repository.URL, "http://")
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"shop/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0, dependencies: [{name: redis, version: 17.1.0, repository: '" +
			repository.URL + "'}]}",
		"shop/templates/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop}}",
		"cache/component.yaml":   "chart: {repoURL: '" + repository.URL + "', chart: redis, version: ~17.1}",
		".git/HEAD":              "",
	})
	ask := func(s *served, path string) (string, error) {
		t.Helper()
		archive, err := sidecartest.Pack(dir)
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: archive, Dir: path, Env: map[string]string{"ARGOCD_APP_NAME": path}})
		return strings.Join(out, "\n"), err
	}
	refused := startServe(t, "LADDER_SERVE_ALLOW_REMOTE="+repository.URL, "LADDER_SERVE_REMOTE_PLAIN_HTTP="+host)
	if out, err := ask(refused, "shop"); err == nil || !strings.Contains(err.Error(), "add the host to --allow-private if this is intended") {
		t.Errorf("what is on this machine was fetched: %v\n%s", err, out)
	}
	allowed := startServe(t, "LADDER_SERVE_ALLOW_REMOTE="+repository.URL, "LADDER_SERVE_REMOTE_PLAIN_HTTP="+host,
		"LADDER_SERVE_ALLOW_PRIVATE=127.0.0.1")
	for path, want := range map[string]int{"shop": 2, "cache": 1} {
		out, err := ask(allowed, path)
		if err != nil || strings.Count(out, "kind: ConfigMap") != want || !strings.Contains(out, "name: redis") {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	if got := allowed.get(t, "/metrics"); !strings.Contains(got, `ladder_stage_seconds_count{stage="fetch"}`) {
		t.Error("nothing is measured of what is fetched")
	}
	closed := startServe(t)
	if out, err := ask(closed, "shop"); err == nil || !strings.Contains(err.Error(), "cmp vendor") {
		t.Errorf("what nobody allows was fetched, or nobody says what helps: %v\n%s", err, out)
	}
	code := run([]string{"vendor", filepath.Join(dir, "shop"), filepath.Join(dir, "cache"), "--allow-remote", repository.URL,
		"--allow-private", "127.0.0.1", "--remote-plain-http", host, "--remote-cache", ""}, cli.Streams{Out: t.Output(), Err: t.Output()})
	if code != exitOK {
		t.Fatalf("cmp vendor exits with %d", code)
	}
	repository.Close()
	for _, path := range []string{"shop", "cache"} {
		if out, err := ask(closed, path); err != nil || !strings.Contains(out, "name: redis") {
			t.Errorf("%s, vendored: %v\n%s", path, err, out)
		}
	}
}

// TestProjectsFetch: what one AppProject may fetch with its own credentials, no other
// one gets, neither from its source nor from the cache; and what is allowed to a project
// without credentials of its own is not sent those of another.
func TestProjectsFetch(t *testing.T) {
	var auth []string
	var mu sync.Mutex
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		auth = append(auth, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer of-blue" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "{apiVersion: v1, kind: ConfigMap, metadata: {name: secret-of-blue}}")
	}))
	defer private.Close()
	host := strings.TrimPrefix(private.URL, "http://")
	projects, dir := t.TempDir(), t.TempDir()
	write(t, projects, map[string]string{
		"blue/allow": "# of team blue\n" + private.URL + "/blue\n", "blue/registry/url": private.URL, "blue/registry/token": "of-blue",
		"red/allow": private.URL + "/blue\n", "broken/allow": "ftp://example.com\n",
	})
	write(t, dir, map[string]string{"app/kustomization.yaml": "resources: ['" + private.URL + "/blue/a.yaml']", ".git/HEAD": ""})
	s := startServe(t, "LADDER_SERVE_REMOTE_PROJECTS="+projects, "LADDER_SERVE_REMOTE_PLAIN_HTTP="+host,
		"LADDER_SERVE_ALLOW_PRIVATE=127.0.0.1", "LADDER_SERVE_REMOTE_CACHE="+t.TempDir())
	ask := func(project string) (string, error) {
		archive, err := sidecartest.Pack(dir)
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: archive, Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "app", "ARGOCD_APP_PROJECT_NAME": project}})
		return strings.Join(out, "\n"), err
	}
	for range 2 {
		if out, err := ask("blue"); err != nil || !strings.Contains(out, "secret-of-blue") {
			t.Fatalf("%v\n%s", err, out)
		}
		for project, want := range map[string]string{"red": "refuses access (401)", "green": "is not fetched, because the allow-list is empty",
			"": "is not", "../blue": "is not", "blue/../blue": "is not", "broken": "neither https"} {
			if out, err := ask(project); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v\n%s", project, err, out)
			}
		}
	}
	write(t, projects, map[string]string{"blue/allow": "https://elsewhere.example.com"})
	if out, err := ask("blue"); err == nil {
		t.Errorf("what is no longer allowed is given again: %s", out)
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
