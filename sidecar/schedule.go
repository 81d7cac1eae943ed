package sidecar

import (
	"cmp"
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
// The duration of a rendering cannot be predicted, and a tenant can make every one of
// its renderings new and endless. So the scheduler uses no history. Instead
//   - tenants take turns: the next rendering is that of the tenant with the fewest
//     running ones, then of the tenant that was served least recently. Requests of
//     one tenant are served in order of arrival;
//   - a rendering has its slot for a time slice. After that it must make room for
//     waiting ones: it moves to the background, where it has a low CPU priority;
//   - if there is no room in the background, it is stopped and restarted there later.
//     This only happens in favor of a tenant with fewer running ones.
//
// While no rendering waits, each keeps its slot until it is done.
type scheduler struct {
	n             int           // number of slots
	maxBackground int           // maximum number of renderings in the background
	render        time.Duration // time limit of a rendering; 0 means no limit
	// memory is the memory that renderings may use in total before another may
	// move to the background, in bytes; 0 means no limit.
	memory int64

	mu         sync.Mutex
	count      int // numbers arrivals and starts
	waiting    []*slot
	preempted  []*slot // were stopped, and wait to restart in the background
	running    []*slot // have a slot, oldest first
	background []*slot // run in the background
	restarting int     // number of renderings that are being stopped
	shares     map[level]*share
	timer      *time.Timer // set while a rendering waits
}

const (
	// slice is how long a rendering has its slot before it makes room for another
	// tenant. Most finish within it.
	slice = 250 * time.Millisecond
	// longSlice is how long a rendering has its slot before it makes room for its
	// own tenant, which gains little, and before it is restarted.
	longSlice = time.Second
	// minBackground is how long a rendering stays in the background before it is
	// restarted in favor of another one.
	minBackground = 5 * time.Second
	// checkInterval is how often the scheduler checks which renderings must make room.
	checkInterval = 50 * time.Millisecond
	// maxBackground limits the processes of renderings in the background.
	maxBackground = 8
)

// errPreempted ends a rendering that will start again.
var errPreempted = &task.Ended{Cause: task.Preempted, Err: errors.New("preempted by another rendering")}

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

// project identifies whom the memory of responses is shared between: AppProjects, or before Argo
// CD 3.0 repositories.
func (t tenant) project() string { return cmp.Or(t[ofProject], t[ofRepository], t[ofApplication]) }

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
	scheduler *scheduler
	tenant    tenant
	number    int           // order of arrival
	since     time.Time     // when it entered its current state
	ready     chan struct{} // closed when it may start

	ctx      context.Context // of the rendering
	end      context.CancelCauseFunc
	limit    *time.Timer // of --render-timeout
	until    time.Time   // when the limit expires
	restarts bool
	memory   atomic.Int64 // memory in use, as far as known

	onPreempt    func() // of the renderer; may be nil
	inBackground bool
}

// newScheduler returns a scheduler with n slots, or unlimited ones if n is 0, and
// limits for the time and memory of a rendering.
func newScheduler(n int, render time.Duration, memory int64) *scheduler {
	s := &scheduler{n: n, maxBackground: maxBackground, render: render, memory: int64(n) * memory, shares: map[level]*share{}}
	if n <= 0 {
		s.n, s.memory = math.MaxInt, 0
	}
	return s
}

