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

// scheduler says where renderings happen: so many at the same time, and fairly.
//
// Nobody knows beforehand how long a rendering will take, and a tenant can see to
// it that each of theirs is new and has no end. So nothing is remembered of those
// before. Instead
//
//   - tenants take turns: first comes whose tenant has the fewest renderings under
//     way, then whose tenant was served the longest time ago. Only among requests
//     of one tenant the order is that of their coming;
//   - a rendering has its slot for a slice of time. After that it has to make
//     room for others that wait: it steps aside, where it goes on with what the
//     others leave of the processors;
//   - when there is no room aside, either, it is ended and begins again later,
//     there: it yields. So it does only for a tenant that has less under way.
//
// A rendering that nobody waits for keeps its slot until it is done.
type scheduler struct {
	n      int           // slots
	most   int           // how many may be aside
	render time.Duration // that a rendering may take; 0 is no bound
	// memory bounds what renderings take together before another may step aside,
	// in bytes; 0 is no bound.
	memory int64

	mu       sync.Mutex
	count    int // of all that came, and of all that were served
	fresh    []*slot
	slow     []*slot // have yielded, and wait to go on aside
	running  []*slot // have a slot; the first in it at the beginning
	aside    []*slot // are aside
	yielding int     // have been told to, and are still there
	shares   map[level]*share
	alarm    *time.Timer // set while somebody waits
}

const (
	// slice is how long a rendering has its slot before it steps aside for
	// another tenant. Most are done by then.
	slice = 250 * time.Millisecond
	// longSlice is how long it has its slot before it steps aside for its own
	// tenant, which gains little by that, and before it yields.
	longSlice = time.Second
	// stay is how long it is aside before it yields to one that came later.
	stay = 5 * time.Second
	// look is how often it is looked at who is to step aside.
	look = 50 * time.Millisecond
	// mostAside bounds the processes of renderings that are aside.
	mostAside = 8
)

// errYield ends a rendering that is to begin again.
var errYield = &task.Ended{Cause: task.Yielded, Err: errors.New("others go first")}

// tenant is who a rendering is for, from the outside in: AppProject, repository
// and Application. All that Argo CD says of it, and no Application can change.
type tenant [3]string

// tenantVariables say who a request is for. Argo CD has told the AppProject since
// 3.0.
var tenantVariables = tenant{"ARGOCD_APP_PROJECT_NAME", "ARGOCD_APP_SOURCE_REPO_URL", appName}

// levels of a tenant.
const (
	ofProject = iota
	ofRepository
	ofApplication
)

// level is a tenant, up to one of the levels.
type level struct {
	depth int
	tenant
}

func (t tenant) upTo(depth int) level {
	l := level{depth: depth}
	copy(l.tenant[:depth+1], t[:])
	return l
}

// share is what a tenant has of the slots.
type share struct {
	slots    int // that wait or are under way
	underWay int
	served   int // when it was served last, as the scheduler counts
}

// slot is a rendering that waits or is under way.
type slot struct {
	of     *scheduler
	who    tenant
	number int           // in the order of coming
	came   time.Time     // where it is now
	ready  chan struct{} // closed when it may begin
	slow   bool          // it has yielded before

	ctx    context.Context // of the rendering
	end    context.CancelCauseFunc
	limit  *time.Timer // of --render-timeout
	until  time.Time   // when that is over
	yields bool
	memory atomic.Int64 // that it takes, as far as is known

	stepsAside func() // of who renders; may be nil
	isAside    bool
}

// newScheduler makes n slots, or any number if n is 0, for renderings of which each
// may take so much time and memory.
func newScheduler(n int, render time.Duration, memory int64) *scheduler {
	s := &scheduler{n: n, most: mostAside, render: render, memory: int64(n) * memory, shares: map[level]*share{}}
	if n <= 0 {
		s.n, s.memory = math.MaxInt, 0
	}
	return s
}

