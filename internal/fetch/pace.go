package fetch

import (
	"io"
	"sync/atomic"
	"time"
)

// minRateBody is a response body that is closed if the transfer rate is too low: a server
// that sends a byte now and then would occupy a place in the queue until the
// timeout.
type minRateBody struct {
	io.ReadCloser
	read atomic.Int64
	slow atomic.Bool
	end  *time.Timer
}

// paceWindow is the window for measuring the rate.
const paceWindow = 10 * time.Second

// newMinRateBody checks once per window that enough bytes have arrived.
func newMinRateBody(body io.ReadCloser, window time.Duration, minBytes int64) *minRateBody {
	p := &minRateBody{ReadCloser: body}
	if minBytes <= 0 {
		return p
	}
	before := int64(0)
	p.end = time.AfterFunc(window, func() {
		now := p.read.Load()
		if now-before < minBytes {
			p.slow.Store(true)
			_ = body.Close() // this ends a pending read
			return
		}
		before = now
		p.end.Reset(window)
	})
	return p
}

func (p *minRateBody) Read(to []byte) (int, error) {
	n, err := p.ReadCloser.Read(to)
	p.read.Add(int64(n))
	if err != nil && p.end != nil {
		p.end.Stop()
	}
	return n, err
}

func (p *minRateBody) Close() error {
	if p.end != nil {
		p.end.Stop()
	}
	return p.ReadCloser.Close()
}
