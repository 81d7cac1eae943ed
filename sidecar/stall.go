package sidecar

import (
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// paced is a stream that calls stalled when a message does not come in time and
// that is in somebody's way, with the time since when it is waited for. The time
// in which nobody reads does not count.
type paced struct {
	stream
	limit      time.Duration
	isInTheWay func() bool
	stalled    func(since time.Time)
	timer      *time.Timer

	mu    sync.Mutex
	since time.Time // when somebody began to read; zero if nobody reads
}

// inPace makes a stream paced; a limit of 0 leaves it as it is.
func inPace(s stream, limit time.Duration, isInTheWay func() bool, stalled func(since time.Time)) stream {
	if limit <= 0 {
		return s
	}
	p := &paced{stream: s, limit: limit, isInTheWay: isInTheWay, stalled: stalled}
	p.timer = time.AfterFunc(limit, p.look)
	p.timer.Stop()
	return p
}

func (p *paced) Recv() (*wire.AppStreamRequest, error) {
	p.reads(time.Now())
	defer p.reads(time.Time{})
	return p.stream.Recv()
}

func (p *paced) reads(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since = since; since.IsZero() {
		p.timer.Stop()
	} else {
		p.timer.Reset(p.limit)
	}
}

// look looks whether a message is late, and again as long as nobody minds.
func (p *paced) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.since.IsZero() || time.Since(p.since) < p.limit: // one came meanwhile
	case p.isInTheWay():
		p.stalled(p.since)
	default:
		p.timer.Reset(p.limit / 4)
	}
}
