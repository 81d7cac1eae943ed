package fetch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// registryOf answers as a registry does that has one chart, as far as fetching
// asks. The real one is asked in conformance/sources.
type registryOf struct {
	chart    []byte
	manifest []byte
	blobs    http.HandlerFunc
	enter    func(http.ResponseWriter, *http.Request) bool
}

func newRegistry(t *testing.T, layer, config string) *registryOf {
	return registryWith(t, layer, config, chartArchive(t, "app", "1.0.0"))
}

func registryWith(t *testing.T, layer, config string, chart []byte) *registryOf {
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": map[string]any{"mediaType": config, "digest": remote.Digest([]byte("{}")), "size": 2},
		"layers": []any{map[string]any{"mediaType": layer, "digest": remote.Digest(chart), "size": len(chart)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &registryOf{chart: chart, manifest: manifest}
}

const chartLayer, chartConfig = "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/vnd.cncf.helm.config.v1+json"

func (g *registryOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.enter != nil && !g.enter(w, r) {
		return
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/tags/list"):
		_, _ = io.WriteString(w, `{"name": "charts/app", "tags": ["latest", "0.9.0", "1.0.0", "1.1.0-rc.1"]}`)
	case strings.Contains(path, "/manifests/"):
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		w.Header().Set("Content-Length", fmt.Sprint(len(g.manifest)))
		w.Header().Set("Docker-Content-Digest", remote.Digest(g.manifest))
		_, _ = w.Write(g.manifest)
	case strings.Contains(path, "/blobs/") && g.blobs != nil:
		g.blobs(w, r)
	case strings.Contains(path, "/blobs/"):
		_, _ = w.Write(g.chart)
	default:
		http.NotFound(w, r)
	}
}

// bearer lets those in who have the token that the realm grants.
func bearer(realm string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/token") {
			_, _ = io.WriteString(w, `{"token": "granted"}`)
			return false
		}
		if r.Header.Get("Authorization") == "Bearer granted" {
			return true
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`",service="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
}

// registryTest is a registry that was changed, and the error that it leads to.
type registryTest struct {
	change        func(*registryOf)
	anonymous     bool
	outcome, text string
}

func registryTests(t *testing.T) map[string]registryTest {
	return map[string]registryTest{
		"plain":      {func(*registryOf) {}, false, "", ""},
		"own tokens": {func(g *registryOf) { g.enter = bearer("https://registry.example.com/token") }, false, "", ""},
		"tokens elsewhere": {func(g *registryOf) { g.enter = bearer("https://evil.example.net/token") }, false, "not-allowed",
			"requests that the credentials be sent to evil.example.net; fix: add that address to the allow-list if it issues"},
		"free tokens":       {func(g *registryOf) { g.enter = bearer("https://evil.example.net/token") }, true, "", ""},
		"tokens of an ally": {func(g *registryOf) { g.enter = bearer("https://tokens.example.org/token") }, false, "", ""},
		"tokens inside":     {func(g *registryOf) { g.enter = bearer("https://169.254.169.254/token") }, true, "broken", "link-local"},
		"tokens by name":    {func(g *registryOf) { g.enter = bearer("https://localhost/token") }, true, "not-allowed", "localhost leads to"},
		"tokens in plain":   {func(g *registryOf) { g.enter = bearer("http://registry.example.com/token") }, false, "broken", "http"},
		"layers elsewhere": {func(g *registryOf) {
			g.blobs = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://evil.example.net/layer", http.StatusTemporaryRedirect)
			}
		}, false, "", ""},
		"layers inside": {func(g *registryOf) {
			g.blobs = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://169.254.169.254/layer", http.StatusTemporaryRedirect)
			}
		}, false, "not-allowed", "metadata"},
		"other layer": {func(g *registryOf) { g.chart = bytes.ToUpper(g.chart) }, false, "broken", "mismatch"},
		"short layer": {func(g *registryOf) { g.chart = g.chart[:10] }, false, "broken", "registry.example.com"},
		"an image": {func(g *registryOf) {
			*g = *newRegistry(t, "application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.oci.image.config.v1+json")
		}, false, "broken", "something other than a chart: application/vnd.oci.image.config.v1+json"},
		"another chart": {func(g *registryOf) { *g = *registryWith(t, chartLayer, chartConfig, chartArchive(t, "other", "1.0.0")) }, false,
			"broken", "the chart in registry.example.com is not the requested one: it is the chart other 1.0.0, and not app 1.0.0"},
		"another version": {func(g *registryOf) { *g = *registryWith(t, chartLayer, chartConfig, chartArchive(t, "app", "2.0.0")) }, false,
			"broken", "it is the chart app 2.0.0, and not app 1.0.0"},
		"no manifest": {func(g *registryOf) { g.manifest = []byte("<html>") }, false, "broken", "registry.example.com"},
		"much": {func(g *registryOf) {
			*g = *newRegistry(t, chartLayer, chartConfig)
			g.chart = nil
			g.manifest = bytes.Replace(g.manifest, []byte(`"size":`), []byte(`"size":9999999`), -1)
		}, false, "too-large", "more than 100000"},
		"old layer": {func(g *registryOf) { *g = *newRegistry(t, "application/tar+gzip", chartConfig) }, false, "", ""},
		"out of order": {func(g *registryOf) { g.blobs = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) } }, false,
			"unreachable", "returned status 502"},
		"breaks off": {func(g *registryOf) {
			g.blobs = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(g.chart)))
				_, _ = w.Write(g.chart[:10])
			}
		}, false, "unreachable", "was cut off"},
	}
}

// TestRegistry has what a registry can do to who asks it.
func TestRegistry(t *testing.T) {
	t.Parallel()
	ref := remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "^1"}
	for name, c := range registryTests(t) {
		t.Run(name, func(t *testing.T) {
			n := newInternet(t)
			g := newRegistry(t, chartLayer, chartConfig)
			c.change(g)
			n.host("registry.example.com", g.ServeHTTP)
			n.host("evil.example.net", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/token" {
					_, _ = io.WriteString(w, `{"token": "granted"}`)
					return
				}
				_, _ = w.Write(g.chart)
			})
			n.host("tokens.example.org", func(w http.ResponseWriter, r *http.Request) {
				if user, password, _ := r.BasicAuth(); user == "user" && password == "hunter2" {
					_, _ = io.WriteString(w, `{"token": "granted"}`)
				}
			})
			dir := t.TempDir()
			if !c.anonymous {
				write(t, dir+"/registry.example.com/username", "user")
				write(t, dir+"/registry.example.com/password", "hunter2")
			}
			f := n.fetcher(Config{Allow: []string{"oci://registry.example.com/charts", "https://tokens.example.org"},
				Credentials: Credentials{Dir: dir}, Limits: Limits{Bytes: 100_000}})
			if c.outcome != "" {
				refuse(t, f, ref, c.outcome, c.text)
			} else if got := get(t, f, ref); got.Version != "1.0.0" || !bytes.Equal(got.Data, g.chart) {
				t.Errorf("version %s", got.Version)
			}
			for _, r := range n.asked("evil.example.net") {
				if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
					t.Errorf("it is told %v", r.Header)
				}
			}
		})
	}
}

// TestChartsByDigest names the manifest.
func TestChartsByDigest(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	g := newRegistry(t, chartLayer, chartConfig)
	n.host("registry.example.com", g.ServeHTTP)
	f := n.fetcher(Config{Allow: []string{"oci://registry.example.com/charts"}})
	ref := remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app"}
	for _, ref.Version = range []string{remote.Digest(g.manifest), "1.0.0@" + remote.Digest(g.manifest)} {
		get(t, f, ref)
	}
	ref.Version = remote.Digest([]byte("another"))
	refuse(t, f, ref, "broken", "registry.example.com")
	ref.Version = ">=3"
	refuse(t, f, ref, "missing", "has no version of app that fits; it has 1.1.0-rc.1, 1.0.0, 0.9.0")
}

// TestChartInRegistryOfIndex has an index whose charts are in a registry.
func TestChartInRegistryOfIndex(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	g := newRegistry(t, chartLayer, chartConfig)
	n.host("registry.example.com", g.ServeHTTP)
	digest := remote.Digest(g.manifest)
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) {
		serving(map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "oci://registry.example.com/charts/app:1.0.0", digest})})(w, r)
	})
	refuse(t, n.fetcher(Config{Allow: []string{"https://charts.example.com"}}), chartRef("https://charts.example.com", ""), "not-allowed",
		"has the chart at oci://registry.example.com/charts/app:1.0.0, which is not allowed; fix: add that address, or what")
	both := Config{Allow: []string{"https://charts.example.com", "oci://registry.example.com/charts"}}
	for _, digest = range []string{remote.Digest(g.manifest), remote.Digest(g.chart), ""} {
		got := get(t, n.fetcher(both), chartRef("https://charts.example.com", "^1"))
		if got.Version != "1.0.0" || !bytes.Equal(got.Data, g.chart) {
			t.Error(got.Version)
		}
	}
	digest = remote.Digest([]byte("other"))
	refuse(t, n.fetcher(both), chartRef("https://charts.example.com", ""), "broken", "but the index says")
}

// TestTokensMoved has a registry whose token service redirects what it was sent,
// body and all, to a host that is allowed for what it has.
func TestTokensMoved(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	g := newRegistry(t, chartLayer, chartConfig)
	g.enter = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			http.Redirect(w, r, "https://other.example.com/token", http.StatusTemporaryRedirect)
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://registry.example.com/token",service="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	n.host("registry.example.com", g.ServeHTTP)
	n.host("other.example.com", http.NotFound)
	dir := t.TempDir()
	write(t, dir+"/config.json", `{"auths": {"registry.example.com": {"identitytoken": "hunter2"}}}`)
	f := n.fetcher(Config{Allow: []string{"oci://registry.example.com", "https://other.example.com"},
		Credentials: Credentials{DockerConfig: dir + "/config.json"}})
	refuse(t, f, remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "1.0.0"}, "not-allowed",
		"redirects credentials to other.example.com")
	if len(n.asked("registry.example.com")) != 2 || len(n.asked("other.example.com")) != 0 {
		t.Error("the token went elsewhere, or to nobody")
	}
}

// TestTokensStay has a registry that redirects to a host below its own, which the
// client of Go takes for the same.
func TestTokensStay(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	g := newRegistry(t, chartLayer, chartConfig)
	g.enter = func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "user" && password == "hunter2" {
			return true
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	g.blobs = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://cdn.registry.example.com/layer", http.StatusTemporaryRedirect)
	}
	n.host("registry.example.com", g.ServeHTTP)
	n.host("cdn.registry.example.com", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(g.chart) })
	dir := t.TempDir()
	write(t, dir+"/registry.example.com/username", "user")
	write(t, dir+"/registry.example.com/password", "hunter2")
	f := n.fetcher(Config{Allow: []string{"oci://registry.example.com/charts"}, Credentials: Credentials{Dir: dir}})
	get(t, f, remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/charts", Chart: "app", Version: "1.0.0"})
	asked := n.asked("cdn.registry.example.com")
	if len(asked) != 1 || asked[0].Header.Get("Authorization") != "" {
		t.Errorf("%d requests, and it is told too much", len(asked))
	}
}

// TestCredentialOfOneRegistry: no other host gets what opens a registry, whichever
// the registry's client asks for.
func TestCredentialOfOneRegistry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/registry.example.com/username", "user")
	write(t, dir+"/registry.example.com/password", "hunter2")
	f := newInternet(t).fetcher(Config{Allow: []string{"oci://registry.example.com"}, Credentials: Credentials{Dir: dir}})
	at, err := url.Parse("oci://registry.example.com/charts/app")
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.begin(t.Context(), remote.Ref{Kind: remote.Chart}, at)
	if err != nil {
		t.Fatal(err)
	}
	repository, err := e.repository("charts/app")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"registry.example.com": "hunter2", "other.example.com": "", "cdn.registry.example.com": ""} {
		got, err := repository.Client.(*auth.Client).Credential(t.Context(), host)
		if err != nil || got.Password != want {
			t.Errorf("%s gets %q, %v", host, got.Password, err)
		}
	}
}
