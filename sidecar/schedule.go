package sidecar

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// scheduler decides when renderings run: with limited concurrency, and fairly.
//
// The duration of a rendering cannot be predicted, and a tenant can make each of
// theirs new and endless. So the scheduler uses no history. Instead
//   - tenants take turns: the next rendering is that of the tenant with the fewest
//     running ones, then of the tenant that was served least recently. Requests of
//     one tenant are served in order of arrival;
//   - a rendering has its slot for a time slice. After that it must make room for
//     waiting ones: it steps aside and continues with low CPU priority;
//   - if there is no room aside either, it yields: it ends, and starts again later,
//     aside. It only yields to a tenant with fewer running ones.
//
// While no rendering waits, each keeps its slot until it is done.
type scheduler struct {
	n      int           // number of slots
	most   int           // maximum number of renderings aside
	render time.Duration // time limit of a rendering; 0 means no limit
	// memory is the memory that renderings may use in total before another may step
	// aside, in bytes; 0 means no limit.
	memory int64

	mu       sync.Mutex
	count    int // numbers arrivals and starts
	fresh    []*slot
	slow     []*slot // have yielded, and wait to continue aside
	running  []*slot // have a slot, oldest first
	aside    []*slot // have stepped aside
	yielding int     // number of renderings that were told to yield and have not ended
	shares   map[level]*share
	timer    *time.Timer // set while a rendering waits
}

const (
	// slice is how long a rendering has its slot before it steps aside for another
	// tenant. Most finish within it.
	slice = 250 * time.Millisecond
	// longSlice is how long a rendering has its slot before it steps aside for its
	// own tenant, which gains little, and before it yields.
	longSlice = time.Second
	// stay is how long a rendering stays aside before it yields to a later one.
	minAside = 5 * time.Second
	// look is the interval for checking which rendering must step aside.
	checkInterval = 50 * time.Millisecond
	// maxAside limits the processes of renderings aside.
	maxAside = 8
)

// errYield ends a rendering that will start again.
var errYield = &task.Ended{Cause: task.Preempted, Err: errors.New("others go first")}

// tenant identifies whom a rendering is for, from the outside in: AppProject,
// repository and Application. Argo CD sets all of them, and Applications cannot
// change them.
type tenant [3]string

// tenantVariables are the environment variables of a tenant. Argo CD sets the
// AppProject since 3.0.
var tenantVariables = tenant{"ARGOCD_APP_PROJECT_NAME", "ARGOCD_APP_SOURCE_REPO_URL", appName}

// The levels of a tenant.
const (
	ofProject = iota
	ofRepository
	ofApplication
)

// level is a tenant, truncated to one of the levels.
type level struct {
	depth int
	tenant
}

func (t tenant) truncate(depth int) level {
	l := level{depth: depth}
	copy(l.tenant[:depth+1], t[:])
	return l
}

// share counts the slots of a tenant.
type share struct {
	slots  int // waiting or running
	active int
	served int // when it was last served, as counted by the scheduler
}

// slot is a waiting or running rendering.
type slot struct {
	of     *scheduler
	who    tenant
	number int           // order of arrival
	since  time.Time     // when it entered its current state
	ready  chan struct{} // closed when it may start
	slow   bool          // has yielded before

	ctx    context.Context // of the rendering
	end    context.CancelCauseFunc
	limit  *time.Timer // of --render-timeout
	until  time.Time   // when the limit expires
	yields bool
	memory atomic.Int64 // memory in use, as far as known

	onStepAside func() // of the renderer; may be nil
	isAside     bool
}

// newScheduler returns a scheduler with n slots, or unlimited ones if n is 0, and
// limits for the time and memory of a rendering.
func newScheduler(n int, render time.Duration, memory int64) *scheduler {
	s := &scheduler{n: n, most: maxAside, render: render, memory: int64(n) * memory, shares: map[level]*share{}}
	if n <= 0 {
		s.n, s.memory = math.MaxInt, 0
	}
	return s
}

