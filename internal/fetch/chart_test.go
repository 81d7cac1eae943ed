package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/internal/remote"
)

func chartRef(url, version string) remote.Ref {
	return remote.Ref{Kind: remote.Chart, URL: url, Chart: "app", Version: version}
}

// repository is a chart repository with a few versions, by relative addresses.
func repository(t *testing.T, versions ...string) map[string]string {
	all := map[string]string{}
	var releases []release
	for _, v := range versions {
		data := chartArchive(t, "app", v)
		all["/stable/app-"+v+".tgz"] = string(data)
		releases = append(releases, release{v, "app-" + v + ".tgz", remote.Digest(data)})
	}
	all["/stable/index.yaml"] = indexOf("app", releases...)
	return all
}

func TestVersionsOfCharts(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("charts.example.com",
		serving(repository(t, "0.9.0", "1.0.0", "1.2.0", "1.2.3", "1.10.0", "2.0.0-rc.1", "v3.0.0", "3.1.0+build.5", "not-semver")))
	f := n.fetcher(Config{Allow: []string{"https://charts.example.com/stable"}})
	for asked, want := range map[string]string{
		"":              "3.1.0+build.5",
		"*":             "3.1.0+build.5",
		"1.2.3":         "1.2.3",
		"^1":            "1.10.0",
		"~1.2":          "1.2.3",
		"1.2":           "1.2.3",
		"1.x.x":         "1.10.0",
		">=1.0.0 <1.10": "1.2.3",
		"<1 || >=3":     "3.1.0+build.5",
		">=2.0.0-0 <3":  "2.0.0-rc.1",
		"v3.0.0":        "v3.0.0",
		"3.0.0":         "v3.0.0",
		"3.1.0":         "3.1.0+build.5",
		"3.1.0+build.5": "3.1.0+build.5",
		"not-semver":    "not-semver",
	} {
		ref := chartRef("https://charts.example.com/stable/", asked)
		content, err := f.Fetch(t.Context(), ref)
		if asked == "not-semver" { // as Helm: the constraint is read first
			if err == nil {
				t.Errorf("%q is taken", asked)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", asked, err)
			continue
		}
		if content.Version != want || !bytes.Equal(content.Data, chartArchive(t, "app", want)) {
			t.Errorf("%q: version %s, want %s", asked, content.Version, want)
		}
	}
	refuse(t, f, chartRef("https://charts.example.com/stable", "^7"), "missing", "it has 3.1.0+build.5")
	refuse(t, f, chartRef("https://charts.example.com/stable", "seven"), "bad-ref", `"seven" is neither a version nor a range`)
	refuse(t, f, remote.Ref{Kind: remote.Chart, URL: "https://charts.example.com/stable", Chart: "other"}, "missing", "has no chart other")
	if n := len(n.asked("charts.example.com")); n > 40 {
		t.Errorf("%d requests: the index is read again and again", n)
	}
}

// TestNewerThanTheIndex asks for a version that came after the index was read.
func TestNewerThanTheIndex(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	all := repository(t, "1.0.0")
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) { serving(all)(w, r) })
	f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}})
	get(t, f, chartRef("https://charts.example.com/stable", "1.0.0"))
	all = repository(t, "1.0.0", "1.0.1")
	if got := get(t, f, chartRef("https://charts.example.com/stable", "1.0.1")); got.Version != "1.0.1" {
		t.Error(got.Version)
	}
	if got := get(t, f, chartRef("https://charts.example.com/stable", "1.x")); got.Version != "1.0.1" {
		t.Error(got.Version)
	}
}

// TestQueryOfRepository keeps a query, such as a ref, on all that is below it.
func TestQueryOfRepository(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("charts.example.com", serving(repository(t, "1.0.0")))
	f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}})
	get(t, f, chartRef("https://charts.example.com/stable?ref=main", "1.0.0"))
	for _, r := range n.asked("charts.example.com") {
		if r.URL.RawQuery != "ref=main" {
			t.Errorf("%s has lost its query", r.URL)
		}
	}
}

