package sidecar

import (
	"context"
	"testing"
	"time"
)

// TestClearCacheConfirms: the channel is closed only after
// the cache is empty, and so never while others still read it.
func TestClearCacheConfirms(t *testing.T) {
	t.Parallel()
	c := newResults(1<<20, 0, func(cacheEvent) {})
	ctx, cancel := context.WithCancel(t.Context())
	clearCache, ended := make(chan chan<- struct{}), make(chan struct{})
	go func() { c.expireLoop(ctx, clearCache); close(ended) }()
	done := make(chan struct{})
	c.mu.Lock()
	clearCache <- done
	select {
	case <-done:
		t.Error("it is done while the cache cannot have been cleared")
	case <-time.After(50 * time.Millisecond):
	}
	c.mu.Unlock()
	<-done
	if c.epoch != 1 {
		t.Errorf("the cache was cleared %d times, want once", c.epoch)
	}
	cancel()
	<-ended
}