// acquire waits until a rendering may start. The caller renders within the slot's
// ctx, and must release the slot.
func (s *scheduler) acquire(ctx context.Context, who tenant, slow bool) (*slot, error) {
	t := &slot{of: s, who: who, since: time.Now(), slow: slow, ready: make(chan struct{})}
	t.ctx, t.end = context.WithCancelCause(ctx)
	s.mu.Lock()
	s.count++
	t.number = s.count
	if slow {
		s.slow = append(s.slow, t)
	} else {
		s.fresh = append(s.fresh, t)
	}
	for depth := range t.who {
		l := t.who.truncate(depth)
		if s.shares[l] == nil {
			s.shares[l] = &share{}
		}
		s.shares[l].slots++
	}
	s.wake()
	s.mu.Unlock()
	select {
	case <-t.ready:
		return t, nil
	default:
	}
	select {
	case <-t.ready:
		return t, nil
	case <-ctx.Done():
		t.release()
		return nil, ctx.Err()
	}
}

// release releases a slot, or ends waiting for it.
func (t *slot) release() {
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()
	began := slices.Contains(s.running, t) || slices.Contains(s.aside, t)
	for _, queue := range []*[]*slot{&s.fresh, &s.slow, &s.running, &s.aside} {
		*queue = without(*queue, t)
	}
	for depth := range t.who {
		l := t.who.truncate(depth)
		of := s.shares[l]
		if began {
			of.active--
		}
		if of.slots--; of.slots == 0 {
			delete(s.shares, l)
		}
	}
	if t.yields {
		s.yielding--
	}
	if t.limit != nil {
		t.limit.Stop()
	}
	t.end(nil)
	s.wake()
}

// wake starts waiting renderings where possible.
func (s *scheduler) wake() {
	for t := s.next(s.fresh); t != nil && (len(s.running) < s.n || s.freeSlot(t)); t = s.next(s.fresh) {
		s.fresh = without(s.fresh, t)
		s.running = append(s.running, t)
		s.begin(t)
	}
	for t := s.next(s.slow); t != nil && s.freeAside(t); t = s.next(s.slow) {
		s.slow = without(s.slow, t)
		s.begin(t)
		s.setAside(t)
	}
	if len(s.fresh)+len(s.slow) > 0 && s.timer == nil {
		s.timer = time.AfterFunc(checkInterval, s.checkAgain)
	}
}

func (s *scheduler) checkAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	s.wake()
}

// next returns the waiting rendering to start next.
func (s *scheduler) next(of []*slot) *slot {
	if len(of) == 0 {
		return nil
	}
	return slices.MinFunc(of, s.order)
}

// order compares two waiting renderings.
func (s *scheduler) order(a, b *slot) int {
	for depth := range a.who {
		if a.who.truncate(depth) == b.who.truncate(depth) {
			continue
		}
		x, y := s.shares[a.who.truncate(depth)], s.shares[b.who.truncate(depth)]
		if x.active != y.active {
			return x.active - y.active
		}
		if x.served != y.served {
			return x.served - y.served
		}
		break
	}
	return a.number - b.number
}

// hasMoreActive reports whether a's tenant has more running renderings than b's.
// Applications of one repository count as one tenant.
func (s *scheduler) hasMoreActive(a, b *slot) bool {
	for depth := range ofApplication {
		x, y := a.who.truncate(depth), b.who.truncate(depth)
		if x != y {
			return s.shares[x].active > s.shares[y].active
		}
	}
	return false
}

// begin starts the time limit of a rendering that has waited.
func (s *scheduler) begin(t *slot) {
	t.since = time.Now()
	s.count++
	for depth := range t.who {
		of := s.shares[t.who.truncate(depth)]
		of.active++
		of.served = s.count
	}
	if s.render > 0 {
		t.until = t.since.Add(s.render)
		t.limit = time.AfterFunc(s.render, t.endOvertime)
	}
	close(t.ready)
}

