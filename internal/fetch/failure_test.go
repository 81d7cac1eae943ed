package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// failureTest is a way in which a source can fail.
type failureTest struct {
	serve         http.HandlerFunc // nil is a host that listens to nobody
	outcome, text string
	replaceable   bool
	requests      int // with two retries; -1 is however many come in time
}

var failureTests = map[string]failureTest{
	"down": {nil, "unreachable", "files.example.com cannot be reached: ", true, 0},
	"out of order": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"unreachable", "files.example.com returned status 500; fix: try again later", true, 3},
	"overloaded": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
		"unreachable", "received too many requests (429)", true, 3},
	"away for an hour": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(503)
	},
		"unreachable", "returned status 503", true, 1},
	"away until tomorrow": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(24*time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(503)
	},
		"unreachable", "returned status 503", true, 1},
	"away for centuries": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9300000000")
		w.WriteHeader(503)
	},
		"unreachable", "returned status 503", true, 1},
	"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"unreachable", "files.example.com cannot be reached", true, 3},
	"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	}, "unreachable", "the response of files.example.com was cut off", true, 3},
	"slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"timeout", "files.example.com took longer than 500ms; fix: try again later, or raise --remote-timeout", true, -1},
	"slow in between": {func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, "timeout", "took longer than 500ms", true, -1},
	"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) },
		"denied", "refuses access (403)", false, 1},
	"gone":      {http.NotFound, "missing", "returned status 404: not found", false, 1},
	"strange":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) }, "broken", "returned status 418", true, 1},
	"unchanged": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, "broken", "returned status 304", true, 1},
	"endless": {func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}, "too-large", "sends more than 65536 bytes; fix: raise --remote-max-bytes", false, 1},
}

// TestFailures has each way in which a source can fail, without a cached copy,
// with one, and with one that may be used.
func TestFailures(t *testing.T) {
	for name, c := range failureTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newInternet(t)
			good := true
			n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
				if good {
					_, _ = io.WriteString(w, "content")
					return
				}
				c.serve(w, r)
			}).Config.SetKeepAlivesEnabled(false)
			ref := fileRef("https://files.example.com/a")
			config := Config{Allow: []string{"https://files.example.com"}, Limits: Limits{Retries: 2, Bytes: 65536}}
			kept := config
			kept.Cache.Dir, kept.TTL = t.TempDir(), -1
			get(t, n.fetcher(kept), ref)
			before := len(n.asked("files.example.com"))

			good = false
			if c.outcome == "timeout" {
				config.Limits.Time, kept.Limits.Time = 500*time.Millisecond, 500*time.Millisecond
			}
			if c.serve == nil {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				n.hosts["files.example.com:443"] = listener.Addr().String()
				listener.Close()
			}
			refuse(t, n.fetcher(config), ref, c.outcome, c.text)
			if got := len(n.asked("files.example.com")) - before; got != c.requests && c.requests >= 0 {
				t.Errorf("%d requests, want %d", got, c.requests)
			}
			refuse(t, n.fetcher(kept), ref, c.outcome, c.text)
			kept.OnFailure = UseCached
			f := n.fetcher(kept)
			if !c.replaceable {
				refuse(t, f, ref, c.outcome, c.text)
				return
			}
			if got := get(t, f, ref); string(got.Data) != "content" || !strings.HasPrefix(got.Warning, "the copy of 2") {
				t.Errorf("%q with %q", got.Data, got.Warning)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"120":                              2 * time.Minute,
		"-1":                               0,
		"soon":                             0,
		"9300000000":                       maxRetryAfter,
		"99999999999999999999999":          maxRetryAfter,
		"Thu, 01 Jan 2026 12:00:30 GMT":    30 * time.Second,
		"Thu, 01 Jan 2026 11:00:00 GMT":    0,
		"Fri, 01 Jan 2100 12:00:00 GMT":    maxRetryAfter,
		"Thursday, 01-Jan-26 12:01:00 GMT": time.Minute,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

// TestRetriesEnd has a failure that passes.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	var asked atomic.Int32
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler)
		default:
			_, _ = io.WriteString(w, "content")
		}
	})
	get(t, n.fetcher(Config{Allow: []string{"https://files.example.com"}}), fileRef("https://files.example.com/a"))
}

