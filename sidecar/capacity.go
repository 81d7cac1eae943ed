package sidecar

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
)

// capacity is what the requests share, and how much of it is lost to work that
// has been given up and does not end. Nothing can take that back but the end of
// the process, so the server says that it serves no longer once too little is
// left for any request; the probe of the container then has it restarted.
type capacity struct {
	places pool // for work
	memory pool // for repositories
	// reserve is the memory to take before a repository arrives, since nobody
	// knows how large it will be.
	reserve int64
	report  func(serving bool)

	mu                     sync.Mutex
	lostPlaces, lostMemory int64
}

// newCapacity tells report, at first and at each change, whether a request can
// be answered.
func newCapacity(places, memory, reserve int64, report func(serving bool)) *capacity {
	c := &capacity{places: newPool(places), memory: newPool(memory), reserve: reserve, report: report}
	report(true)
	return c
}

// lose counts what is held by work that has been given up, and regain takes
// that back, since the work has ended after all.
func (c *capacity) lose(place, memory *share)   { c.lost(place.size, memory.size) }
func (c *capacity) regain(place, memory *share) { c.lost(-place.size, -memory.size) }

func (c *capacity) lost(places, memory int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lostPlaces += places
	c.lostMemory += memory
	c.report(c.places.size-c.lostPlaces >= 1 && c.memory.size-c.lostMemory >= c.reserve)
}

// pool is an amount that requests take shares of.
type pool struct {
	size int64
	free *semaphore.Weighted
}

// newPool makes a pool of that size; 0 means no bound.
func newPool(size int64) pool {
	if size == 0 {
		size = math.MaxInt64
	}
	return pool{size, semaphore.NewWeighted(size)}
}

// take waits for a share, in the order of the requests.
func (p pool) take(ctx context.Context, size int64) (*share, error) {
	if err := p.free.Acquire(ctx, size); err != nil {
		return nil, err
	}
	return &share{p.free, size}, nil
}

// share is what a request holds of a pool.
type share struct {
	of   *semaphore.Weighted
	size int64
}

// shrink gives back all but size. Of a pool without bound too little may have
// been taken; that is left as it is.
func (s *share) shrink(size int64) {
	size = min(size, s.size)
	s.of.Release(s.size - size)
	s.size = size
}

// release gives back all. The share still knows its size.
func (s *share) release() { s.of.Release(s.size) }