// acquire waits until a rendering may begin. Whoever gets a slot gives it back with
// release,
// and renders within its ctx.
func (s *scheduler) acquire(ctx context.Context, who tenant, slow bool) (*slot, error) {
	t := &slot{of: s, who: who, came: time.Now(), slow: slow, ready: make(chan struct{})}
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
		l := t.who.upTo(depth)
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

// release gives a slot back, or ends the wait for it.
func (t *slot) release() {
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()
	began := slices.Contains(s.running, t) || slices.Contains(s.aside, t)
	for _, queue := range []*[]*slot{&s.fresh, &s.slow, &s.running, &s.aside} {
		*queue = without(*queue, t)
	}
	for depth := range t.who {
		l := t.who.upTo(depth)
		of := s.shares[l]
		if began {
			of.underWay--
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

// wake lets those begin who may.
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
	if len(s.fresh)+len(s.slow) > 0 && s.alarm == nil {
		s.alarm = time.AfterFunc(look, s.lookAgain)
	}
}

func (s *scheduler) lookAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarm = nil
	s.wake()
}

// next is who comes next of those that wait.
func (s *scheduler) next(of []*slot) *slot {
	if len(of) == 0 {
		return nil
	}
	return slices.MinFunc(of, s.order)
}

// order compares two that wait.
func (s *scheduler) order(a, b *slot) int {
	for depth := range a.who {
		if a.who.upTo(depth) == b.who.upTo(depth) {
			continue
		}
		x, y := s.shares[a.who.upTo(depth)], s.shares[b.who.upTo(depth)]
		if x.underWay != y.underWay {
			return x.underWay - y.underWay
		}
		if x.served != y.served {
			return x.served - y.served
		}
		break
	}
	return a.number - b.number
}

// hasMore compares what the tenants of two have under way, and reports whether a's is
// more. Applications of one repository are one tenant.
func (s *scheduler) hasMore(a, b *slot) bool {
	for depth := range ofApplication {
		x, y := a.who.upTo(depth), b.who.upTo(depth)
		if x != y {
			return s.shares[x].underWay > s.shares[y].underWay
		}
	}
	return false
}

// begin gives one that has waited its time to render.
func (s *scheduler) begin(t *slot) {
	t.came = time.Now()
	s.count++
	for depth := range t.who {
		of := s.shares[t.who.upTo(depth)]
		of.underWay++
		of.served = s.count
	}
	if s.render > 0 {
		t.until = t.came.Add(s.render)
		t.limit = time.AfterFunc(s.render, t.overtime)
	}
	close(t.ready)
}

// overtime ends a rendering that took too long.
func (t *slot) overtime() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.end(&task.Ended{Cause: task.RenderTimeout, Err: &overdue{limit: renderTime, allows: t.of.render, since: t.until.Add(-t.of.render)}})
}

// freeSlot has somebody leave a slot to one that waits, and reports whether it
// is free.
func (s *scheduler) freeSlot(waits *slot) bool {
	for _, t := range s.running { // who has a slot the longest comes first
		since := time.Since(t.came)
		if since < slice || since < longSlice && !s.others(t, waits) {
			continue
		}
		if s.roomAside() {
			s.running = without(s.running, t)
			s.setAside(t)
			return true
		}
	}
	s.yield(s.running, longSlice, waits)
	return false
}

// freeAside is freeSlot for one that is to go on aside.
func (s *scheduler) freeAside(waits *slot) bool {
	if s.roomAside() {
		return true
	}
	s.yield(s.aside, stay, waits)
	return false
}

// others reports whether two are of different tenants.
func (s *scheduler) others(a, b *slot) bool {
	return a.who.upTo(ofRepository) != b.who.upTo(ofRepository)
}

// roomAside reports whether another may go on aside. One may, whatever it takes.
func (s *scheduler) roomAside() bool {
	if len(s.aside) == 0 || s.memory == 0 {
		return len(s.aside) < s.most
	}
	sum := s.memory / int64(s.n) / 2 // for who comes instead
	for _, t := range slices.Concat(s.running, s.aside) {
		sum += t.memory.Load()
	}
	return len(s.aside) < s.most && sum <= s.memory
}

// setAside has a rendering go on with what others leave of the processors, and
// gives it more time for that.
func (s *scheduler) setAside(t *slot) {
	s.aside = append(s.aside, t)
	if t.limit != nil && t.limit.Stop() {
		rest := time.Until(t.until) * time.Duration(s.most+s.n) / time.Duration(s.n)
		t.until = time.Now().Add(rest)
		t.limit.Reset(rest)
	}
	t.came, t.isAside = time.Now(), true
	if t.stepsAside != nil {
		go t.stepsAside()
	}
}

// yield ends a rendering for one that waits: of those that have been there for
// some time that whose tenant has most under way, and of these the last to come,
// which loses least. It ends none of a tenant that has no more than the other's.
func (s *scheduler) yield(of []*slot, after time.Duration, waits *slot) {
	var last *slot
	for _, t := range of {
		if !t.yields && time.Since(t.came) >= after && s.hasMore(t, waits) && (last == nil || !s.hasMore(last, t)) {
			last = t
		}
	}
	if last != nil && s.yielding == 0 { // one after the other
		s.tellToYield(last)
	}
}

func (s *scheduler) tellToYield(t *slot) {
	t.yields = true
	s.yielding++
	t.end(errYield)
}

// relieveMemory ends the rendering that stepped aside last, since memory is short.
func (s *scheduler) relieveMemory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.aside); n > 0 && s.yielding == 0 {
		s.tellToYield(s.aside[n-1])
	}
}

// OnStepAside implements task.Slot.
func (t *slot) OnStepAside(do func()) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.stepsAside = do; t.isAside {
		go do()
	}
}

// Uses implements task.Slot.
func (t *slot) Uses(bytes int64) { t.memory.Store(bytes) }

// RelieveMemory implements task.Slot.
func (t *slot) RelieveMemory() { t.of.relieveMemory() }

// asideCount is how many renderings are aside.
func (s *scheduler) asideCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.aside)
}
