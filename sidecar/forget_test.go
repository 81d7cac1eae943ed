package sidecar

import (
	"context"
	"testing"
	"time"
)

// TestForgetIsDoneWhenItSaysSo: whoever asks to forget learns that it is done only after
// the cache is empty, and so never while others still read it.
func TestForgetIsDoneWhenItSaysSo(t *testing.T) {
	c := newResults(1<<20, 0, func(cacheEvent) {})
	ctx, cancel := context.WithCancel(t.Context())
	forget, ended := make(chan chan<- struct{}), make(chan struct{})
	go func() { c.expireLoop(ctx, forget); close(ended) }()
	done := make(chan struct{})
	c.mu.Lock()
	forget <- done
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
