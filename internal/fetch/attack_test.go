package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// nestedPack is a pack of a commit whose root holds width directories, each of which
// holds the same width directories, and so on: width to the power of levels paths. The
// innermost hold a file, or nothing.
func nestedPack(t *testing.T, width, levels int, file bool) (commit plumbing.Hash, pack []byte) {
	t.Helper()
	store := memory.NewStorage()
	var all []plumbing.Hash
	put := func(o interface {
		Encode(plumbing.EncodedObject) error
	}) plumbing.Hash {
		encoded := store.NewEncodedObject()
		if err := o.Encode(encoded); err != nil {
			t.Fatal(err)
		}
		hash, err := store.SetEncodedObject(encoded)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, hash)
		return hash
	}
	blob := store.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	below, err := store.SetEncodedObject(blob)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, below)
	mode := filemode.Regular
	if !file {
		below, mode = put(&object.Tree{}), filemode.Dir
	}
	for range levels {
		var tree object.Tree
		for i := range width {
			tree.Entries = append(tree.Entries, object.TreeEntry{Name: fmt.Sprint(i), Mode: mode, Hash: below})
		}
		below, mode = put(&tree), filemode.Dir
	}
	commit = put(&object.Commit{TreeHash: below})
	var out bytes.Buffer
	if _, err := packfile.NewEncoder(&out, store, false).Encode(all, 0); err != nil {
		t.Fatal(err)
	}
	return commit, out.Bytes()
}

// packHost is a git host that has one commit, on main, and sends a pack for it that it
// did not look at.
func packHost(t *testing.T, commit plumbing.Hash, pack []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "0008NAK\n")
			_, _ = w.Write(pack)
			return
		}
		has := packp.NewAdvRefs()
		has.Prefix = [][]byte{[]byte("# service=git-upload-pack"), pktline.Flush}
		has.Head, has.References["refs/heads/main"] = &commit, commit
		if err := has.Encode(w); err != nil {
			t.Error(err)
		}
	}
}

// TestPacksThatMultiply has packs of less than a kilobyte that stand for more files or
// directories than any memory holds.
func TestPacksThatMultiply(t *testing.T) {
	t.Parallel()
	const few = 20_000
	for name, c := range map[string]struct {
		width, levels int
		file          bool
		paths         int
		text          string
	}{
		"10^9 files":          {10, 9, true, maxPaths, "the repository has more than"},
		"10^11 directories":   {10, 11, false, few, "the repository has more than"},
		"a deep path":         {1, 5000, true, maxPaths, "levels of directories"},
		"2^60 empty branches": {2, 60, false, few, "the repository has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newInternet(t)
			commit, pack := nestedPack(t, c.width, c.levels, c.file)
			n.host("git.example.com", packHost(t, commit, pack))
			f := n.fetcher(Config{Allow: []string{"https://git.example.com"}, Limits: Limits{Time: 60 * time.Second}})
			f.paths = c.paths
			refuse(t, f, repositoryRef("https://git.example.com/repo"), "too-large", c.text)
		})
	}
}

// sparseChart is a chart with a sparse file: a few bytes that stand for size bytes.
func sparseChart(t *testing.T, size int64) []byte {
	t.Helper()
	const text = "apiVersion: v2\nname: app\nversion: 1.0.0\n"
	var out bytes.Buffer
	outer := gzip.NewWriter(&out)
	raw := &bytes.Buffer{}
	inner := tar.NewWriter(raw)
	// The standard library writes no sparse files; the records are those of GNU tar 1.0.
	sparse := fmt.Sprintf("1\n%d\n0\n", size)
	block := make([]byte, 512)
	copy(block, sparse)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: "app/GNUSparseFile.0/hole", Mode: 0o644, Size: int64(len(block)), Format: tar.FormatPAX,
		PAXRecords: map[string]string{"GNU.sparxe.major": "1", "GNU.sparxe.minor": "0", "GNU.sparxe.name": "app/hole",
			"GNU.sparxe.realsize": fmt.Sprint(size)}}
	for _, f := range []struct {
		header *tar.Header
		data   []byte
	}{{header, block}, {&tar.Header{Name: "app/Chart.yaml", Mode: 0o644, Size: int64(len(text))}, []byte(text)}} {
		if err := inner.WriteHeader(f.header); err != nil {
			t.Fatal(err)
		}
		if _, err := inner.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := inner.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := outer.Write(bytes.ReplaceAll(raw.Bytes(), []byte("GNU.sparxe."), []byte("GNU.sparse."))); err != nil {
		t.Fatal(err)
	}
	if err := outer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// within ends a test that hangs, which is what the attack is about.
func within(t *testing.T, limit time.Duration, what func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); what() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("it takes more than %s", limit)
	}
}

