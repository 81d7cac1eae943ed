package confine

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"
)

// Watcher kills a process that uses too much memory or time.
type Watcher struct {
	stop    chan struct{}
	stopped chan struct{}
	killed  bool
	took    int64
}

// Watch kills a process when ctx ends or when its memory exceeds limit, in bytes; 0
// means no limit. It passes each measurement to looked, if not nil. The caller must
// stop the Watcher.
func Watch(ctx context.Context, process *os.Process, limit int64, looked func(took int64)) *Watcher {
	w := &Watcher{stop: make(chan struct{}), stopped: make(chan struct{})}
	go w.watch(ctx, process, limit, looked)
	return w
}

func (w *Watcher) watch(ctx context.Context, process *os.Process, limit int64, looked func(took int64)) {
	defer close(w.stopped)
	var tick <-chan time.Time
	if limit > 0 {
		t := time.NewTicker(CheckInterval)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-w.stop:
			return
		case <-ctx.Done():
			w.killed = true
		case <-tick:
			took := MemoryOf(process.Pid)
			if looked != nil {
				looked(took)
			}
			if took > limit {
				w.killed, w.took = true, took
			}
		}
		if w.killed {
			_ = process.Kill() // it may have already ended
			return
		}
	}
}

// Stop ends the watch: the process is no longer killed. It reports whether it was,
// and its memory at that time, in bytes; 0 if ctx had ended.
func (w *Watcher) Stop() (killed bool, took int64) {
	close(w.stop)
	<-w.stopped
	return w.killed, w.took
}

// HeadWriter keeps the start of what is written to it, and drops the rest. As the
// standard error of a process it contains the runtime's message about its end. It
// is safe for concurrent use.
type HeadWriter struct {
	mu   sync.Mutex
	text []byte
}

const maxLastWords = 4 << 10

func (l *HeadWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[:min(len(p), maxLastWords-len(l.text))]...)
	return len(p), nil
}

func (l *HeadWriter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// Forget drops what was written so far.
func (l *HeadWriter) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = nil
}

// FirstLine returns the line that says why the process ended, or "".
func (l *HeadWriter) FirstLine() string {
	line, _, _ := strings.Cut(strings.TrimSpace(l.String()), "\n")
	return line
}