// TestChartOnOtherHosts has indexes whose charts are at other hosts.
func TestChartOnOtherHosts(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	data := chartArchive(t, "app", "1.0.0")
	entry := release{"1.0.0", "https://storage.example.net/a/app-1.0.0.tgz", remote.Digest(data)}
	index := indexOf("app", entry)
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) {
		serving(map[string]string{"/index.yaml": index, "/private/index.yaml": index, "/other/app.tgz": string(data)})(w, r)
	})
	n.host("storage.example.net", serving(map[string]string{"/a/app-1.0.0.tgz": string(data)}))
	dir := t.TempDir()
	write(t, dir+"/charts.example.com/username", "user")
	write(t, dir+"/charts.example.com/password", "hunter2")
	fresh := func(allow ...string) *Fetcher {
		return n.fetcher(Config{Allow: allow, Credentials: Credentials{Dir: dir}})
	}
	ref := chartRef("https://charts.example.com", "1.0.0")

	// With the digest of an allowed index, whoever sends it.
	get(t, fresh("https://charts.example.com"), ref)
	for _, r := range n.asked("storage.example.net") {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("credentials of another host: %v", r.Header)
		}
	}
	for _, r := range n.asked("charts.example.com") {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "hunter2" {
			t.Errorf("%s without credentials", r.URL)
		}
	}

	entry.digest = ""
	index = indexOf("app", entry)
	refuse(t, fresh("https://charts.example.com"), ref, "not-allowed", "storage.example.net/a/app-1.0.0.tgz without a digest")
	get(t, fresh("https://charts.example.com", "https://storage.example.net/a"), ref)

	// On the same host, but not below what is allowed.
	entry.url = "https://charts.example.com/other/app.tgz"
	index = indexOf("app", entry)
	refuse(t, fresh("https://charts.example.com/private"), chartRef("https://charts.example.com/private", "1.0.0"),
		"not-allowed", "/other/app.tgz")

	entry.url, entry.digest = "http://storage.example.net/a/app-1.0.0.tgz", remote.Digest(data)
	index = indexOf("app", entry)
	refuse(t, fresh("https://charts.example.com"), ref, "not-allowed", "without TLS")

	entry.url = "https://169.254.169.254/latest/meta-data"
	index = indexOf("app", entry)
	refuse(t, fresh("https://charts.example.com"), ref, "not-allowed", "such as that of a cloud's metadata service")

	entry.url = "https://localhost/app.tgz"
	index = indexOf("app", entry)
	refuse(t, fresh("https://charts.example.com"), ref, "not-allowed", "the loopback of this machine")

	entry.url = "file:///etc/passwd"
	index = indexOf("app", entry)
	refuse(t, fresh("https://charts.example.com"), ref, "not-allowed", "the index of charts.example.com for app 1.0.0 is not a URL")
}

// TestWrongCharts has what a repository can send in place of a chart.
func TestWrongCharts(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	good := chartArchive(t, "app", "1.0.0")
	var all map[string]string
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) { serving(all)(w, r) })
	for name, c := range map[string]struct {
		index, chart  string
		outcome, text string
	}{
		"digest": {indexOf("app", release{"1.0.0", "app.tgz", remote.Digest([]byte("other"))}), string(good), "broken",
			"but the index says sha256:"},
		"page": {indexOf("app", release{"1.0.0", "app.tgz", ""}), "<html>log in</html>", "broken",
			"something other than a packaged chart (an HTML page)"},
		"empty": {indexOf("app", release{"1.0.0", "app.tgz", ""}), "", "broken", "something other than a packaged chart (empty)"},
		"cut off": {indexOf("app", release{"1.0.0", "app.tgz", ""}), string(good[:20]), "broken",
			"returned a damaged chart of 20 bytes: unexpected EOF"},
		"no index": {"<!DOCTYPE html><p>log in", "", "broken",
			"the index of charts.example.com cannot be read (an HTML page): must be a mapping, not a string"},
		"no api":    {"entries: {}", "", "broken", "it has no apiVersion"},
		"no yaml":   {"a: [", "", "broken", "cannot be read"},
		"no urls":   {"apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0}]}", "", "broken", "has no URL of app 1.0.0"},
		"bad entry": {"apiVersion: v1\nentries: {app: 7}", "", "broken", "the versions of the chart are not a list"},
		"no entry":  {"apiVersion: v1\nentries: {app: [null]}", "", "missing", "has no version of app"},
		"large":     {indexOf("app", release{"1.0.0", "app.tgz", ""}), strings.Repeat("x", 5000), "too-large", "sends more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			all = map[string]string{"/index.yaml": c.index, "/app.tgz": c.chart}
			f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}, Limits: Limits{Bytes: 4096}})
			refuse(t, f, chartRef("https://charts.example.com", "1.0.0"), c.outcome, c.text)
		})
	}
}

// TestFewIndexes remembers the last ones.
func TestFewIndexes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := &Fetcher{ttl: time.Hour, now: func() time.Time { return now }, sharedState: &sharedState{indexes: newIndexes()}}
	for i := range 3 * maxIndexes {
		now = now.Add(time.Second)
		f.indexes.Add(fmt.Sprint(i), timedIndex{at: now})
	}
	if n := f.indexes.Len(); n != maxIndexes {
		t.Errorf("%d are remembered", n)
	}
	for i := range 3 * maxIndexes {
		if _, found := f.cachedIndex(fmt.Sprint(i)); found != (i >= 2*maxIndexes) {
			t.Errorf("%d: %v", i, found)
		}
	}
}
