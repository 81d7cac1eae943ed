package sidecar

import (
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// stallWatcher is a stream that calls onStall if a message is late while other
// requests wait for memory. Time in which nobody reads does not count.
type stallWatcher struct {
	stream
	limit        time.Duration
	blocksOthers func() bool
	onStall      func(since time.Time)
	timer        *time.Timer

	mu    sync.Mutex
	since time.Time // when the current read started; zero if there is none
}

// watchStalls wraps a stream in a stallWatcher; a limit of 0 leaves it unchanged.
func watchStalls(s stream, limit time.Duration, blocksOthers func() bool, onStall func(since time.Time)) stream {
	if limit <= 0 {
		return s
	}
	p := &stallWatcher{stream: s, limit: limit, blocksOthers: blocksOthers, onStall: onStall}
	p.timer = time.AfterFunc(limit, p.checkLate)
	p.timer.Stop()
	return p
}

func (p *stallWatcher) Recv() (*wire.AppStreamRequest, error) {
	p.setReading(time.Now())
	defer p.setReading(time.Time{})
	return p.stream.Recv()
}

// setReading records when a read started; zero means that it ended.
func (p *stallWatcher) setReading(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since = since; since.IsZero() {
		p.timer.Stop()
	} else {
		p.timer.Reset(p.limit)
	}
}

// checkLate checks whether a message is late, repeatedly while no other request waits.
func (p *stallWatcher) checkLate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.since.IsZero() || time.Since(p.since) < p.limit: // a message arrived meanwhile
	case p.blocksOthers():
		p.onStall(p.since)
	default:
		p.timer.Reset(p.limit / 4)
	}
}
