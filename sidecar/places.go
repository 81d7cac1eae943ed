package sidecar

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// places are where renderings happen: so many at the same time, and fairly.
//
// Nobody knows beforehand how long a rendering will take, and a tenant can see to
// it that each of theirs is new and has no end. So nothing is remembered of those
// before. Instead
//
//   - tenants take turns: first comes whose tenant has the fewest renderings under
//     way, then whose tenant was served the longest time ago. Only among requests
//     of one tenant the order is that of their coming;
//   - a rendering has its place for a slice of time. After that it has to make
//     room for others that wait: it steps aside, where it goes on with what the
//     others leave of the processors;
//   - when there is no room aside, either, it is ended and begins again later,
//     there: it yields. So it does only for a tenant that has less under way.
//
// A rendering that nobody waits for keeps its place until it is done.
type places struct {
	n      int           // places
	aside  int           // how many may be aside
	render time.Duration // that a rendering may take; 0 is no bound
	// memory bounds what renderings take together before another may step aside,
	// in bytes; 0 is no bound.
	memory int64

	mu       sync.Mutex
	count    int // of all that came, and of all that were served
	fresh    []*turn
	slow     []*turn // have yielded, and wait to go on aside
	placed   []*turn // have a place; the first in it at the beginning
	beside   []*turn // are aside
	yielding int     // have been told to, and are still there
	shares   map[level]*share
	alarm    *time.Timer // set while somebody waits
}

