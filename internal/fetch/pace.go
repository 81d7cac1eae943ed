package fetch

import (
	"io"
	"sync/atomic"
	"time"
)

// paced is a body that is given up when less comes of it than is worth waiting for: a
// server that sends a byte now and then would hold a place of the network for as long
// as a fetch may take.
type paced struct {
	io.ReadCloser
	read atomic.Int64
	slow atomic.Bool
	end  *time.Timer
}

// paceWindow is the time over which a rate is taken.
const paceWindow = 10 * time.Second

// newPaced looks once in a window whether so many bytes have come in it.
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
			_ = body.Close() // which ends who reads
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
