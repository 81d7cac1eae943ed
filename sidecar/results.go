package sidecar

import (
	"container/list"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"
)

// subject is what results are filed under: what is asked for whom. It does not
// tell apart everything that an answer depends on; the results themselves do.
type subject struct {
	task task
	app  string
	dir  string
}

// result is an answer, and what it depends on.
type result struct {
	subject subject
	env     map[string]string
	seen    map[question]digest
	answer  answer
	err     error
	made    time.Time
	size    int64
}

// holds reports whether the answer is the same for another request: it would
// read the same of its repository, of its environment and of what lies elsewhere.
func (r *result) holds(in Input) bool {
	counts := func(env map[string]string) map[string]string {
		env = maps.Clone(env)
		maps.DeleteFunc(env, func(name, _ string) bool { return slices.Contains(r.answer.Output.Unused, name) })
		return env
	}
	return maps.Equal(counts(r.env), counts(in.Env)) && same(r.seen, in)
}

// weigh is about what a result takes of memory.
func (r *result) weigh() {
	const perEntry = 128
	r.size = perEntry
	for q := range r.seen {
		r.size += perEntry + int64(len(q.Path))
	}
	for name, value := range r.env {
		r.size += perEntry + int64(len(name)+len(value))
	}
	for _, m := range r.answer.Output.Manifests {
		r.size += 16 + int64(len(m))
	}
	for _, remark := range r.answer.Output.Remarks {
		r.size += perEntry + int64(len(remark.Text))
	}
}

// results remembers answers, those used last the longest, in a bounded amount
// of memory and for a bounded time. Of requests with the same subject at the
// same time it lets one work, and the others wait for what comes of it.
type results struct {
	bytes  int64         // 0 remembers nothing
	age    time.Duration // 0 is no bound
	report func(cacheEvent)

	mu      sync.Mutex
	of      map[subject][]*list.Element
	order   *list.List // of *result, the last used first
	held    int64      // bytes
	flights map[subject]*flight
	epoch   int // counts how often all was forgotten
}

// cacheEvent is what becomes of a request, or of a result.
type cacheEvent string

const (
	hit     cacheEvent = "hit"     // answered from memory
	shared  cacheEvent = "shared"  // answered with what another request waited for
	miss    cacheEvent = "miss"    // worked for
	evicted cacheEvent = "evicted" // made room
	expired cacheEvent = "expired" // was too old
)

// flight is work that others wait for.
type flight struct {
	epoch  int // in which it began
	landed chan struct{}
	result *result // set before landed is closed; nil if it is of no use to others
}

// perSubject bounds the results of one subject. Several Applications may have
// one name in several places, or one Application several revisions in turn.
const perSubject = 4

func newResults(bytes int64, age time.Duration, report func(cacheEvent)) *results {
	return &results{bytes: bytes, age: age, report: report, of: map[subject][]*list.Element{}, order: list.New(), flights: map[subject]*flight{}}
}

// get answers a request: from memory, with what the same request comes to that
// is under way, or by work. Only what work says is shared; errors are not
// remembered, and those of ctx or the machine (which work wraps in a
// status error) are not even shared, unless the rendering had to be ended for
// what it did.
func (c *results) get(ctx context.Context, about subject, in Input, work func(Input) (answer, error)) (answer, cacheEvent, error) {
	for {
		if r := c.find(about, in); r != nil {
			c.report(hit)
			return r.answer, hit, nil
		}
		c.mu.Lock()
		under := c.flights[about]
		if under == nil || under.epoch != c.epoch { // what it began with no longer holds
			under = &flight{epoch: c.epoch, landed: make(chan struct{})}
			c.flights[about] = under
			c.mu.Unlock()
			c.report(miss)
			a, err := c.fly(under, about, in, work)
			return a, miss, err
		}
		c.mu.Unlock()
		select {
		case <-under.landed:
		case <-ctx.Done():
			return answer{}, miss, deadline(ctx, in.Dir, waitingForSame)
		}
		if r := under.result; r != nil && r.holds(in) {
			c.report(shared)
			return r.answer, shared, r.err
		}
	}
}

// fly works, remembers what comes of it and tells who waits.
func (c *results) fly(f *flight, about subject, in Input, work func(Input) (answer, error)) (answer, error) {
	defer func() {
		c.mu.Lock()
		if c.flights[about] == f {
			delete(c.flights, about)
		}
		c.mu.Unlock()
		close(f.landed)
	}()
	watched := observe(in.Repo)
	in.Repo, in.Fetch = watched, watched.watch(in.Fetch)
	a, err := work(in)
	r := &result{subject: about, env: in.Env, seen: watched.seen, answer: a, err: err, made: time.Now()}
	if watched.full {
		return a, err // nobody can tell whether it holds for others
	}
	var e *ended
	_, accident := status.FromError(err)
	if err == nil || !accident || errors.As(err, &e) && e.byItself() {
		f.result = r
	}
	if err == nil {
		c.remember(r, f.epoch)
	}
	return a, err
}

// find looks for a result that holds for a request.
func (c *results) find(about subject, in Input) *result {
	c.mu.Lock()
	c.expire(time.Now())
	candidates := slices.Clone(c.of[about])
	c.mu.Unlock()
	for _, e := range candidates {
		r := e.Value.(*result)
		if r.holds(in) {
			c.mu.Lock()
			c.order.MoveToFront(e) // does nothing if it was dropped meanwhile
			if same := c.of[about]; slices.Contains(same, e) {
				c.of[about] = append(without(same, e), e)
			}
			c.mu.Unlock()
			return r
		}
	}
	return nil
}

// remember keeps a result that was begun in an epoch.
func (c *results) remember(r *result, epoch int) {
	r.weigh()
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.size > c.bytes || epoch != c.epoch {
		return
	}
	if same := c.of[r.subject]; len(same) >= perSubject {
		c.drop(same[0], evicted) // the one used longest ago: see find
	}
	for c.held+r.size > c.bytes {
		c.drop(c.order.Back(), evicted)
	}
	c.of[r.subject] = append(c.of[r.subject], c.order.PushFront(r))
	c.held += r.size
}

// ageing drops what gets too old, whether it is asked for or not, and all when
// it is told to, until ctx ends.
func (c *results) ageing(ctx context.Context, forget <-chan struct{}) {
	var ticks <-chan time.Time
	if c.age > 0 {
		t := time.NewTicker(c.age/8 + 1)
		defer t.Stop()
		ticks = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks:
			c.mu.Lock()
			c.expire(now)
			c.mu.Unlock()
		case <-forget:
			c.clear()
		}
	}
}

// expire drops what is too old.
func (c *results) expire(now time.Time) {
	if c.age <= 0 {
		return
	}
	for e := c.order.Front(); e != nil; {
		next := e.Next()
		if now.Sub(e.Value.(*result).made) >= c.age {
			c.drop(e, expired)
		}
		e = next
	}
}

func (c *results) drop(e *list.Element, why cacheEvent) {
	r := c.order.Remove(e).(*result)
	c.held -= r.size
	c.of[r.subject] = slices.DeleteFunc(c.of[r.subject], func(other *list.Element) bool { return other == e })
	if len(c.of[r.subject]) == 0 {
		delete(c.of, r.subject)
	}
	c.report(why)
}

// clear forgets all.
func (c *results) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.of, c.held = map[subject][]*list.Element{}, 0
	c.order.Init()
}

// size is what is remembered.
func (c *results) size() (bytes int64, entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held, c.order.Len()
}