const (
	// slice is how long a rendering has its place before it steps aside for
	// another tenant. Most are done by then.
	slice = 250 * time.Millisecond
	// longSlice is how long it has its place before it steps aside for its own
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
var errYield = errors.New("others go first")

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

// share is what a tenant has of the places.
type share struct {
	turns    int // that wait or are under way
	underWay int
	served   int // when it was served last, as places count
}

// turn is a rendering that waits or is under way.
type turn struct {
	of     *places
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

// newPlaces makes n places, or any number if n is 0, for renderings of which each
// may take so much time and memory.
func newPlaces(n int, render time.Duration, memory int64) *places {
	p := &places{n: n, aside: mostAside, render: render, memory: int64(n) * memory, shares: map[level]*share{}}
	if n <= 0 {
		p.n, p.memory = math.MaxInt, 0
	}
	return p
}

// enter waits until a rendering may begin. Whoever gets a turn ends it with leave,
// and renders within its ctx.
func (p *places) enter(ctx context.Context, who tenant, slow bool) (*turn, error) {
	t := &turn{of: p, who: who, came: time.Now(), slow: slow, ready: make(chan struct{})}
	t.ctx, t.end = context.WithCancelCause(ctx)
	p.mu.Lock()
	p.count++
	t.number = p.count
	if slow {
		p.slow = append(p.slow, t)
	} else {
		p.fresh = append(p.fresh, t)
	}
	for depth := range t.who {
		l := t.who.upTo(depth)
		if p.shares[l] == nil {
			p.shares[l] = &share{}
		}
		p.shares[l].turns++
	}
	p.wake()
	p.mu.Unlock()
	select {
	case <-t.ready:
		return t, nil
	default:
	}
	select {
	case <-t.ready:
		return t, nil
	case <-ctx.Done():
		t.leave()
		return nil, ctx.Err()
	}
}

// leave ends a turn, or the wait for it.
func (t *turn) leave() {
	p := t.of
	p.mu.Lock()
	defer p.mu.Unlock()
	began := slices.Contains(p.placed, t) || slices.Contains(p.beside, t)
	for _, queue := range []*[]*turn{&p.fresh, &p.slow, &p.placed, &p.beside} {
		*queue = without(*queue, t)
	}
	for depth := range t.who {
		l := t.who.upTo(depth)
		s := p.shares[l]
		if began {
			s.underWay--
		}
		if s.turns--; s.turns == 0 {
			delete(p.shares, l)
		}
	}
	if t.yields {
		p.yielding--
	}
	if t.limit != nil {
		t.limit.Stop()
	}
	t.end(nil)
	p.wake()
}

// wake lets those begin who may.
func (p *places) wake() {
	for t := p.next(p.fresh); t != nil && (len(p.placed) < p.n || p.makePlace(t)); t = p.next(p.fresh) {
		p.fresh = without(p.fresh, t)
		p.placed = append(p.placed, t)
		p.begin(t)
	}
	for t := p.next(p.slow); t != nil && p.makeRoom(t); t = p.next(p.slow) {
		p.slow = without(p.slow, t)
		p.begin(t)
		p.setAside(t)
	}
	if len(p.fresh)+len(p.slow) > 0 && p.alarm == nil {
		p.alarm = time.AfterFunc(look, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.alarm = nil
			p.wake()
		})
	}
}

// next is who comes next of those that wait.
func (p *places) next(of []*turn) *turn {
	if len(of) == 0 {
		return nil
	}
	return slices.MinFunc(of, p.order)
}

// order compares two that wait.
func (p *places) order(a, b *turn) int {
	for depth := range a.who {
		if a.who.upTo(depth) == b.who.upTo(depth) {
			continue
		}
		x, y := p.shares[a.who.upTo(depth)], p.shares[b.who.upTo(depth)]
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
func (p *places) hasMore(a, b *turn) bool {
	for depth := range ofApplication {
		x, y := a.who.upTo(depth), b.who.upTo(depth)
		if x != y {
			return p.shares[x].underWay > p.shares[y].underWay
		}
	}
	return false
}

// begin gives one that has waited its time to render.
func (p *places) begin(t *turn) {
	t.came = time.Now()
	p.count++
	for depth := range t.who {
		s := p.shares[t.who.upTo(depth)]
		s.underWay++
		s.served = p.count
	}
	if p.render > 0 {
		t.until = t.came.Add(p.render)
		t.limit = time.AfterFunc(p.render, func() { t.overtime() })
	}
	close(t.ready)
}

// overtime ends a rendering that took too long.
func (t *turn) overtime() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.end(&overdue{limit: renderTime, allows: t.of.render, since: t.until.Add(-t.of.render)})
}

// makePlace has somebody leave a place to one that waits, and reports whether it
// is free.
func (p *places) makePlace(waits *turn) bool {
	for _, t := range p.placed { // who has a place the longest comes first
		since := time.Since(t.came)
		if since < slice || since < longSlice && !p.others(t, waits) {
			continue
		}
		if p.roomAside() {
			p.placed = without(p.placed, t)
			p.setAside(t)
			return true
		}
	}
	p.yield(p.placed, longSlice, waits)
	return false
}

// makeRoom is makePlace for one that is to go on aside.
func (p *places) makeRoom(waits *turn) bool {
	if p.roomAside() {
		return true
	}
	p.yield(p.beside, stay, waits)
	return false
}

// others reports whether two are of different tenants.
func (p *places) others(a, b *turn) bool {
	return a.who.upTo(ofRepository) != b.who.upTo(ofRepository)
}

// roomAside reports whether another may go on aside. One may, whatever it takes.
func (p *places) roomAside() bool {
	if len(p.beside) == 0 || p.memory == 0 {
		return len(p.beside) < p.aside
	}
	sum := p.memory / int64(p.n) / 2 // for who comes instead
	for _, t := range slices.Concat(p.placed, p.beside) {
		sum += t.memory.Load()
	}
	return len(p.beside) < p.aside && sum <= p.memory
}

// setAside has a rendering go on with what others leave of the processors, and
// gives it more time for that.
func (p *places) setAside(t *turn) {
	p.beside = append(p.beside, t)
	if t.limit != nil && t.limit.Stop() {
		rest := time.Until(t.until) * time.Duration(p.aside+p.n) / time.Duration(p.n)
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
func (p *places) yield(of []*turn, after time.Duration, waits *turn) {
	var last *turn
	for _, t := range of {
		if !t.yields && time.Since(t.came) >= after && p.hasMore(t, waits) && (last == nil || !p.hasMore(last, t)) {
			last = t
		}
	}
	if last != nil && p.yielding == 0 { // one after the other
		p.tellToYield(last)
	}
}

func (p *places) tellToYield(t *turn) {
	t.yields = true
	p.yielding++
	t.end(errYield)
}

// relieve ends the rendering that stepped aside last, since memory is short.
func (p *places) relieve() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.beside); n > 0 && p.yielding == 0 {
		p.tellToYield(p.beside[n-1])
	}
}

// onStepAside says what to do when the rendering steps aside. If it already has, it is
// done at once.
func (t *turn) onStepAside(do func()) {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.stepsAside = do; t.isAside {
		go do()
	}
}

// takes notes what memory the rendering takes.
func (t *turn) takes(bytes int64) {
	if t != nil {
		t.memory.Store(bytes)
	}
}

// short says that all renderings together take too much memory.
func (t *turn) short() {
	if t != nil {
		t.of.relieve()
	}
}

// besides is how many renderings are aside.
func (p *places) besides() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.beside)
}
