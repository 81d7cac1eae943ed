package confine

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"
)

// Watcher ends a process that takes too much memory, or too long.
type Watcher struct {
	stop    chan struct{}
	stopped chan struct{}
	killed  bool
	took    int64
}

// Watch kills a process when ctx ends or when it takes more memory than limit, in
// bytes; 0 is no limit. Each time that it looks, it tells looked what the process
// takes; nil is told nothing. Whoever starts a Watcher stops it.
func Watch(ctx context.Context, process *os.Process, limit int64, looked func(took int64)) *Watcher {
	w := &Watcher{stop: make(chan struct{}), stopped: make(chan struct{})}
	go w.watch(ctx, process, limit, looked)
	return w
}

func (w *Watcher) watch(ctx context.Context, process *os.Process, limit int64, looked func(took int64)) {
	defer close(w.stopped)
	var tick <-chan time.Time
	if limit > 0 {
		t := time.NewTicker(Pace)
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
			_ = process.Kill() // it may have ended by itself
			return
		}
	}
}

// Stop ends the watch: from then on the process is not killed any more. It says
// whether it was, and for how much memory, in bytes; 0 if ctx had ended.
func (w *Watcher) Stop() (killed bool, took int64) {
	close(w.stop)
	<-w.stopped
	return w.killed, w.took
}

// LastWords keeps the beginning of what is written to it, and drops the rest. As the
// standard error of a process it holds what Go says when it ends a program. It can be
// used by several goroutines.
type LastWords struct {
	mu   sync.Mutex
	text []byte
}

const maxLastWords = 4 << 10

func (l *LastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[:min(len(p), maxLastWords-len(l.text))]...)
	return len(p), nil
}

func (l *LastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// Forget drops what was written until now.
func (l *LastWords) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = nil
}

// FirstLine is the line that says why the process has ended; "" if it said nothing.
func (l *LastWords) FirstLine() string {
	line, _, _ := strings.Cut(strings.TrimSpace(l.String()), "\n")
	return line
}
