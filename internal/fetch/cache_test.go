package fetch

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// TestFresh has what is asked again, and what never is.
func TestFresh(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	all := repository(t, "1.0.0")
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) { serving(all)(w, r) })
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	fetcher := func() *Fetcher {
		f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}, Cache: Cache{Dir: dir}, TTL: time.Hour})
		f.now = func() time.Time { return clock }
		return f
	}
	exact, ranged := chartRef("https://charts.example.com/stable", "1.0.0"), chartRef("https://charts.example.com/stable", "1.x")
	requests := func(want int, what string) {
		t.Helper()
		if got := len(n.asked("charts.example.com")); got != want {
			t.Errorf("%s: %d requests, want %d", what, got, want)
		}
	}
	get(t, fetcher(), exact)
	requests(2, "the index and the chart")
	get(t, fetcher(), chartRef("https://charts.example.com/stable/", "1.0.0"))
	requests(2, "an exact version again")
	get(t, fetcher(), ranged)
	requests(3, "a range, whose version is known")
	clock = clock.Add(59 * time.Minute)
	get(t, fetcher(), ranged)
	requests(3, "a fresh range")
	clock = clock.Add(2 * time.Minute)
	all = repository(t, "1.0.0", "1.1.0")
	if got := get(t, fetcher(), ranged); got.Version != "1.1.0" {
		t.Errorf("an old range gives %s", got.Version)
	}
	requests(5, "an old range")
	clock = clock.Add(10000 * time.Hour)
	get(t, fetcher(), exact)
	requests(5, "an exact version, much later")
	clock = clock.Add(-20000 * time.Hour)
	get(t, fetcher(), ranged)
	requests(6, "a range that is from the future")
}

func TestOffline(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/a": "content"}))
	config := Config{Allow: []string{"https://files.example.com/a", "https://files.example.com/b"}, Cache: Cache{Dir: t.TempDir()}, TTL: -1}
	get(t, n.fetcher(config), fileRef("https://files.example.com/a"))
	config.Offline = true
	f := n.fetcher(config)
	get(t, f, fileRef("https://files.example.com/a"))
	refuse(t, f, fileRef("https://files.example.com/b"), "offline", "is not in the cache, and the network is disabled")
	if got := len(n.asked("files.example.com")); got != 1 {
		t.Errorf("%d requests", got)
	}
	config.Allow = nil
	refuse(t, n.fetcher(config), fileRef("https://files.example.com/a"), "not-allowed", "the allow-list is empty")
}

