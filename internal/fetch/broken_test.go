package fetch

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestDamagedCharts has charts that no index has a digest of, and that cannot be what
// was asked for. None of them may stay in the cache, since what is mended there would
// never be asked for again.
func TestDamagedCharts(t *testing.T) {
	t.Parallel()
	good := chartArchive(t, "app", "1.0.0")
	for name, c := range map[string]struct{ sent, text string }{
		"cut off":       {string(good[:len(good)/2]), "charts.example.com returned a damaged chart of "},
		"no Chart.yaml": {string(chartArchive(t, "", "1.0.0")), "no Chart.yaml with a name; fix: check with its publisher"},
		"other name":    {string(chartArchive(t, "other", "1.0.0")), "it is the chart other 1.0.0, and not app 1.0.0"},
		"other version": {string(chartArchive(t, "app", "1.0.1")), "it is the chart app 1.0.1, and not app 1.0.0"},
	} {
		for _, version := range []string{"1.0.0", "^1"} {
			n := newInternet(t)
			now := c.sent
			n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) {
				serving(map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "app.tgz", ""}), "/app.tgz": now})(w, r)
			})
			config := Config{Allow: []string{"https://charts.example.com"}, Cache: Cache{Dir: t.TempDir()}}
			ref := chartRef("https://charts.example.com", version)
			refuse(t, n.fetcher(config), ref, "broken", c.text)
			if kept, _ := filepath.Glob(filepath.Join(config.Cache.Dir, "*", "*")); len(kept) > 0 {
				t.Errorf("%s: the cache keeps %s", name, kept)
			}
			now = string(good)
			get(t, n.fetcher(config), ref)
		}
	}
}

// TestPages has a page that says who may log in, in place of a file.
func TestPages(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	const page = "<!DOCTYPE html><html><form>log in"
	n.host("files.example.com", serving(map[string]string{"/all.yaml": page, "/index.html": page, "/a.yaml": "a: <b>"}))
	config := Config{Allow: []string{"https://files.example.com"}, Cache: Cache{Dir: t.TempDir()}}
	for range 2 {
		refuse(t, n.fetcher(config), fileRef("https://files.example.com/all.yaml"), "broken",
			"https://files.example.com/all.yaml: files.example.com returned an HTML page; fix: check the URL")
	}
	get(t, n.fetcher(config), fileRef("https://files.example.com/index.html"))
	get(t, n.fetcher(config), fileRef("https://files.example.com/a.yaml"))
}

// TestInsecureOrNot has a Secret that says neither that a certificate is to be looked
// at nor that it is not.
func TestInsecureOrNot(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/a": "content"}))
	dir := t.TempDir()
	write(t, dir+"/files.example.com/insecure", "maybe")
	config := Config{Allow: []string{"https://files.example.com"}, Credentials: Credentials{Dir: dir}}
	refuse(t, n.fetcher(config), fileRef("https://files.example.com/a"), "denied", "insecure cannot be read: it is neither true nor false")
	write(t, dir+"/files.example.com/insecure", "false\n")
	get(t, n.fetcher(config), fileRef("https://files.example.com/a"))
}

// TestPorts has two services of one host, of which one is down.
func TestPorts(t *testing.T) {
	t.Parallel()
	f := newInternet(t).fetcher(Config{Allow: []string{"https://files.example.com:8443"}, Limits: Limits{Retries: -1}})
	refuse(t, f, fileRef("https://files.example.com:8443/a"), "unreachable", "files.example.com:8443 cannot be reached")
}

// TestAnew has a version that somebody published again, under the digest that it had.
// The cache is not to hide that.
func TestAnew(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	first, now := chartArchive(t, "app", "1.0.0"), chartArchive(t, "app", "1.0.0")
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) {
		serving(map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "app.tgz", remote.Digest(first)}),
			"/app.tgz": string(now)})(w, r)
	})
	f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}, Cache: Cache{Dir: t.TempDir()}})
	ref := chartRef("https://charts.example.com", "1.0.0")
	get(t, f, ref)
	now = append(now, 0)
	refuse(t, f.Uncached(), ref, "broken", "has the digest "+remote.Digest(now)+", but the index says "+remote.Digest(first))
	refuse(t, f.Pinned(func(remote.Ref) string { return remote.Digest(first) }), ref, "broken", "has the digest "+remote.Digest(now))
}

// TestNoDigests has an index whose digests are none: what is written there is not to
// be passed over as if nothing was.
func TestNoDigests(t *testing.T) {
	t.Parallel()
	for _, digest := range []string{"xx", "sha512:abc", "sha256:", "sha256:zz"} {
		n := newInternet(t)
		index := "apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, urls: [app.tgz], digest: \"" + digest + "\"}]}"
		n.host("charts.example.com", serving(map[string]string{"/index.yaml": index, "/app.tgz": string(chartArchive(t, "app", "1.0.0"))}))
		refuse(t, n.fetcher(Config{Allow: []string{"https://charts.example.com"}}), chartRef("https://charts.example.com", "1.0.0"), "broken",
			"the index of charts.example.com has an invalid digest \""+digest+"\" of app 1.0.0")
	}
}

// TestDamagedInCache has a chart in the cache that was damaged before it came there,
// under all the names that it has.
func TestDamagedInCache(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("charts.example.com", serving(repository(t, "1.0.0")))
	config := Config{Allow: []string{"https://charts.example.com"}, Cache: Cache{Dir: t.TempDir()}, TTL: time.Hour}
	exact, ranged := chartRef("https://charts.example.com/stable", "1.0.0"), chartRef("https://charts.example.com/stable", "^1")
	half := chartArchive(t, "app", "1.0.0")[:100]
	store := n.fetcher(config).store
	for _, ref := range []remote.Ref{exact, ranged} {
		store.put("", ref, remote.Content{Version: "1.0.0", Digest: remote.Digest(half), Data: half}, time.Now())
	}
	for _, ref := range []remote.Ref{ranged, exact, ranged} {
		if got := get(t, n.fetcher(config), ref); len(got.Data) == len(half) {
			t.Errorf("%s is half a chart", ref)
		}
	}
	if got := len(n.asked("charts.example.com")); got != 2 {
		t.Errorf("%d requests, want the index and the chart", got)
	}
}
