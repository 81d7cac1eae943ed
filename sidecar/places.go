package sidecar

import (
	"context"
	"math"
	"slices"
	"sync"
)

// places are where renderings happen: so many at the same time, in the order of
// their coming.
//
// A rendering that had to be ended would most likely have to be ended again, and
// holds its place for as long as it may. Such components leave one place to the
// others, whether somebody waits for it or not: otherwise a few of them would
// stop all the rest. Where there is one place only, they come last.
type places struct {
	n int

	mu      sync.Mutex
	taken   int
	slow    int       // of those taken, by suspects
	waiting []*waiter // in the order of their coming
	suspect map[component]bool
	known   []component // the suspects, in the order of their coming
}

// component is what is rendered for an Application.
type component struct{ app, dir string }

// waiter waits for a place.
type waiter struct {
	who  component
	turn chan struct{}
	slow bool // it got its place as a suspect
}

// maxSuspects bounds the components that are remembered for having been ended.
const maxSuspects = 10_000

func newPlaces(n int) *places {
	if n <= 0 {
		n = math.MaxInt
	}
	return &places{n: n, suspect: map[component]bool{}}
}

// enter waits for a place. Who has one gives it back with what it returns.
func (p *places) enter(ctx context.Context, who component) (leave func(), err error) {
	p.mu.Lock()
	w := &waiter{who: who, turn: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.wake()
	p.mu.Unlock()
	leave = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if w.slow {
			p.slow--
		}
		p.wake()
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
	p.mu.Lock()
	late := !slices.Contains(p.waiting, w) // its turn came after all
	p.waiting = without(p.waiting, w)
	p.wake()
	p.mu.Unlock()
	if late {
		leave()
	}
	return nil, ctx.Err()
}

// wake lets those in who have waited longest, as far as they may.
func (p *places) wake() {
	for i := 0; i < len(p.waiting) && p.taken < p.n; {
		w := p.waiting[i]
		// It may have become one while it waited.
		w.slow = p.suspect[w.who]
		if w.slow && !p.roomForSuspect() {
			i++
			continue
		}
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.taken++
		if w.slow {
			p.slow++
		}
		close(w.turn)
	}
}

func (p *places) roomForSuspect() bool {
	if p.n == 1 {
		return !slices.ContainsFunc(p.waiting, func(w *waiter) bool { return !p.suspect[w.who] })
	}
	return p.slow < p.n-1
}

// judge remembers whether the rendering of a component had to be ended, or
// forgets that one before had to.
func (p *places) judge(who component, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended == p.suspect[who] {
		return
	}
	if !ended {
		delete(p.suspect, who)
		p.known = without(p.known, who)
		return
	}
	if len(p.known) == maxSuspects {
		delete(p.suspect, p.known[0])
		p.known = p.known[1:]
	}
	p.suspect[who] = true
	p.known = append(p.known, who)
}

// suspects is how many components leave a place to the others.
func (p *places) suspects() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.suspect)
}
