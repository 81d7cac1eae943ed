package sidecar

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/lru"
	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// subject is the key of cached results: the task and its Application. Results with
// one subject can still differ; they record what they depend on.
type subject struct {
	task task.Name
	app  string
	dir  string
	// project keeps the responses of AppProjects apart: how long a response takes would otherwise
	// tell a tenant whether the files of another one are what the tenant guesses.
	project string
}

// result is a response with what it depends on.
type result struct {
	subject  subject
	env      map[string]string  // the used part
	read     repository.Answers // of the repository
	fetched  map[string]string  // digests of what was fetched, by key
	response task.Response
	err      error
	created  time.Time
}

// isValidFor reports whether the response is valid for another request: the files it
// read, its environment and fetched content are the same, and it has not expired. It
// checks the repository before fetched content, because that costs nothing.
func (r *result) isValidFor(req *request) bool {
	until := r.response.Output.Until
	return (until.IsZero() || time.Now().Before(until)) && maps.Equal(r.env, r.used(req.input.Env)) &&
		r.read.Same(req.input.Repo) && req.fetch.isUnchanged(r.fetched)
}

// used returns the part of an environment that affected the response.
func (r *result) used(env map[string]string) map[string]string {
	env = maps.Clone(env)
	for _, name := range r.response.Output.Unused {
		delete(env, name)
	}
	return env
}

// size estimates the memory used by a result: everything that it holds.
func (r *result) size() int64 {
	const perEntry = 128
	size := perEntry + int64(len(r.subject.task)+len(r.subject.app)+len(r.subject.dir)+len(r.subject.project)) + r.response.Output.Size()
	for q := range r.read {
		size += perEntry + int64(len(q.Path)) + repository.DigestSize
	}
	for key, digest := range r.fetched {
		size += perEntry + int64(len(key)+len(digest))
	}
	for name, value := range r.env {
		size += perEntry + int64(len(name)+len(value))
	}
	if r.err != nil {
		size += int64(len(r.err.Error()))
	}
	return size
}

// results is an LRU cache of responses with limited size and age. Of concurrent
// requests with the same subject one renders, and the others wait for its result.
type results struct {
	age    time.Duration // 0 means no limit
	report func(cacheEvent)

	mu        sync.Mutex
	all       *lru.Cache[*result, struct{}]
	bySubject map[subject][]*result // the results of all, least recently used first
	flights   map[subject]*flight
	epoch     int // counts how often the cache was cleared
}

// cacheEvent is an event of the cache, for metrics.
type cacheEvent string

const (
	hit     cacheEvent = "hit"     // answered from the cache
	shared  cacheEvent = "shared"  // answered with the result of a concurrent request
	miss    cacheEvent = "miss"    // rendered
	evicted cacheEvent = "evicted" // removed for lack of space
	expired cacheEvent = "expired" // removed because of its age
)

// perSubject limits the results of one subject. Several Applications may have the
// same name, or one Application several revisions.
const perSubject = 4

// newResults returns a cache; 0 bytes disable it.
func newResults(bytes int64, age time.Duration, report func(cacheEvent)) *results {
	return &results{age: age, report: report, all: lru.New[*result, struct{}](bytes), bySubject: map[subject][]*result{},
		flights: map[subject]*flight{}}
}

// lookUp answers a request from the cache, or with the result of a concurrent
// identical request. Otherwise it returns a flight: the caller must render the
// response and land the flight.
func (c *results) lookUp(ctx context.Context, req *request) (task.Response, cacheEvent, *flight, error) {
	for {
		if r := c.find(req); r != nil {
			c.report(hit)
			return r.response, hit, nil, nil
		}
		f, isOurs := c.join(req)
		if isOurs {
			c.report(miss)
			return task.Response{}, miss, f, nil
		}
		select {
		case <-f.landed:
		case <-ctx.Done():
			return task.Response{}, miss, nil, timeoutError(ctx, req.dir, waitingForSameComponent)
		}
		if r := f.result; r != nil && r.isValidFor(req) {
			c.report(shared)
			return r.response, shared, nil, r.err
		}
	}
}

