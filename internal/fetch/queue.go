package fetch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queue limits concurrent fetches over the network, so that slow hosts and busy tenants do not
// block others:
//   - no host and no tenant has more than half of the places, and no tenant more than half of the
//     places of a host: otherwise a tenant's slow downloads would be all that a host may have;
//   - of those waiting, the tenant with the fewest fetches comes first;
//   - if a tenant waits for a place, the longest of the several fetches of another tenant makes
//     room. It waits again, and starts anew.
type queue struct {
	places int
	share  int // limit for a host or a tenant
	own    int // limit for a tenant at one host

	mu      sync.Mutex
	used    int
	hosts   map[string]int
	tenants map[string]int
	both    map[[2]string]int // by tenant and host
	waiting []*waiter         // in order of arrival
	running []*waiter         // oldest first
	timer   *time.Timer       // set while one waits that may get the place of another
}

type waiter struct {
	host, tenant string
	ready        chan struct{} // closed when it has a place
	since        time.Time     // when it got its place
	yield        func()        // ends it, to make room; nil if it has been called
}

// fetchSlice is how long a fetch has its place before it makes room for another tenant.
const fetchSlice = time.Second

func newQueue(places int) *queue {
	share := (places + 1) / 2
	return &queue{places: places, share: share, own: max(share/2, 1), hosts: map[string]int{}, tenants: map[string]int{},
		both: map[[2]string]int{}}
}

// enter waits for a place. leave releases it, and must be called once. yield is called if the
// place is needed for another tenant: it must end the fetch, without waiting for it.
func (q *queue) enter(ctx context.Context, host, tenant string, yield func()) (leave func(), err error) {
	w := &waiter{host: host, tenant: tenant, ready: make(chan struct{}), yield: yield}
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	q.wake()
	q.mu.Unlock()
	leave = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.running = slices.DeleteFunc(q.running, func(other *waiter) bool { return other == w })
		q.used--
		decrement(q.hosts, host)
		decrement(q.tenants, tenant)
		decrement(q.both, [2]string{tenant, host})
		q.wake()
	}
	select {
	case <-w.ready:
		return leave, nil
	default:
	}
	select {
	case <-w.ready:
		return leave, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, w)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		leave() // both happened
	}
	return nil, ctx.Err()
}

// length returns the number of waiting fetches.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// hasShare reports whether the tenant of a waiting fetch may have another one.
func (q *queue) hasShare(w *waiter) bool {
	return w.tenant == "" || q.tenants[w.tenant] < q.share && q.both[[2]string{w.tenant, w.host}] < q.own
}

// wake assigns free places.
func (q *queue) wake() {
	for q.used < q.places {
		best := -1
		for i, w := range q.waiting {
			if q.hosts[w.host] >= q.share || !q.hasShare(w) {
				continue
			}
			if best < 0 || q.tenants[w.tenant] < q.tenants[q.waiting[best].tenant] {
				best = i
			}
		}
		if best < 0 {
			break
		}
		w := q.waiting[best]
		q.waiting = slices.Delete(q.waiting, best, best+1)
		q.used++
		q.hosts[w.host]++
		q.tenants[w.tenant]++
		q.both[[2]string{w.tenant, w.host}]++
		w.since = time.Now()
		q.running = append(q.running, w)
		close(w.ready)
	}
	q.makeRoom()
}

// makeRoom ends a fetch for a waiting one of another tenant, one at a time, or does so later.
func (q *queue) makeRoom() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	if slices.ContainsFunc(q.running, func(r *waiter) bool { return r.yield == nil }) {
		return // leave continues here
	}
	for _, r := range q.running { // the longest comes first
		if !slices.ContainsFunc(q.waiting, func(w *waiter) bool { return q.yields(r, w) }) {
			continue
		}
		if rest := fetchSlice - time.Since(r.since); rest > 0 {
			q.timer = time.AfterFunc(rest, func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				q.makeRoom()
			})
			return
		}
		yield := r.yield
		r.yield = nil
		yield()
		return
	}
}

// yields reports whether a running fetch is one of several of its tenant, and its end would give
// a waiting one of a tenant with fewer a place.
func (q *queue) yields(running, waiting *waiter) bool {
	if running.tenant == "" || running.tenant == waiting.tenant ||
		q.tenants[running.tenant] <= q.tenants[waiting.tenant]+1 || !q.hasShare(waiting) {
		return false
	}
	return q.hosts[waiting.host] < q.share || running.host == waiting.host
}

func decrement[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// tenantKey is the context key of the tenant's name.
type tenantKey struct{}

// WithTenant sets the tenant of a fetch, for its share of the network: an
// AppProject or an Application. Without it, no share applies.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
