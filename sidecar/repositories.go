package sidecar

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/repository"
)

// repositories are the trees in memory: those that requests work on, and those
// that the next request may name by the checksum of its stream, since Argo CD
// sends a commit once for each Application in it.
//
// Nobody knows how large one will be that arrives. Memory is set aside for it in
// steps, as it grows. Half of several could so take all the memory, and wait for
// each other without end; therefore all that arrive, but for the largest of
// them, take no more together than what the largest possible one leaves. So that
// one can always go on, and after it the next.
type repositories struct {
	limit int64         // of all together, in bytes as Limits counts
	most  int64         // that one may take; 0 is no limit
	step  int64         // in which memory is set aside
	keep  time.Duration // how long a tree stays that nobody uses

	mu       sync.Mutex
	used     int64                   // by trees, and set aside for those that arrive
	held     map[string]*heldTree    // by checksum
	idle     []*heldTree             // the one used last at the end
	coming   map[string]*reservation // by checksum
	arriving map[*reservation]bool   // those that have begun
	growing  []*reservation          // wait for memory, in the order of their coming
	waiting  []*reservation          // wait to begin
	twins    int                     // wait for one that arrives
}

// reservation is memory that is set aside for a tree that arrives.
type reservation struct {
	of       *repositories
	checksum string
	took     int64         // set aside
	want     int64         // to be set aside, while it waits
	granted  chan struct{} // closed when it is
	over     chan struct{} // closed when the tree is there, or will not come
}

// heldTree is a tree in memory.
type heldTree struct {
	of       *repositories
	checksum string
	tree     *repository.Tree
	users    int
	end      *time.Timer // runs while nobody uses it
}

// maxStep and minStep bound the steps in which memory is set aside.
const (
	maxStep = 4 << 20
	minStep = 64 << 10
)

func newRepositories(limit, most int64, keep time.Duration) *repositories {
	if limit == 0 {
		limit = math.MaxInt64
	}
	r := &repositories{limit: limit, most: most, step: maxStep, keep: keep, held: map[string]*heldTree{}, coming: map[string]*reservation{}, arriving: map[*reservation]bool{}}
	if most > 0 {
		r.step = min(max(most/64, minStep), maxStep, most)
	}
	return r
}

// size is the memory that trees take, in steps as far as they have arrived.
func (r *repositories) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// wanted reports whether somebody waits for what others hold: memory, or a
// repository that arrives.
func (r *repositories) wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.growing)+len(r.waiting)+r.twins > 0
}

// short is how many wait for memory.
func (r *repositories) short() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.growing) + len(r.waiting)
}

func (r *repositories) use(h *heldTree) {
	if h.users++; h.users == 1 {
		h.end.Stop()
		r.idle = without(r.idle, h)
	}
}

// await returns the tree whose stream had that checksum; that of one which is
// arriving is waited for. If there is none, it waits until one may begin to
// arrive, in the order of the requests. doing is told what is waited for.
func (r *repositories) await(ctx context.Context, checksum string, doing func(activity)) (*heldTree, *reservation, error) {
	for {
		r.mu.Lock()
		if h := r.held[checksum]; h != nil {
			r.use(h)
			r.mu.Unlock()
			return h, nil, nil
		}
		other := r.coming[checksum]
		if other == nil {
			break
		}
		r.twins++
		r.mu.Unlock()
		doing(waitingForTwin)
		select {
		case <-other.over:
		case <-ctx.Done():
		}
		r.mu.Lock()
		r.twins--
		r.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	a := &reservation{of: r, checksum: checksum, want: r.step, over: make(chan struct{})}
	r.coming[checksum] = a
	r.mu.Unlock()
	doing(waitingForMemory)
	if err := a.wait(ctx, &r.waiting); err != nil {
		r.arrived(a, nil)
		return nil, nil, err
	}
	return nil, a, nil
}

// grow sets memory aside for a tree that needs so much, and waits for it if need
// be.
func (a *reservation) grow(ctx context.Context, need int64) error {
	if need <= a.took {
		return nil
	}
	r := a.of
	a.want = need
	if rest := need % r.step; rest > 0 && need <= math.MaxInt64-r.step {
		a.want += r.step - rest
	}
	if r.most > 0 {
		a.want = max(need, min(a.want, r.most))
	}
	return a.wait(ctx, &r.growing)
}

// wait waits in a queue for what it wants.
func (a *reservation) wait(ctx context.Context, queue *[]*reservation) error {
	r := a.of
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
	*queue = without(*queue, a)
	r.wake()
	return ctx.Err()
}

// take sets aside what one that waits wants, if it can be.
func (r *repositories) take(a *reservation) bool {
	sum, largest := a.want, a.want
	for other := range r.arriving {
		if other != a {
			sum += other.took
			largest = max(largest, other.took)
		}
	}
	if sum-largest > r.limit-r.most {
		return false
	}
	more := a.want - a.took
	for r.used > r.limit-more && len(r.idle) > 0 {
		r.drop(r.idle[0])
	}
	if r.used > r.limit-more {
		return false
	}
	r.used += more
	a.took = a.want
	r.arriving[a] = true
	close(a.granted)
	return true
}

// drop forgets a tree that nobody uses.
func (r *repositories) drop(h *heldTree) {
	if h.end != nil {
		h.end.Stop()
	}
	r.idle = without(r.idle, h)
	r.used -= h.tree.Bytes
	h.tree = nil // a timer that is about to run holds h
	if r.held[h.checksum] == h {
		delete(r.held, h.checksum)
	}
}

// wake gives memory to those that wait. Those that have begun come first, and
// nobody begins before they have what they want.
func (r *repositories) wake() {
	r.growing = slices.DeleteFunc(r.growing, r.take)
	if len(r.growing) > 0 {
		return
	}
	for len(r.waiting) > 0 && r.take(r.waiting[0]) {
		r.waiting = r.waiting[1:]
	}
}

// arrived gives back what a tree does not need of the memory that was set
// aside, all of it if there is none.
func (r *repositories) arrived(a *reservation, t *repository.Tree) *heldTree {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.wake()
	r.used -= a.took
	a.took = 0
	delete(r.arriving, a)
	delete(r.coming, a.checksum)
	close(a.over)
	if t == nil {
		return nil
	}
	r.used += t.Bytes
	h := &heldTree{of: r, checksum: a.checksum, tree: t, users: 1}
	r.held[a.checksum] = h
	return h
}

// release ends the use of a tree. It stays as long as its memory is not needed,
// if others can find it.
func (h *heldTree) release() {
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