// TestWrongTLS has servers whose certificate is for somebody else, and such
// without any.
func TestWrongTLS(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(nil))
	n.hosts["other.example.com:443"] = n.hosts["files.example.com:443"]
	n.plainHost("plain.example.com", serving(nil))
	n.hosts["plain.example.com:443"] = n.hosts["plain.example.com:80"]
	f := n.fetcher(Config{Allow: []string{"https://*"}})
	refuse(t, f, fileRef("https://other.example.com/a"), "untrusted", "the certificate of other.example.com is invalid")
	refuse(t, f, fileRef("https://plain.example.com/a"), "untrusted",
		"plain.example.com does not speak TLS; fix: correct the port, or list the host as one without TLS (--remote-plain-http)")
	f = n.fetcher(Config{Allow: []string{"http://files.example.com:443"}, PlainHTTP: []string{"files.example.com:443"}})
	refuse(t, f, fileRef("http://files.example.com:443/a"), "broken", "remove the host from --remote-plain-http if it uses TLS")
}

// TestGivenUp leaves while others wait.
func TestGivenUp(t *testing.T) {
	n := newInternet(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-answer
		_, _ = io.WriteString(w, "content")
	})
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}})
	ref := fileRef("https://files.example.com/a")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, err := f.Fetch(ctx, ref); left <- err }()
	<-arrived
	var joined sync.WaitGroup
	joined.Add(1)
	stayed := make(chan string)
	go func() {
		content, err := f.Fetch(&waiting{Context: t.Context(), wait: &joined}, ref)
		stayed <- fmt.Sprint(string(content.Data), err)
	}()
	joined.Wait()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves is told %v", err)
	}
	close(answer)
	if got := <-stayed; got != "content<nil>" {
		t.Errorf("who stays gets %s", got)
	}
}

// TestGivenUpInTheQueue leaves before the network may be used: it never is.
func TestGivenUpInTheQueue(t *testing.T) {
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/a": "a", "/b": "b"}))
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}, Limits: Limits{Concurrent: 1}})
	end, err := f.queue.enter(t.Context(), "other.example.com", "", func() {}) // another fetch
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	var joined sync.WaitGroup
	joined.Add(1)
	left := make(chan error)
	go func() {
		_, err := f.Fetch(&waiting{Context: ctx, wait: &joined}, fileRef("https://files.example.com/a"))
		left <- err
	}()
	joined.Wait()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves is told %v", err)
	}
	end()
	get(t, f, fileRef("https://files.example.com/b"))
	for _, r := range n.asked("files.example.com") {
		if r.URL.Path == "/a" {
			t.Error("what nobody wants is fetched")
		}
	}
	// Who comes then is told nothing of those who left.
	get(t, f, fileRef("https://files.example.com/a"))
	if len(f.callers) > 0 {
		t.Errorf("%d callers remain", len(f.callers))
	}
}

// TestQueueTakesTime: the wait for a turn is part of the time of a fetch.
func TestQueueTakesTime(t *testing.T) {
	f := newInternet(t).fetcher(Config{Allow: []string{"https://files.example.com"}, Limits: Limits{Concurrent: 1, Time: time.Millisecond}})
	if _, err := f.queue.enter(t.Context(), "other.example.com", "", func() {}); err != nil { // another fetch, which does not end
		t.Fatal(err)
	}
	waiter, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	go func() {
		_, _ = f.queue.enter(waiter, "third.example.com", "", func() {})
		close(waits)
	}()
	for f.queue.length() != 1 {
		<-time.After(time.Millisecond)
	}
	cancel()
	<-waits
	if got := f.queue.length(); got != 0 {
		t.Errorf("%d wait", got)
	}
	refuse(t, f, fileRef("https://files.example.com/a"), "timeout", "timed out after 1ms in the queue: at most 1 fetches run at a time, "+
		"at most 1 for one host or tenant, and 1 for one tenant at one host; fix: try again later")
}

