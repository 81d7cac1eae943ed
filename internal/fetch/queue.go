package fetch

import (
	"context"
	"slices"
	"sync"
)

// queue limits concurrent fetches over the network. No host and no tenant may use
// more than half of the places, so slow hosts and busy tenants do not block others.
// Of those waiting, the tenant with the fewest fetches comes first.
type queue struct {
	places int
	share  int // limit for a host or a tenant

	mu      sync.Mutex
	used    int
	hosts   map[string]int
	tenants map[string]int
	waiting []*waiter // in order of arrival
}

type waiter struct {
	host, tenant string
	ready        chan struct{} // closed when it has a place
}

func newQueue(places int) *queue {
	return &queue{places: places, share: (places + 1) / 2, hosts: map[string]int{}, tenants: map[string]int{}}
}

// enter waits for a place. leave releases it, and must be called once.
func (q *queue) enter(ctx context.Context, host, tenant string) (leave func(), err error) {
	w := &waiter{host, tenant, make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	q.wake()
	q.mu.Unlock()
	leave = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.used--
		decrement(q.hosts, host)
		decrement(q.tenants, tenant)
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

// wake assigns free places.
func (q *queue) wake() {
	for q.used < q.places {
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
		q.used++
		q.hosts[w.host]++
		q.tenants[w.tenant]++
		close(w.ready)
	}
}

func decrement(counts map[string]int, key string) {
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
