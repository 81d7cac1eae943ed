package sidecar

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// subject is what results are filed under: what is asked for whom. It does not
// tell apart everything that an answer depends on; the results themselves do.
type subject struct {
	task task.Name
	app  string
	dir  string
}

// result is an answer, and what it depends on.
type result struct {
	subject subject
	env     map[string]string
	read    repository.Answers // of the repository
	fetched map[string]string  // digests of what was fetched, by key
	answer  task.Answer
	err     error
	made    time.Time
	size    int64
}

// holds reports whether the answer is the same for another request: it would
// read the same of its repository, of its environment and of what lies elsewhere, and its
// time has not passed. The repository is asked before what lies elsewhere: that costs
// nothing.
func (r *result) holds(req *request) bool {
	until := r.answer.Output.Until
	return (until.IsZero() || time.Now().Before(until)) && maps.Equal(r.used(r.env), r.used(req.input.Env)) && r.read.Same(req.input.Repo) && req.fetch.same(r.fetched)
}

// used is an environment without what made no difference.
func (r *result) used(env map[string]string) map[string]string {
	env = maps.Clone(env)
	for _, name := range r.answer.Output.Unused {
		delete(env, name)
	}
	return env
}

// weigh is about what a result takes of memory.
func (r *result) weigh() {
	const perEntry = 128
	r.size = perEntry
	for q := range r.read {
		r.size += perEntry + int64(len(q.Path))
	}
	for key, digest := range r.fetched {
		r.size += perEntry + int64(len(key)+len(digest))
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
	all     *simplelru.LRU[*result, struct{}]
	of      map[subject][]*result // those of all, the one used longest ago first
	held    int64                 // bytes
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

// perSubject bounds the results of one subject. Several Applications may have
// one name in several places, or one Application several revisions in turn.
const perSubject = 4

func newResults(bytes int64, age time.Duration, report func(cacheEvent)) *results {
	all, _ := simplelru.NewLRU[*result, struct{}](math.MaxInt, nil) // fails for a size of 0 only
	return &results{bytes: bytes, age: age, report: report, all: all, of: map[subject][]*result{}, flights: map[subject]*flight{}}
}

// lookUp answers a request from memory, or with what the same request comes to that
// is under way. If there is neither, it returns a flight, whose answer it is on the
// caller to make, and to land.
func (c *results) lookUp(ctx context.Context, req *request) (task.Answer, cacheEvent, *flight, error) {
	for {
		if r := c.find(req); r != nil {
			c.report(hit)
			return r.answer, hit, nil, nil
		}
		f, isOurs := c.join(req)
		if isOurs {
			c.report(miss)
			return task.Answer{}, miss, f, nil
		}
		select {
		case <-f.landed:
		case <-ctx.Done():
			return task.Answer{}, miss, nil, timeoutError(ctx, req.dir, waitingForSame)
		}
		if r := f.result; r != nil && r.holds(req) {
			c.report(shared)
			return r.answer, shared, nil, r.err
		}
	}
}

// find looks for a result that holds for a request.
func (c *results) find(req *request) *result {
	c.mu.Lock()
	c.expire(time.Now())
	candidates := slices.Clone(c.of[req.subject])
	c.mu.Unlock()
	for _, r := range candidates {
		if !r.holds(req) {
			continue
		}
		c.mu.Lock()
		if _, known := c.all.Get(r); known { // or it was dropped meanwhile
			c.of[r.subject] = append(without(c.of[r.subject], r), r)
		}
		c.mu.Unlock()
		return r
	}
	return nil
}

// join returns the flight that a request is to wait for, or a new one, which is its
// own.
func (c *results) join(req *request) (f *flight, isOurs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[req.subject]; f != nil && f.epoch == c.epoch { // else what it began with no longer holds
		return f, false
	}
	f = &flight{of: c, epoch: c.epoch, landed: make(chan struct{}), subject: req.subject, env: req.input.Env, read: repository.Observe(req.input.Repo), fetch: req.input.Fetch, fetched: map[string]string{}}
	c.flights[req.subject] = f
	req.input.Repo = f.read
	if f.fetch != nil {
		req.input.Fetch = f.fetchObserved
	}
	return f, true
}

// flight is an answer that is being made, and that others wait for.
type flight struct {
	of      *results
	epoch   int // in which it began
	subject subject
	env     map[string]string
	read    *repository.Observed
	landed  chan struct{}
	result  *result // set before landed is closed; nil if it is of no use to others

	fetch   func(context.Context, string) (task.Found, error)
	mu      sync.Mutex
	fetched map[string]string
}

// fetchObserved fetches, and notes what it was, but for what is on its way.
func (f *flight) fetchObserved(ctx context.Context, key string) (task.Found, error) {
	found, err := f.fetch(ctx, key)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.fetched[key] = found.Digest
	}
	return found, err
}

// land remembers what came of the work and tells those who wait. Errors are not
// remembered, and those of the context or the machine, which have a status, are not
// even shared, unless the rendering had to be ended for what it did.
func (f *flight) land(a task.Answer, err error) {
	c := f.of
	read, complete := f.read.Seen()
	if complete { // else nobody can tell whether it holds for others
		r := &result{subject: f.subject, env: f.env, read: read, fetched: f.fetched, answer: a, err: err, made: time.Now()}
		var ended *task.Ended
		_, isAccident := status.FromError(err)
		if err == nil || !isAccident || errors.As(err, &ended) && ended.ByItself() {
			f.result = r
		}
		if err == nil {
			c.remember(r, f.epoch)
		}
	}
	c.mu.Lock()
	if c.flights[f.subject] == f {
		delete(c.flights, f.subject)
	}
	c.mu.Unlock()
	close(f.landed)
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
		c.drop(same[0], evicted)
	}
	for c.held+r.size > c.bytes {
		oldest, _, _ := c.all.GetOldest()
		c.drop(oldest, evicted)
	}
	c.all.Add(r, struct{}{})
	c.of[r.subject] = append(c.of[r.subject], r)
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
	for _, r := range c.all.Keys() {
		if now.Sub(r.made) >= c.age {
			c.drop(r, expired)
		}
	}
}

func (c *results) drop(r *result, why cacheEvent) {
	c.all.Remove(r)
	c.held -= r.size
	if c.of[r.subject] = without(c.of[r.subject], r); len(c.of[r.subject]) == 0 {
		delete(c.of, r.subject)
	}
	c.report(why)
}

// clear forgets all.
func (c *results) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.of, c.held = map[subject][]*result{}, 0
	c.all.Purge()
}

// size is what is remembered.
func (c *results) size() (bytes int64, entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held, c.all.Len()
}
