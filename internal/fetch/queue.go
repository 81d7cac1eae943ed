package fetch

import (
	"context"
	"slices"
	"sync"
)

// queue gives out the places of fetches that use the network. No host and no tenant
// has more than half of them, so that one that is slow, or asks for much, leaves the
// others theirs; and of those who wait, the tenant comes first that has the fewest.
type queue struct {
	places int
	share  int // that one host or one tenant may have

	mu      sync.Mutex
	taken   int
	hosts   map[string]int
	tenants map[string]int
	waiting []*waiter // in the order of their coming
}

type waiter struct {
	host, tenant string
	turn         chan struct{} // closed when the place is its
}

func newQueue(places int) *queue {
	return &queue{places: places, share: (places + 1) / 2, hosts: map[string]int{}, tenants: map[string]int{}}
}

// enter waits for a place. leave gives it back, and is to be called once.
func (q *queue) enter(ctx context.Context, host, tenant string) (leave func(), err error) {
	w := &waiter{host, tenant, make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	q.wake()
	q.mu.Unlock()
	leave = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.taken--
		less(q.hosts, host)
		less(q.tenants, tenant)
		q.wake()
	}
	select {
	case <-w.turn:
		return leave, nil
	default:
	}
	select {
	case <-w.turn:
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
		leave() // both had come
	}
	return nil, ctx.Err()
}

// length is how many wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// wake gives the free places to those who may have them.
func (q *queue) wake() {
	for q.taken < q.places {
		best := -1
		for i, w := range q.waiting {
			if q.hosts[w.host] >= q.share || q.tenants[w.tenant] >= q.share && w.tenant != "" {
				continue
			}
			if best < 0 || q.tenants[w.tenant] < q.tenants[q.waiting[best].tenant] {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := q.waiting[best]
		q.waiting = slices.Delete(q.waiting, best, best+1)
		q.taken++
		q.hosts[w.host]++
		q.tenants[w.tenant]++
		close(w.turn)
	}
}

func less(counts map[string]int, key string) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// tenantKey is where a context has the name of the tenant.
type tenantKey struct{}

// WithTenant names who a fetch is for, in whose share of the network it is: an
// AppProject, an Application. Without it nobody's share is counted.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