// endOvertime ends a rendering that exceeded its time limit.
func (t *slot) endOvertime() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.end(&task.Ended{Cause: task.RenderTimeout, Err: &timeoutCause{limit: renderTime, duration: t.of.render, since: t.until.Add(-t.of.render)}})
}

// freeSlot makes a rendering leave its slot for a waiting one, and reports whether
// a slot is free.
func (s *scheduler) freeSlot(waits *slot) bool {
	for _, t := range s.running { // the oldest comes first
		since := time.Since(t.since)
		if since < slice || since < longSlice && !s.differentTenants(t, waits) {
			continue
		}
		if s.hasRoomAside() {
			s.running = without(s.running, t)
			s.setAside(t)
			return true
		}
	}
	s.yield(s.running, longSlice, waits)
	return false
}

// freeAside is freeSlot for a rendering that will continue aside.
func (s *scheduler) freeAside(waits *slot) bool {
	if s.hasRoomAside() {
		return true
	}
	s.yield(s.aside, minAside, waits)
	return false
}

// differentTenants reports whether two renderings belong to different tenants.
func (s *scheduler) differentTenants(a, b *slot) bool {
	return a.who.truncate(ofRepository) != b.who.truncate(ofRepository)
}

// hasRoomAside reports whether another rendering may continue aside. One always may,
// regardless of memory.
func (s *scheduler) hasRoomAside() bool {
	if len(s.aside) == 0 || s.memory == 0 {
		return len(s.aside) < s.most
	}
	sum := s.memory / int64(s.n) / 2 // for the rendering that takes its slot
	for _, t := range slices.Concat(s.running, s.aside) {
		sum += t.memory.Load()
	}
	return len(s.aside) < s.most && sum <= s.memory
}

// setAside moves a rendering aside, where it continues with low CPU priority and
// gets more time.
func (s *scheduler) setAside(t *slot) {
	s.aside = append(s.aside, t)
	if t.limit != nil && t.limit.Stop() {
		rest := time.Until(t.until) * time.Duration(s.most+s.n) / time.Duration(s.n)
		t.until = time.Now().Add(rest)
		t.limit.Reset(rest)
	}
	t.since, t.isAside = time.Now(), true
	if t.onStepAside != nil {
		go t.onStepAside()
	}
}

// yield ends a rendering in favor of a waiting one: among those that have run long
// enough, that of the tenant with the most running ones, and the latest of these,
// which loses least. It ends none of a tenant that has no more running ones than
// the waiting tenant.
func (s *scheduler) yield(of []*slot, after time.Duration, waits *slot) {
	var last *slot
	for _, t := range of {
		if !t.yields && time.Since(t.since) >= after && s.hasMoreActive(t, waits) && (last == nil || !s.hasMoreActive(last, t)) {
			last = t
		}
	}
	if last != nil && s.yielding == 0 { // one at a time
		s.requestYield(last)
	}
}

func (s *scheduler) requestYield(t *slot) {
	t.yields = true
	s.yielding++
	t.end(errYield)
}

// relieveMemory ends the rendering that stepped aside last, because memory is
// short.
func (s *scheduler) relieveMemory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.aside); n > 0 && s.yielding == 0 {
		s.requestYield(s.aside[n-1])
	}
}

// OnStepAside implements task.Slot.
func (t *slot) OnStepAside(do func()) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.onStepAside = do; t.isAside {
		go do()
	}
}

// Uses implements task.Slot.
func (t *slot) Uses(bytes int64) { t.memory.Store(bytes) }

// RelieveMemory implements task.Slot.
func (t *slot) RelieveMemory() { t.of.relieveMemory() }

// asideCount returns the number of renderings aside.
func (s *scheduler) asideCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.aside)
}