// acquire waits until a rendering may start. The caller renders within the slot's
// ctx, and must release the slot.
func (s *scheduler) acquire(ctx context.Context, who tenant, wasPreempted bool) (*slot, error) {
	t := &slot{scheduler: s, tenant: who, since: time.Now(), ready: make(chan struct{})}
	t.ctx, t.end = context.WithCancelCause(ctx)
	s.mu.Lock()
	s.count++
	t.number = s.count
	if wasPreempted {
		s.preempted = append(s.preempted, t)
	} else {
		s.waiting = append(s.waiting, t)
	}
	for depth := range t.tenant {
		l := t.tenant.truncate(depth)
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
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	began := slices.Contains(s.running, t) || slices.Contains(s.background, t)
	for _, queue := range []*[]*slot{&s.waiting, &s.preempted, &s.running, &s.background} {
		*queue = remove(*queue, t)
	}
	for depth := range t.tenant {
		l := t.tenant.truncate(depth)
		of := s.shares[l]
		if began {
			of.active--
		}
		if of.slots--; of.slots == 0 {
			delete(s.shares, l)
		}
	}
	if t.restarts {
		s.restarting--
	}
	if t.limit != nil {
		t.limit.Stop()
	}
	t.end(nil)
	s.wake()
}

// wake starts waiting renderings where possible.
func (s *scheduler) wake() {
	for t := s.next(s.waiting); t != nil && (len(s.running) < s.n || s.freeSlot(t)); t = s.next(s.waiting) {
		s.waiting = remove(s.waiting, t)
		s.running = append(s.running, t)
		s.begin(t)
	}
	for t := s.next(s.preempted); t != nil && s.freeBackground(t); t = s.next(s.preempted) {
		s.preempted = remove(s.preempted, t)
		s.begin(t)
		s.moveToBackground(t)
	}
	if len(s.waiting)+len(s.preempted) > 0 && s.timer == nil {
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
	for depth := range a.tenant {
		if a.tenant.truncate(depth) == b.tenant.truncate(depth) {
			continue
		}
		x, y := s.shares[a.tenant.truncate(depth)], s.shares[b.tenant.truncate(depth)]
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
		x, y := a.tenant.truncate(depth), b.tenant.truncate(depth)
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
	for depth := range t.tenant {
		of := s.shares[t.tenant.truncate(depth)]
		of.active++
		of.served = s.count
	}
	if s.render > 0 {
		t.until = t.since.Add(s.render)
		t.limit = time.AfterFunc(s.render, t.endOvertime)
	}
	close(t.ready)
}

// whileKept runs a function after the rendering, which is within its time limit. If the slot is
// needed for another tenant, the context of the function ends, and the rendering starts again: a
// slot must not wait for memory that its own tenant uses.
func (t *slot) whileKept(ctx context.Context, do func(context.Context) error) error {
	t.scheduler.mu.Lock()
	if t.limit != nil {
		t.limit.Stop()
	}
	t.scheduler.mu.Unlock()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(t.ctx, func() { end(context.Cause(t.ctx)) })()
	if err := do(ctx); err != nil {
		if errors.Is(context.Cause(ctx), errPreempted) {
			return errPreempted
		}
		return err
	}
	return nil
}

// endOvertime ends a rendering that exceeded its time limit.
func (t *slot) endOvertime() {
	t.scheduler.mu.Lock()
	defer t.scheduler.mu.Unlock()
	t.end(&task.Ended{Cause: task.RenderTimeout, Err: &timeoutCause{limit: renderTime, duration: t.scheduler.render,
		since: t.until.Add(-t.scheduler.render)}})
}

// freeSlot makes a rendering leave its slot for a waiting one, and reports whether
// a slot is free.
func (s *scheduler) freeSlot(waiting *slot) bool {
	for _, t := range s.running { // the oldest comes first
		since := time.Since(t.since)
		if since < slice || since < longSlice && !s.differentTenants(t, waiting) {
			continue
		}
		if s.hasBackgroundRoom() {
			s.running = remove(s.running, t)
			s.moveToBackground(t)
			return true
		}
	}
	s.restart(s.running, longSlice, waiting)
	return false
}

// freeBackground is freeSlot for a rendering that will continue in the background.
func (s *scheduler) freeBackground(waiting *slot) bool {
	if s.hasBackgroundRoom() {
		return true
	}
	s.restart(s.background, minBackground, waiting)
	return false
}

// differentTenants reports whether two renderings belong to different tenants.
func (s *scheduler) differentTenants(a, b *slot) bool {
	return a.tenant.truncate(ofRepository) != b.tenant.truncate(ofRepository)
}

// hasBackgroundRoom reports whether another rendering may continue in the background.
// One always may, regardless of memory.
func (s *scheduler) hasBackgroundRoom() bool {
	if len(s.background) == 0 || s.memory == 0 {
		return len(s.background) < s.maxBackground
	}
	sum := s.memory / int64(s.n) / 2 // for the rendering that takes its slot
	for _, t := range slices.Concat(s.running, s.background) {
		sum += t.memory.Load()
	}
	return len(s.background) < s.maxBackground && sum <= s.memory
}

// moveToBackground moves a rendering to the background, where it continues with low
// CPU priority and gets more time.
func (s *scheduler) moveToBackground(t *slot) {
	s.background = append(s.background, t)
	if t.limit != nil && t.limit.Stop() {
		rest := time.Until(t.until) * time.Duration(s.maxBackground+s.n) / time.Duration(s.n)
		t.until = time.Now().Add(rest)
		t.limit.Reset(rest)
	}
	t.since, t.inBackground = time.Now(), true
	if t.onPreempt != nil {
		go t.onPreempt()
	}
}

// restart ends one rendering to make room for a waiting one. Candidates have run for at
// least after and belong to a tenant with more running renderings than the waiting
// tenant. It ends the most recently started rendering of the tenant with the most
// running ones, because that loses the least work.
func (s *scheduler) restart(of []*slot, after time.Duration, waiting *slot) {
	var last *slot
	for _, t := range of {
		if !t.restarts && time.Since(t.since) >= after && s.hasMoreActive(t, waiting) && (last == nil || !s.hasMoreActive(last, t)) {
			last = t
		}
	}
	if last != nil && s.restarting == 0 { // one at a time
		s.requestRestart(last)
	}
}

func (s *scheduler) requestRestart(t *slot) {
	t.restarts = true
	s.restarting++
	t.end(errPreempted)
}

// relieveMemory ends the rendering that moved to the background last, because memory is
// short.
func (s *scheduler) relieveMemory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.background); n > 0 && s.restarting == 0 {
		s.requestRestart(s.background[n-1])
	}
}

// OnPreempt implements task.Slot.
func (t *slot) OnPreempt(do func()) {
	t.scheduler.mu.Lock()
	defer t.scheduler.mu.Unlock()
	if t.onPreempt = do; t.inBackground {
		go do()
	}
}

// Uses implements task.Slot.
func (t *slot) Uses(bytes int64) { t.memory.Store(bytes) }

// RelieveMemory implements task.Slot.
func (t *slot) RelieveMemory() { t.scheduler.relieveMemory() }

// backgroundCount returns the number of renderings in the background.
func (s *scheduler) backgroundCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.background)
}
