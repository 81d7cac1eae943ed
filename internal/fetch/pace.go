package fetch

import (
	"io"
	"sync/atomic"
	"time"
)

// paced is a response body that is closed if the transfer rate is too low: a server
// that sends a byte now and then would occupy a place in the queue until the
// timeout.
type paced struct {
	io.ReadCloser
	read atomic.Int64
	slow atomic.Bool
	end  *time.Timer
}

// paceWindow is the window for measuring the rate.
const paceWindow = 10 * time.Second

// newPaced checks once per window that enough bytes have arrived.
func newPaced(body io.ReadCloser, window time.Duration, least int64) *paced {
	p := &paced{ReadCloser: body}
	if least <= 0 {
		return p
	}
	before := int64(0)
	p.end = time.AfterFunc(window, func() {
		now := p.read.Load()
		if now-before < least {
			p.slow.Store(true)
			_ = body.Close() // this ends a pending read
			return
		}
		before = now
		p.end.Reset(window)
	})
	return p
}

func (p *paced) Read(to []byte) (int, error) {
	n, err := p.ReadCloser.Read(to)
	p.read.Add(int64(n))
	if err != nil && p.end != nil {
		p.end.Stop()
	}
	return n, err
}

func (p *paced) Close() error {
	if p.end != nil {
		p.end.Stop()
	}
	return p.ReadCloser.Close()
}
