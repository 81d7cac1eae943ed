package fetch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ladder-cmp/ladder/internal/remote"
)

// queued runs fetches through a queue in virtual time.
type queued struct {
	*queue
	start time.Time
	mu    sync.Mutex
	log   []string
	all   sync.WaitGroup
}

// fetch has a fetch of a tenant that takes a time, or forever if that is 0. It starts anew when it
// must make room.
func (q *queued) fetch(ctx context.Context, name, host, tenant string, takes time.Duration) {
	q.all.Go(func() {
		for {
			own, end := context.WithCancel(ctx)
			leave, err := q.enter(ctx, host, tenant, end)
			if err != nil {
				end()
				return
			}
			q.note("%s starts", name)
			var done <-chan time.Time
			if takes > 0 {
				done = time.After(takes)
			}
			select {
			case <-done:
				q.note("%s is done", name)
				leave()
				end()
				return
			case <-own.Done():
				leave()
				end()
				if ctx.Err() != nil {
					return
				}
				q.note("%s makes room", name)
			}
		}
	})
	synctest.Wait()
}

func (q *queued) note(format string, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.log = append(q.log, fmt.Sprintf("%v ", time.Since(q.start))+fmt.Sprintf(format, args...))
}

// sharedHosts are fetches of several tenants, and when they start and end.
var sharedHosts = map[string]struct {
	places int
	play   func(ctx context.Context, q *queued)
	want   string
}{
	"one project holds half of a host": {4, func(ctx context.Context, q *queued) {
		for i := range 24 {
			q.fetch(ctx, fmt.Sprint("evil", i), "h", "evil", 0)
		}
		time.Sleep(4 * time.Second)
		q.fetch(ctx, "good", "h", "good", time.Second)
		time.Sleep(4 * time.Second)
	}, "0s evil0 starts, 4s good starts, 5s good is done"},
	"two projects hold all places": {4, func(ctx context.Context, q *queued) {
		for _, host := range []string{"h1", "h2"} {
			q.fetch(ctx, "a-"+host, host, "a", 0)
			time.Sleep(10 * time.Millisecond)
			q.fetch(ctx, "b-"+host, host, "b", 0)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(4 * time.Second)
		q.fetch(ctx, "good", "h3", "good", time.Second)
		time.Sleep(10 * time.Second)
	}, "0s a-h1 starts, 10ms b-h1 starts, 20ms a-h2 starts, 30ms b-h2 starts, 4.04s a-h1 makes room, 4.04s good starts, " +
		"5.04s good is done, 5.04s a-h1 starts"},
	"not before its slice": {4, func(ctx context.Context, q *queued) {
		for _, host := range []string{"h1", "h2"} {
			q.fetch(ctx, "a-"+host, host, "a", 0)
			q.fetch(ctx, "b-"+host, host, "b", 0)
		}
		q.fetch(ctx, "good", "h3", "good", time.Second)
		time.Sleep(1500 * time.Millisecond)
	}, "0s a-h1 starts, 0s b-h1 starts, 0s a-h2 starts, 0s b-h2 starts, 1s a-h1 makes room, 1s good starts"},
	"a host of several": {8, func(ctx context.Context, q *queued) {
		for i := range 2 {
			q.fetch(ctx, fmt.Sprint("a", i), "h", "a", 0)
			q.fetch(ctx, fmt.Sprint("b", i), "h", "b", 0)
		}
		time.Sleep(2 * time.Second)
		q.fetch(ctx, "good", "h", "good", time.Second)
		time.Sleep(500 * time.Millisecond)
	}, "0s a0 starts, 0s b0 starts, 0s a1 starts, 0s b1 starts, 2s a0 makes room, 2s good starts"},
	"the only one of a project stays": {4, func(ctx context.Context, q *queued) {
		for i, tenant := range []string{"a", "b"} {
			q.fetch(ctx, tenant, "h", tenant, time.Duration(i+5)*time.Second)
		}
		q.fetch(ctx, "good", "h", "good", 100*time.Millisecond)
		time.Sleep(10 * time.Second)
	}, "0s a starts, 0s b starts, 5s a is done, 5s good starts, 5.1s good is done, 6s b is done"},
	"nobody else waits": {4, func(ctx context.Context, q *queued) {
		q.fetch(ctx, "a1", "h1", "a", 0)
		q.fetch(ctx, "a2", "h2", "a", 0)
		q.fetch(ctx, "a3", "h3", "a", 0)
		time.Sleep(time.Minute)
	}, "0s a1 starts, 0s a2 starts"},
	"no tenants": {2, func(ctx context.Context, q *queued) {
		q.fetch(ctx, "a1", "h1", "", 0)
		q.fetch(ctx, "a2", "h2", "", 0)
		q.fetch(ctx, "a3", "h3", "", 0)
		time.Sleep(time.Minute)
	}, "0s a1 starts, 0s a2 starts"},
	"places do not go back and forth": {4, func(ctx context.Context, q *queued) {
		for _, tenant := range []string{"a", "b"} {
			for i := range 3 {
				q.fetch(ctx, fmt.Sprint(tenant, i), fmt.Sprint("h", i), tenant, 0)
			}
		}
		time.Sleep(time.Minute)
	}, "0s a0 starts, 0s a1 starts, 0s b0 starts, 0s b1 starts"},
}

// TestSlowHost: a tenant whose downloads never end leaves half of a host to others, and the
// longest of several downloads makes room where another tenant waits.
func TestSlowHost(t *testing.T) {
	for name, tt := range sharedHosts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &queued{queue: newQueue(tt.places), start: time.Now()}
				ctx, cancel := context.WithCancel(t.Context())
				tt.play(ctx, q)
				synctest.Wait()
				q.mu.Lock()
				got := strings.Join(q.log, ", ")
				q.mu.Unlock()
				if got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				cancel()
				q.all.Wait()
				if len(q.hosts)+len(q.tenants)+len(q.both)+len(q.running)+q.used+len(q.waiting) != 0 {
					t.Errorf("%+v remains", q.queue)
				}
			})
		})
	}
}

// TestSlowDownloads: fetches that never end neither keep another tenant from a host that they
// share, nor from a place; the one that makes room starts anew.
func TestSlowDownloads(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	over := make(chan struct{})
	var started sync.WaitGroup
	slow := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow") {
			if len(n.asked(r.Host)) <= 2 {
				started.Done()
			}
			select {
			case <-over:
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprint(w, "content of "+r.URL.Path)
	}
	hosts := []string{"one.example.com", "two.example.com"}
	for _, host := range hosts {
		n.host(host, slow)
	}
	n.host("three.example.com", serving(map[string]string{"/good": "good"}))
	f := n.fetcher(Config{Allow: []string{"https://one.example.com", "https://two.example.com", "https://three.example.com"},
		Limits: Limits{Concurrent: 4}})
	results := make(chan error, 4)
	started.Add(4)
	for _, tenant := range []string{"a", "b"} {
		for _, host := range hosts {
			go func() {
				got, err := f.Fetch(WithTenant(t.Context(), tenant), fileRef("https://"+host+"/slow-"+tenant))
				if err == nil && string(got.Data) != "content of /slow-"+tenant {
					err = fmt.Errorf("got %q", got.Data)
				}
				results <- err
			}()
		}
	}
	started.Wait()
	for _, ref := range []remote.Ref{fileRef("https://three.example.com/good"), fileRef("https://one.example.com/good")} {
		if _, err := f.Fetch(WithTenant(t.Context(), "good"), ref); err != nil {
			t.Error(err)
		}
	}
	close(over)
	for range 4 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
