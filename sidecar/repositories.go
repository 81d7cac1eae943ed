package sidecar

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// repositories are the trees in memory: those that requests work on, and those
// that the next request may name by the checksum of its stream, since Argo CD
// sends a commit once for each Application in it.
type repositories struct {
	limit   int64         // of all together, in bytes as Limits counts
	reserve int64         // set aside while a repository arrives, since nobody knows how large it will be
	keep    time.Duration // how long a tree stays that nobody uses

	mu      sync.Mutex
	used    int64
	held    map[string]*held // by checksum
	idle    []*held          // the one used last at the end
	waiting []chan struct{}  // for memory, in the order of their coming
}

// held is a tree in memory.
type held struct {
	of       *repositories
	checksum string
	tree     *tree
	users    int
	end      *time.Timer // runs while nobody uses it
}

func newRepositories(limit, reserve int64, keep time.Duration) *repositories {
	if limit == 0 {
		limit = math.MaxInt64
	}
	return &repositories{limit: limit, reserve: reserve, keep: keep, held: map[string]*held{}}
}

// size is the memory that trees take or are to take.
func (r *repositories) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// find returns the tree whose stream had that checksum, or nil.
func (r *repositories) find(checksum string) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[checksum]
	if h == nil {
		return nil
	}
	r.use(h)
	return h
}

func (r *repositories) use(h *held) {
	if h.users++; h.users == 1 {
		h.end.Stop()
		r.idle = without(r.idle, h)
	}
}

// await waits until a repository may arrive, in the order of the requests, and
// sets memory aside for it.
func (r *repositories) await(ctx context.Context) error {
	r.mu.Lock()
	if len(r.waiting) == 0 && r.room() {
		r.used += r.reserve
		r.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	r.waiting = append(r.waiting, turn)
	r.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-turn: // after all, and too late
		r.used -= r.reserve
	default:
		r.waiting = without(r.waiting, turn)
	}
	r.wake()
	return ctx.Err()
}

// room makes room for one more, at the price of trees that nobody uses.
func (r *repositories) room() bool {
	for r.used > r.limit-r.reserve && len(r.idle) > 0 {
		r.drop(r.idle[0])
	}
	return r.used <= r.limit-r.reserve
}

// drop forgets a tree that nobody uses.
func (r *repositories) drop(h *held) {
	if h.end != nil {
		h.end.Stop()
	}
	r.idle = without(r.idle, h)
	r.used -= h.tree.bytes
	h.tree = nil // a timer that is about to run holds h
	if r.held[h.checksum] == h {
		delete(r.held, h.checksum)
	}
}

// wake lets those in who have waited longest.
func (r *repositories) wake() {
	for len(r.waiting) > 0 && r.room() {
		r.used += r.reserve
		close(r.waiting[0])
		r.waiting = r.waiting[1:]
	}
}

// arrived gives back what a tree does not need of the memory that was set
// aside, all of it if there is none.
func (r *repositories) arrived(t *tree, checksum string) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.wake()
	r.used -= r.reserve
	if t == nil {
		return nil
	}
	r.used += t.bytes
	h := &held{of: r, checksum: checksum, tree: t, users: 1}
	if r.held[checksum] == nil {
		r.held[checksum] = h
	}
	return h
}

// release ends the use of a tree. It stays as long as its memory is not needed,
// if others can find it.
func (h *held) release() {
	r := h.of
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	r.idle = append(r.idle, h)
	if r.held[h.checksum] != h || r.keep <= 0 {
		r.drop(h)
	} else {
		h.end = time.AfterFunc(r.keep, func() {
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

func without[T comparable](list []T, one T) []T {
	if i := slices.Index(list, one); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