// waiting tells when somebody waits for it to end.
type waiting struct {
	context.Context
	once sync.Once
	wait *sync.WaitGroup
}

func (w *waiting) Done() <-chan struct{} {
	w.once.Do(w.wait.Done)
	return w.Context.Done()
}

// TestFetchedOnce has many who want the same at the same time.
func TestFetchedOnce(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	var all sync.WaitGroup
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
		all.Wait()
		_, _ = io.WriteString(w, "content")
	})
	metrics := prometheus.NewRegistry()
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}, Metrics: metrics})
	const many = 20
	all.Add(many)
	var done sync.WaitGroup
	for range many {
		done.Go(func() {
			if got, err := f.Fetch(&waiting{Context: t.Context(), wait: &all}, fileRef("https://files.example.com/a")); err != nil ||
				string(got.Data) != "content" {
				t.Errorf("%v, %q", err, got.Data)
			}
		})
	}
	done.Wait()
	if got := len(n.asked("files.example.com")); got != 1 {
		t.Errorf("%d requests", got)
	}
	want := `# HELP ladder_fetch_cache_events_total Uses of the cache on disk, by result: hit, miss, expired, shared (fetched once for several requests), evicted, corrupt, unwritten (could not be written).
# TYPE ladder_fetch_cache_events_total counter
ladder_fetch_cache_events_total{event="corrupt"} 0
ladder_fetch_cache_events_total{event="evicted"} 0
ladder_fetch_cache_events_total{event="expired"} 0
ladder_fetch_cache_events_total{event="hit"} 0
ladder_fetch_cache_events_total{event="miss"} 1
ladder_fetch_cache_events_total{event="shared"} 19
ladder_fetch_cache_events_total{event="unwritten"} 0
`
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(want), "ladder_fetch_cache_events_total"); err != nil {
		t.Error(err)
	}
	if got := testutil.ToFloat64(f.metrics.requests.WithLabelValues("file", "ok")); got != many {
		t.Errorf("%v requests are counted", got)
	}
	if got := testutil.ToFloat64(f.metrics.bytes.WithLabelValues("file")); got != float64(len("content")) {
		t.Errorf("%v bytes are counted", got)
	}
}

// TestNumberAtOnce has more to fetch than may be at once.
func TestNumberAtOnce(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	var now, most atomic.Int32
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
		if count := now.Add(1); count > most.Load() {
			most.Store(count)
		}
		defer now.Add(-1)
		_, _ = io.WriteString(w, r.URL.Path)
	})
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}, Limits: Limits{Concurrent: 2}})
	var done sync.WaitGroup
	for i := range 30 {
		done.Go(func() {
			if _, err := f.Fetch(t.Context(), fileRef("https://files.example.com/"+strings.Repeat("a", i+1))); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if most.Load() > 2 {
		t.Errorf("%d at once", most.Load())
	}
}

// TestEveryOutcomeIsCounted fails if a Ref is counted under a name that the
// metrics do not begin with.
func TestEveryOutcomeIsCounted(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	f := n.fetcher(Config{})
	_, _ = f.Fetch(t.Context(), fileRef("https://files.example.com/a"))
	if got := testutil.ToFloat64(f.metrics.requests.WithLabelValues("file", string(notAllowed))); got != 1 {
		t.Errorf("counted %v", got)
	}
	if got, want := testutil.CollectAndCount(f.metrics.requests), 3*len(outcomes); got != want {
		t.Errorf("%d values of labels, want %d", got, want)
	}
	if _, err := f.Fetch(t.Context(), remote.Ref{}); err == nil {
		t.Error("an empty Ref is fetched")
	}
}

// TestPanics has a library that is not ready for what comes.
func TestPanics(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(nil))
	f := n.fetcher(Config{Allow: []string{"https://files.example.com"}})
	f.proxy = func(*url.URL) (*url.URL, error) { panic("index out of range") }
	refuse(t, f, fileRef("https://files.example.com/a"), "broken",
		"cannot read the response of files.example.com: index out of range; fix: check the URL")
}