// find returns a cached result that is valid for a request.
func (c *results) find(req *request) *result {
	c.mu.Lock()
	c.expire(time.Now())
	candidates := slices.Clone(c.bySubject[req.subject])
	c.mu.Unlock()
	for _, r := range candidates {
		if !r.isValidFor(req) {
			continue
		}
		c.mu.Lock()
		if _, known := c.all.Get(r); known { // it may have been removed meanwhile
			c.bySubject[r.subject] = append(remove(c.bySubject[r.subject], r), r)
		}
		c.mu.Unlock()
		return r
	}
	return nil
}

// join returns the flight that a request should wait for, or a new one for which it
// is responsible.
func (c *results) join(req *request) (f *flight, isOurs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[req.subject]; f != nil && f.epoch == c.epoch { // otherwise it started before the cache was cleared
		return f, false
	}
	f = &flight{results: c, epoch: c.epoch, landed: make(chan struct{}), subject: req.subject, env: req.input.Env,
		read: repository.Observe(req.input.Repo), fetch: req.input.Fetch, fetched: map[string]string{}}
	c.flights[req.subject] = f
	req.input.Repo = f.read
	if f.fetch != nil {
		req.input.Fetch = f.fetchObserved
	}
	return f, true
}

// flight is a response being rendered, which others wait for.
type flight struct {
	results *results
	epoch   int // at its start
	subject subject
	env     map[string]string
	read    *repository.Observed
	landed  chan struct{}
	result  *result // set before landed is closed; nil if others cannot use it

	fetch   func(context.Context, string) (task.Found, error)
	mu      sync.Mutex
	fetched map[string]string
}

// fetchObserved fetches content and records its digest, unless it is pending.
func (f *flight) fetchObserved(ctx context.Context, key string) (task.Found, error) {
	found, err := f.fetch(ctx, key)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.fetched[key] = found.Digest
	}
	return found, err
}

// land caches the response and passes it to waiting requests. Errors are not cached.
// Errors with a status, which come from the context or the machine, are not shared
// either, unless the rendering itself was the cause, for example because it exceeded
// its memory.
func (f *flight) land(a task.Response, err error) {
	c := f.results
	read, complete := f.read.Seen()
	if complete { // otherwise its validity for others is unknown
		r := &result{subject: f.subject, read: read, fetched: f.fetched, response: a, err: err, created: time.Now()}
		r.env = r.used(f.env)
		var ended *task.Ended
		_, hasStatus := status.FromError(err)
		if err == nil || !hasStatus || errors.As(err, &ended) && ended.IsRepeatable() {
			f.result = r
		}
		if err == nil {
			c.store(r, f.epoch)
		}
	}
	c.mu.Lock()
	if c.flights[f.subject] == f {
		delete(c.flights, f.subject)
	}
	c.mu.Unlock()
	close(f.landed)
}

// store caches a result, unless the cache was cleared since its epoch.
func (c *results) store(r *result, epoch int) {
	size := r.size()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.all.Fits(size) || epoch != c.epoch {
		return
	}
	if same := c.bySubject[r.subject]; len(same) >= perSubject {
		c.drop(same[0], evicted)
	}
	for _, oldest := range c.all.Add(r, struct{}{}, size) {
		c.drop(oldest, evicted)
	}
	c.bySubject[r.subject] = append(c.bySubject[r.subject], r)
}

// expireLoop removes expired results, and clears the cache on request, until ctx ends.
func (c *results) expireLoop(ctx context.Context, clearCache <-chan chan<- struct{}) {
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
		case done := <-clearCache:
			c.clear()
			close(done)
		}
	}
}

// expire removes results that are too old.
func (c *results) expire(now time.Time) {
	if c.age <= 0 {
		return
	}
	for _, r := range c.all.Keys() {
		if now.Sub(r.created) >= c.age {
			c.drop(r, expired)
		}
	}
}

func (c *results) drop(r *result, why cacheEvent) {
	c.all.Remove(r)
	if c.bySubject[r.subject] = remove(c.bySubject[r.subject], r); len(c.bySubject[r.subject]) == 0 {
		delete(c.bySubject, r.subject)
	}
	c.report(why)
}

// clear empties the cache.
func (c *results) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.bySubject = map[subject][]*result{}
	c.all.Clear()
}

// size returns the size of the cache.
func (c *results) size() (bytes int64, entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.Size()
}