// TestSparseCharts has a chart of some hundred bytes with a file of eight exabytes.
func TestSparseCharts(t *testing.T) {
	n := newInternet(t)
	n.host("charts.example.com",
		serving(map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "app.tgz", ""}), "/app.tgz": string(sparseChart(t, 1<<62))}))
	f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}, Limits: Limits{Time: 60 * time.Second}})
	within(t, 5*time.Minute, func() { refuse(t, f, chartRef("https://charts.example.com", "1.0.0"), "broken", "sparse") })
}

// TestIndexesThatMultiply has indexes that are small as they come, and large when they
// are read.
func TestIndexesThatMultiply(t *testing.T) {
	t.Parallel()
	const good = "  app:\n  - {name: app, version: 1.0.0, urls: [app.tgz]}\n"
	for name, c := range map[string]struct{ index, outcome, text string }{
		"an anchor used many times": {
			"apiVersion: v1\nentries:\n  app:\n  - name: app\n    version: 1.0.0\n    description: &a " + strings.Repeat("x", 1000) +
				"\n    keywords: [" + strings.Repeat("*a, ", 1500) + "]\n    urls: [app.tgz]\n", "broken", "aliases"},
		"an anchor elsewhere": {"apiVersion: v1\nbig: &a [" + strings.Repeat("x, ", 1000) + "]\nentries:\n  app: *a\n", "broken",
			"the document has no such anchor"},
		"merged": {"apiVersion: v1\nentries:\n  app:\n  - &a {name: app, version: 1.0.0, urls: [app.tgz]}\n" +
			"  - {<<: *a, version: 1.0.1}\n", "broken", "aliases"},
		"too many versions": {"apiVersion: v1\nentries:\n  app:\n" + strings.Repeat("  - {version: 1.0.0}\n", 60_000), "too-large", "versions"},
		"as JSON": {`{"apiVersion": "v1", "entries": {"app": [` + strings.Repeat(`{"version":"1.0.0"},`, 60_000) +
			`{"version":"1.0.0"}]}}`, "too-large", "versions"},
		"nested": {`{"apiVersion": "v1", "x": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `, "entries": {}}`,
			"broken", "cannot be read"},
		"nested YAML": {"apiVersion: v1\nentries:\n  app:\n  - x: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "\n",
			"broken", "cannot be read"},
		"no entries":            {"apiVersion: v1\n", "missing", "has no chart app"},
		"another document":      {"apiVersion: v1\nentries: {}\n---\napiVersion: v1\nentries:\n" + good, "missing", "has no chart app"},
		"entries twice":         {"apiVersion: v1\nentries:\n" + good + "entries:\n" + good, "broken", "cannot be read"},
		"the chart twice":       {"apiVersion: v1\nentries:\n" + good + good, "broken", "cannot be read"},
		"no version of a chart": {"entries:\n" + good, "broken", "it has no apiVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newInternet(t)
			n.host("charts.example.com", serving(map[string]string{"/index.yaml": c.index, "/app.tgz": string(chartArchive(t, "app", "1.0.0"))}))
			f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}})
			refuse(t, f, chartRef("https://charts.example.com", "1.0.0"), c.outcome, c.text)
		})
	}
}

// TestIndexesAsTheyAre has the forms that indexes come in. Of other charts nothing is
// read: neither how many there are nor what is wrong with them matters.
func TestIndexesAsTheyAre(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&many, "  other-%d:\n  - {name: x, version: 1.0.0}\n", i)
	}
	for name, index := range map[string]string{
		"as Helm writes it": "apiVersion: v1\nentries:\n  aaa:\n  - name: aaa\n    version: 0.1.0\n  app:\n  - apiVersion: v2\n" +
			"    description: |-\n      some\n      app: text\n    name: app\n    urls:\n    - app.tgz\n    version: 1.0.0\n  zzz:\n" +
			"  - name: zzz\n    version: 1.0.0\ngenerated: \"2026-01-01T00:00:00Z\"\n",
		"indented": "# a comment\n---\n\"apiVersion\": v1\n'entries':\n    \"app\":\n        - name: app\n" +
			"          version: \"1.0.0\"\n          urls:\n            - app.tgz\n    other:\n        - {}\n",
		"flow":       "{apiVersion: v1, entries: {app: [{name: app, version: 1.0.0, urls: [app.tgz]}]}}",
		"flow below": "apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, urls: [app.tgz]}]}\n",
		"JSON": `{"entries": {"other": [{"x": [[["y"]]]}], "app": [{"name": "app", "version": "1.0.0", ` +
			`"urls": ["app.tgz"]}]}, "apiVersion": "v1"}`,
		"JSON in lines": "{\n \"apiVersion\": \"v1\",\n \"entries\": {\n" +
			"  \"app\": [{\"name\": \"app\", \"version\": \"1.0.0\", \"urls\": [\"app.tgz\"]}]\n }\n}\n",
		"with many others": "apiVersion: v1\nentries:\n" + many.String() + "  app:\n  - {name: app, version: 1.0.0, urls: [app.tgz]}\n",
		"with aliases of others": "apiVersion: v1\nentries:\n  other: &o\n  - {name: other}\n  another: *o\n  app:\n" +
			"  - {name: app, version: 1.0.0, urls: [app.tgz]}\n",
		"with Windows lines": "apiVersion: v1\r\nentries:\r\n  app:\r\n  - name: app\r\n    version: 1.0.0\r\n    urls: [app.tgz]\r\n",
		"with a mark":        "\ufeffapiVersion: v1\nentries:\n  app:\n  - {name: app, version: 1.0.0, urls: [app.tgz]}\n",
		"with an end":        "apiVersion: v1\nentries:\n  app:\n  - {name: app, version: 1.0.0, urls: [app.tgz]}\n...\n",
	} {
		t.Run(name, func(t *testing.T) {
			n := newInternet(t)
			n.host("charts.example.com", serving(map[string]string{"/index.yaml": index, "/app.tgz": string(chartArchive(t, "app", "1.0.0"))}))
			got := get(t, n.fetcher(Config{Allow: []string{"https://charts.example.com"}}), chartRef("https://charts.example.com", "^1"))
			if got.Version != "1.0.0" {
				t.Errorf("it comes to %q", got.Version)
			}
		})
	}
}

// TestDisguises has paths that some servers read as another one than we do.
func TestDisguises(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/team/a": "content"}))
	f := n.fetcher(Config{Allow: []string{"https://files.example.com/team"}})
	for _, path := range []string{
		"/team/..;/private", "/team/..;x=y/private", "/team/.;/../private", "/team/..%3b/private", "/team/..%253b/private", "/team/;/../private",
		"/team/%2e%2e/private", "/team/%252e%252e/private", "/team/%25252e%25252e/private", "/team/.%2e/private", "/team/%252e./private",
		"/team/..%2fprivate", "/team/..%252fprivate", "/team/..%25252fprivate", `/team/..\private`, "/team/..%5cprivate", "/team/..%255cprivate",
		"/team/%c0%ae%c0%ae/private", "/team/%ef%bc%8e%ef%bc%8e/private", "/team/..%ef%bc%8fprivate",
		"/team/..%00/private", "/team/..%0a/private",
		"/team/..%20/private", "/team/.. /private", "/team/..%09/private", "/team/%u002e%u002e/private",
	} {
		_, err := f.Fetch(t.Context(), fileRef("https://files.example.com"+path))
		if err == nil {
			t.Errorf("%s is fetched", path)
		} else if got, text := outcomeOf(t, err); got != "bad-ref" {
			t.Errorf("%s: %s: %s", path, got, text)
		}
	}
	if asked := n.asked("files.example.com"); len(asked) > 0 {
		t.Errorf("%d were asked for, the first is %s", len(asked), asked[0].URL)
	}
	get(t, f, fileRef("https://files.example.com/team/a"))
	// What has none of these is let through, as strange as it is.
	for _, path := range []string{"/team/a..b", "/team/...", "/team/a;v=1", "/team/100%25", "/team/%C3%A9", "/team/a%20b"} {
		if _, err := f.Fetch(t.Context(), fileRef("https://files.example.com"+path)); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSiblings has two prefixes of one host. What opens one goes to no other, wherever
// an index or a redirect leads.
func TestSiblings(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	chart := string(chartArchive(t, "app", "1.0.0"))
	digest := remote.Digest([]byte(chart))
	got := map[string]string{}
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) {
		got[r.URL.Path] = r.Header.Get("Authorization") + r.Header.Get("Cookie")
		if r.URL.Path == "/team/redirected" {
			w.Header().Set("Set-Cookie", "session=team")
			http.Redirect(w, r, "/team-b/redirected", http.StatusFound)
			return
		}
		serving(map[string]string{
			"/team/index.yaml": indexOf("app", release{"1.0.0", "https://charts.example.com/team-b/app.tgz", digest}),
			"/team-b/app.tgz":  chart, "/team-b/redirected": "b", "/team/a": "a"})(w, r)
	})
	dir := t.TempDir()
	write(t, dir+"/team/url", "https://charts.example.com/team")
	write(t, dir+"/team/token", "hunter2")
	for _, allow := range [][]string{{"https://charts.example.com"}, {"https://charts.example.com/team"}} {
		f := n.fetcher(Config{Allow: allow, Credentials: Credentials{Dir: dir}, TTL: -1})
		get(t, f, chartRef("https://charts.example.com/team", "1.0.0"))
		get(t, f, fileRef("https://charts.example.com/team/a"))
	}
	get(t, n.fetcher(Config{Allow: []string{"https://charts.example.com"}, Credentials: Credentials{Dir: dir}}),
		fileRef("https://charts.example.com/team/redirected"))
	for _, path := range []string{"/team/index.yaml", "/team/a", "/team/redirected"} {
		if got[path] != "Bearer hunter2" {
			t.Errorf("%s gets %q", path, got[path])
		}
	}
	for _, path := range []string{"/team-b/app.tgz", "/team-b/redirected"} {
		if sent, asked := got[path]; sent != "" || !asked {
			t.Errorf("%s gets %q (asked: %v)", path, sent, asked)
		}
	}
}

// TestForms has the forms in which IPv6 holds the address of a machine's metadata.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"::ffff:169.254.169.254", "::ffff:0:169.254.169.254", "::169.254.169.254", "64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254",
		"64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::1", "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe", "fe80::5efe:169.254.169.254",
		"2001:db8::5efe:169.254.169.254", "2001:db8::200:5efe:169.254.169.254", "2001:0:4136:e378:8000:63bf:5601:5601", "2001::1", "::2",
		"::7f00:1", "100::1", "3fff::1",
	} {
		if why := forbiddenReason(netip.MustParseAddr(address), public); why == "" {
			t.Errorf("%s is let through", address)
		}
	}
	for _, address := range []string{"2001:4860:4860::8888", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1",
		"1.1.1.1", "::ffff:8.8.8.8"} {
		if why := forbiddenReason(netip.MustParseAddr(address), public); why != "" {
			t.Errorf("%s is refused: %s", address, why)
		}
	}
}

// TestEndlessTags has a registry whose list of tags goes on and on, and one that has
// more than anybody needs.
func TestEndlessTags(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("registry.example.com", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/endless/"):
			w.Header().Set("Link", "</v2/org/endless/app/tags/list?last=x>; rel=\"next\"")
			_, _ = io.WriteString(w, `{"tags": ["1.0.0"]}`)
		case strings.Contains(r.URL.Path, "/many/"):
			_, _ = io.WriteString(w, `{"tags": ["1.0.0"`+strings.Repeat(`,"1.0.0"`, 60_000)+`]}`)
		}
	})
	f := n.fetcher(Config{Allow: []string{"oci://registry.example.com"}})
	for _, which := range []string{"endless", "many"} {
		refuse(t, f, remote.Ref{Kind: remote.Chart, URL: "oci://registry.example.com/org/" + which, Chart: "app", Version: "^1"}, "too-large",
			"has more than 50000 tags of app, or sends them in more than 500 parts; fix: name an exact version")
	}
}