// TestChangedContent has a version whose content changes.
func TestChangedContent(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	first, second := chartArchive(t, "app", "1.0.0"), append(chartArchive(t, "app", "1.0.0"), 0)
	now, digests := first, true
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) {
		digest := ""
		if digests {
			digest = remote.Digest(now)
		}
		serving(map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "app.tgz", digest}), "/app.tgz": string(now)})(w, r)
	})
	config := Config{Allow: []string{"https://charts.example.com"}, Cache: Cache{Dir: t.TempDir()}, TTL: -1}
	exact, ranged := chartRef("https://charts.example.com", "1.0.0"), chartRef("https://charts.example.com", "")
	get(t, n.fetcher(config), ranged)
	now = second
	refuse(t, n.fetcher(config), ranged, "changed",
		"its content has changed: its digest was "+remote.Digest(first)+" and is "+remote.Digest(second))
	if got := get(t, n.fetcher(config), exact); !bytes.Equal(got.Data, first) {
		t.Error("the exact version is asked for again")
	}
	cached := config
	cached.OnFailure = UseCached
	if got := get(t, n.fetcher(cached), ranged); !bytes.Equal(got.Data, first) || !strings.Contains(got.Warning, "its content has changed") {
		t.Errorf("the warning is %q", got.Warning)
	}
	// The cache has lost it, but knows what it was; and the index says nothing.
	digests = false
	if err := os.RemoveAll(filepath.Join(config.Cache.Dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	refuse(t, n.fetcher(config), exact, "changed", "its content has changed")
	refuse(t, n.fetcher(cached), exact, "changed", "the cache has the old one in "+config.Cache.Dir)
	now = first
	get(t, n.fetcher(config), exact)
}

// TestExpecting has digests that were recorded, as a lock file does.
func TestExpecting(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("charts.example.com", serving(repository(t, "1.0.0")))
	n.host("files.example.com", serving(map[string]string{"/a": "content"}))
	config := Config{Allow: []string{"https://charts.example.com", "https://files.example.com"}, Cache: Cache{Dir: t.TempDir()}, TTL: -1}
	chart, file := chartRef("https://charts.example.com/stable", "1.0.0"), fileRef("https://files.example.com/a")
	good := map[remote.Ref]string{chart: remote.Digest(chartArchive(t, "app", "1.0.0")), file: remote.Digest([]byte("content"))}
	for range 2 {
		f := n.fetcher(config).Pinned(func(r remote.Ref) string { return good[r] })
		if got := get(t, f, chart); got.Version != "1.0.0" {
			t.Errorf("version %q", got.Version)
		}
		get(t, f, file)
	}
	for _, host := range []string{"files.example.com", "charts.example.com"} {
		asked := n.asked(host)
		if last := asked[len(asked)-1].URL.Path; len(asked) < 2 || strings.HasSuffix(last, "index.yaml") {
			t.Errorf("%s was asked %d times, last for %s: what is recorded comes from its source and not from the cache", host, len(asked), last)
		}
	}
	bad := n.fetcher(config).Pinned(func(remote.Ref) string { return remote.Digest([]byte("other")) })
	refuse(t, bad, file, "changed", "its digest was "+remote.Digest([]byte("other")))
	refuse(t, bad, chart, "changed", "ask its publisher why it changed")
	config.Offline = true
	refuse(t, n.fetcher(config).Pinned(func(remote.Ref) string { return remote.Digest([]byte("other")) }), file, "offline", "not in the cache")
}

// TestDamagedCache has files that are not what they were.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/a": "content"}))
	config := Config{Allow: []string{"https://files.example.com"}, Cache: Cache{Dir: t.TempDir()}}
	ref := fileRef("https://files.example.com/a")
	f := n.fetcher(config)
	get(t, f, ref)
	blob, record := f.store.blobPath(remote.Digest([]byte("content"))), f.store.refPath("", ref)
	for i, damage := range []func() error{
		func() error { return os.WriteFile(blob, []byte("CONTENT"), 0o600) },
		func() error { return os.WriteFile(blob, nil, 0o600) },
		func() error { return os.Remove(blob) },
		func() error { return os.WriteFile(record, []byte("{"), 0o600) },
		func() error {
			return os.WriteFile(record, []byte(`{"digest": "sha256:../../../../etc/passwd"}`), 0o600)
		},
		func() error { return os.Remove(record) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		f := n.fetcher(config)
		if got := get(t, f, ref); string(got.Data) != "content" {
			t.Errorf("damage %d: %q", i, got.Data)
		}
		if got := len(n.asked("files.example.com")); got != i+2 {
			t.Errorf("damage %d: %d requests, want %d", i, got, i+2)
		}
		get(t, n.fetcher(config), ref)
	}
	if text := readText(t, record); !strings.Contains(text, "https://files.example.com/a") {
		t.Error(text)
	}
}

// TestNoSecretsInCache keeps what opens an address out of the records.
func TestNoSecretsInCache(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/a": "content"}))
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}, Cache: Cache{Dir: t.TempDir()}})
	ref := fileRef("https://files.example.com/a?token=hunter2")
	get(t, f, ref)
	if text := readText(t, f.store.refPath("", ref)); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}

// TestEviction keeps what was used last.
func TestEviction(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat(r.URL.Path[1:], 100))
	})
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}, Cache: Cache{Dir: t.TempDir(), MaxBytes: 350}, TTL: time.Hour})
	ref := func(name string) remote.Ref { return fileRef("https://files.example.com/" + name) }
	for i, name := range []string{"a", "b", "c"} {
		content := get(t, f, ref(name))
		then := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(f.store.blobPath(content.Digest), then, then); err != nil {
			t.Fatal(err)
		}
	}
	get(t, f, ref("a")) // used again
	left := filepath.Join(f.store.dir, "blobs", ".new-123")
	write(t, left, "half")
	then := time.Now().Add(-2 * abandonedAge)
	if err := os.Chtimes(left, then, then); err != nil {
		t.Fatal(err)
	}
	get(t, f, ref("d"))
	before := len(n.asked("files.example.com"))
	for _, name := range []string{"a", "c", "d"} {
		get(t, f, ref(name))
	}
	if got := len(n.asked("files.example.com")); got != before {
		t.Errorf("%d of what was to stay are gone", got-before)
	}
	get(t, f, ref("b"))
	if got := len(n.asked("files.example.com")); got != before+1 {
		t.Error("b is still there")
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what was half written is still there")
	}
	if got := testutil.ToFloat64(f.metrics.events.WithLabelValues("evicted")); got != 2 {
		t.Errorf("%v evictions are counted", got)
	}
	if got := f.store.size(); got > 350 {
		t.Errorf("the cache has %d bytes", got)
	}
	get(t, f, ref("aaaaaaaa")) // larger than the cache
	if got := f.store.size(); got != 300 {
		t.Errorf("the cache has %d bytes", got)
	}
}

