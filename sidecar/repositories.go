package sidecar

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/repository"
)

// repositories are the trees in memory: those in use, and those that the next
// request may reuse by the checksum of its stream, since Argo CD sends a commit
// once for each of its Applications.
//
// The size of a repository is unknown until it has arrived, so memory is reserved
// in steps. Several repositories could each reserve a part of the memory, and wait
// for each other forever. Therefore all arriving repositories together, without the
// largest of them, reserve at most limit - maxBytes. So the largest one can always
// grow to its maximum size, finish, and release its memory for the next.
type repositories struct {
	limit    int64         // total size in bytes, as Limits counts
	maxBytes int64         // per repository; 0 means no limit
	step     int64         // by which memory is reserved
	keep     time.Duration // how long an unused tree is kept

	mu                    sync.Mutex
	used                  int64                   // by trees and reservations
	held                  map[string]*heldTree    // by checksum
	idle                  []*heldTree             // most recently used last
	byChecksum            map[string]*reservation // by checksum
	arriving              map[*reservation]bool   // reservations that have started
	growing               []*reservation          // waiting for memory, in order of arrival
	waiting               []*reservation          // waiting to start
	sameRepositoryWaiters int                     // number of requests waiting for an arriving tree
}

// reservation is memory reserved for an arriving tree.
type reservation struct {
	repositories *repositories
	checksum     string
	bytes        int64         // reserved so far
	requested    int64         // while waiting
	granted      chan struct{} // closed when granted
	done         chan struct{} // closed when the tree has arrived or failed
}

// heldTree is a tree in memory.
type heldTree struct {
	repositories *repositories
	checksum     string
	tree         *repository.Tree
	users        int
	expiry       *time.Timer // runs while the tree is unused
}

// maxStep and minStep limit the steps by which memory is reserved.
const (
	maxStep = 4 << 20
	minStep = 64 << 10
)

func newRepositories(limit, maxBytes int64, keep time.Duration) *repositories {
	if limit == 0 {
		limit = math.MaxInt64
	}
	r := &repositories{limit: limit, maxBytes: maxBytes, step: maxStep, keep: keep, held: map[string]*heldTree{},
		byChecksum: map[string]*reservation{}, arriving: map[*reservation]bool{}}
	if maxBytes > 0 {
		r.step = min(max(maxBytes/64, minStep), maxStep, maxBytes)
	}
	return r
}

// size returns the memory in bytes that trees use and that is reserved for arriving
// ones.
func (r *repositories) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// isContended reports whether requests wait for memory, or for an arriving repository.
func (r *repositories) isContended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.growing)+len(r.waiting)+r.sameRepositoryWaiters > 0
}

// countWaiting returns how many requests wait for memory.
func (r *repositories) countWaiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.growing) + len(r.waiting)
}

func (r *repositories) use(h *heldTree) {
	if h.users++; h.users == 1 {
		h.expiry.Stop()
		r.idle = remove(r.idle, h)
	}
}

// await returns the tree with a checksum, and waits if it is arriving. If there is
// none, it waits, in the order of requests, until memory for the first step is
// reserved. It calls doing with the activity that it waits for.
func (r *repositories) await(ctx context.Context, checksum string, doing func(activity)) (*heldTree, *reservation, error) {
	for {
		r.mu.Lock()
		if h := r.held[checksum]; h != nil {
			r.use(h)
			r.mu.Unlock()
			return h, nil, nil
		}
		other := r.byChecksum[checksum]
		if other == nil {
			break
		}
		r.sameRepositoryWaiters++
		r.mu.Unlock()
		doing(waitingForSameRepository)
		select {
		case <-other.done:
		case <-ctx.Done():
		}
		r.mu.Lock()
		r.sameRepositoryWaiters--
		r.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	a := &reservation{repositories: r, checksum: checksum, requested: r.step, done: make(chan struct{})}
	r.byChecksum[checksum] = a
	r.mu.Unlock()
	doing(waitingForMemory)
	if err := a.wait(ctx, &r.waiting); err != nil {
		r.finish(a, nil)
		return nil, nil, err
	}
	return nil, a, nil
}

// grow increases a reservation to the given size, and waits if necessary.
func (a *reservation) grow(ctx context.Context, need int64) error {
	if need <= a.bytes {
		return nil
	}
	r := a.repositories
	a.requested = need
	if rest := need % r.step; rest > 0 && need <= math.MaxInt64-r.step {
		a.requested += r.step - rest
	}
	if r.maxBytes > 0 {
		a.requested = max(need, min(a.requested, r.maxBytes))
	}
	return a.wait(ctx, &r.growing)
}

// wait waits in a queue for the requested memory.
func (a *reservation) wait(ctx context.Context, queue *[]*reservation) error {
	r := a.repositories
	r.mu.Lock()
	a.granted = make(chan struct{})
	*queue = append(*queue, a)
	r.wake()
	r.mu.Unlock()
	select {
	case <-a.granted:
		return nil
	default:
	}
	select {
	case <-a.granted:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	*queue = remove(*queue, a)
	r.wake()
	return ctx.Err()
}

// take grants the requested memory, if possible.
func (r *repositories) take(a *reservation) bool {
	sum, largest := a.requested, a.requested
	for other := range r.arriving {
		if other != a {
			sum += other.bytes
			largest = max(largest, other.bytes)
		}
	}
	if sum-largest > r.limit-r.maxBytes {
		return false
	}
	more := a.requested - a.bytes
	for r.used > r.limit-more && len(r.idle) > 0 {
		r.drop(r.idle[0])
	}
	if r.used > r.limit-more {
		return false
	}
	r.used += more
	a.bytes = a.requested
	r.arriving[a] = true
	close(a.granted)
	return true
}

// drop removes an unused tree.
func (r *repositories) drop(h *heldTree) {
	if h.expiry != nil {
		h.expiry.Stop()
	}
	r.idle = remove(r.idle, h)
	r.used -= h.tree.Bytes
	h.tree = nil // a running timer may still refer to h
	if r.held[h.checksum] == h {
		delete(r.held, h.checksum)
	}
}

// wake grants memory to waiting reservations. Those that have started come first;
// others start only after them.
func (r *repositories) wake() {
	r.growing = slices.DeleteFunc(r.growing, r.take)
	if len(r.growing) > 0 {
		return
	}
	for len(r.waiting) > 0 && r.take(r.waiting[0]) {
		r.waiting = r.waiting[1:]
	}
}

// finish ends a reservation, and releases memory that the tree does not need; all of
// it if there is no tree.
func (r *repositories) finish(a *reservation, t *repository.Tree) *heldTree {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.wake()
	r.used -= a.bytes
	a.bytes = 0
	delete(r.arriving, a)
	delete(r.byChecksum, a.checksum)
	close(a.done)
	if t == nil {
		return nil
	}
	r.used += t.Bytes
	h := &heldTree{repositories: r, checksum: a.checksum, tree: t, users: 1}
	r.held[a.checksum] = h
	return h
}

// release ends the use of a tree. It stays in memory until the memory is needed, if
// others can find it.
func (h *heldTree) release() {
	r := h.repositories
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	r.idle = append(r.idle, h)
	if r.held[h.checksum] != h || r.keep <= 0 {
		r.drop(h)
	} else {
		h.expiry = time.AfterFunc(r.keep, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if h.users == 0 && h.tree != nil {
				r.drop(h)
				r.wake()
			}
		})
	}
	r.wake()
}

func remove[T comparable](list []T, one T) []T {
	if i := slices.Index(list, one); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