// TestEvictionKeepsTheNew has a cache that is full of what another machine has used
// by a clock that is ahead: what comes now stays nevertheless.
func TestEvictionKeepsTheNew(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat(r.URL.Path[1:], 100))
	})
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}, Cache: Cache{Dir: t.TempDir(), MaxBytes: 350}})
	ahead := time.Now().Add(time.Hour)
	for _, name := range []string{"a", "b", "c"} {
		if err := os.Chtimes(f.store.blobPath(get(t, f, fileRef("https://files.example.com/"+name)).Digest), ahead, ahead); err != nil {
			t.Fatal(err)
		}
	}
	if _, found := f.store.blob(get(t, f, fileRef("https://files.example.com/d")).Digest); !found {
		t.Error("what was fetched just now is gone")
	}
	if got := f.store.size(); got != 300 {
		t.Errorf("the cache has %d bytes", got)
	}
}

// TestPublishedAgain has a version that has other content than the cache: who asks
// anew gets it, and the cache has it from then on.
func TestPublishedAgain(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	now := chartArchive(t, "app", "1.0.0")
	n.host("charts.example.com", func(w http.ResponseWriter, r *http.Request) {
		serving(map[string]string{"/index.yaml": indexOf("app", release{"1.0.0", "app.tgz", remote.Digest(now)}), "/app.tgz": string(now)})(w, r)
	})
	for _, version := range []string{"1.0.0", "1.x"} {
		f := n.fetcher(Config{Allow: []string{"https://charts.example.com"}, Cache: Cache{Dir: t.TempDir()}, TTL: -1})
		ref := chartRef("https://charts.example.com", version)
		get(t, f, ref)
		now = append(now, 0)
		if got := get(t, f.Uncached(), ref); !bytes.Equal(got.Data, now) {
			t.Errorf("%s is what it was", version)
		}
		if got := get(t, f, ref); !bytes.Equal(got.Data, now) {
			t.Errorf("%s is what it was in the cache", version)
		}
	}
}

// TestUnwritableCache goes on without, and says so once.
func TestUnwritableCache(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	var log bytes.Buffer
	dir := filepath.Join(t.TempDir(), "file", "cache")
	write(t, filepath.Dir(dir), "no directory")
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}, Cache: Cache{Dir: dir}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, path := range []string{"/a", "/a", "/b"} {
		if got := get(t, f, fileRef("https://files.example.com"+path)); string(got.Data) != path {
			t.Errorf("%q", got.Data)
		}
	}
	if got := strings.Count(log.String(), "cannot be written"); got != 1 {
		t.Errorf("it is said %d times:\n%s", got, log.String())
	}
}

// TestSharedCache has two processes and several goroutines in each that write,
// read and evict in one directory.
func TestSharedCache(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("LADDER_TEST_SHARED_CACHE"); dir != "" {
		shareCache(t, dir)
		return
	}
	dir := t.TempDir()
	var done sync.WaitGroup
	for range 2 {
		done.Go(func() {
			child := exec.Command(os.Args[0], "-test.run", "^TestSharedCache$")
			child.Env = append(os.Environ(), "LADDER_TEST_SHARED_CACHE="+dir)
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	done.Wait()
	s := openStore(Cache{Dir: dir}, slog.New(slog.DiscardHandler), newMetrics(nil, nil, nil))
	blobs, sum := listFiles(filepath.Join(dir, "blobs"))
	if len(blobs) == 0 || sum > 40_000 {
		t.Errorf("%d blobs of %d bytes", len(blobs), sum)
	}
	for _, b := range blobs {
		if _, found := s.blob(strings.Replace(filepath.Base(b.path), "-", ":", 1)); !found {
			t.Errorf("%s is damaged", b.path)
		}
	}
	if half, _ := filepath.Glob(filepath.Join(dir, "*", ".new-*")); len(half) > 0 {
		t.Errorf("%v are left", half)
	}
}

func shareCache(t *testing.T, dir string) {
	s := openStore(Cache{Dir: dir, MaxBytes: 20_000}, slog.New(slog.NewTextHandler(os.Stderr, nil)), newMetrics(nil, nil, nil))
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for i := range 100 {
				ref := fileRef(fmt.Sprintf("https://files.example.com/%d", i%30))
				data := bytes.Repeat([]byte(ref.URL), 40)
				s.put("", ref, remote.Content{Digest: remote.Digest(data), Data: data}, time.Now())
				if known, found := s.lookup("", ref); found {
					if got, found := s.blob(known.Digest); found && !bytes.Equal(got, data) {
						t.Errorf("%s has the data of another", ref)
					}
				}
			}
		})
	}
	done.Wait()
	if got := testutil.ToFloat64(s.metrics.events.WithLabelValues(string(corrupt))); got != 0 {
		t.Errorf("%v files were damaged", got)
	}
	if got := testutil.ToFloat64(s.metrics.events.WithLabelValues(string(unwritten))); got != 0 {
		t.Errorf("%v files could not be written", got)
	}
}
