package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// Config configures worker processes.
type Config struct {
	// Command returns the command of a worker, which calls Main with its standard
	// input and output.
	Command func() *exec.Cmd
	// Setup is passed to each worker's prepare function.
	Setup []byte
	// Warm is how many processes are kept, busy or idle.
	Warm int
	// Memory limits the memory of a worker, in bytes; 0 means no limit. It is
	// checked every few milliseconds, where the system provides it (Linux).
	Memory int64
	Log    *slog.Logger
	// Metrics registers the metrics; nil disables them.
	Metrics prometheus.Registerer
}

// Pool is a set of processes that run the tasks of a server, each one at a time. It
// implements task.Runner.
type Pool struct {
	cfg     Config
	metrics *metrics

	mu         sync.Mutex
	idle       []*process
	working    map[*process]bool
	busy       int // processes with a job, without those whose task runs in the background
	starting   int // processes being started
	setup      []byte
	gaps       []confine.Gap
	gapsLogged bool // whether the gaps were logged
	closed     bool
	all        sync.WaitGroup // running processes
}

// NewPool starts the idle processes. It returns when the first of them is ready, or
// with the reason for failing.
func NewPool(cfg Config) (*Pool, error) {
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewRegistry()
	}
	pool := &Pool{cfg: cfg, setup: cfg.Setup, working: map[*process]bool{}}
	pool.metrics = newMetrics(pool, cfg.Metrics)
	first, err := pool.start(cfg.Setup)
	if err != nil {
		return nil, err
	}
	pool.keep(first)
	return pool, nil
}

// Gaps returns the parts of the workers' sandbox that the kernel or the container
// does not support.
func (pool *Pool) Gaps() []confine.Gap {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	return pool.gaps
}

// noteGaps records the gaps in the first worker's sandbox. Other workers run in the
// same container.
func (pool *Pool) noteGaps(gaps []confine.Gap) {
	pool.mu.Lock()
	first := !pool.gapsLogged
	if first {
		pool.gaps, pool.gapsLogged = gaps, true
	}
	pool.mu.Unlock()
	if !first || len(gaps) == 0 {
		return
	}
	missing := make([]string, len(gaps))
	for i, gap := range gaps {
		missing[i] = gap.String()
	}
	pool.cfg.Log.Warn("the sandbox of the workers is incomplete", "missing", strings.Join(missing, "; "))
}

// Renew starts all future jobs with another setup. If no worker starts with it,
// nothing changes.
func (pool *Pool) Renew(text []byte) error {
	first, err := pool.start(text)
	if err != nil {
		return err
	}
	pool.mu.Lock()
	old := pool.idle
	pool.idle, pool.setup = nil, text
	pool.mu.Unlock()
	for _, p := range old {
		p.end()
	}
	pool.keep(first)
	return nil
}

// Close ends the workers. Running jobs fail.
func (pool *Pool) Close() {
	pool.mu.Lock()
	pool.closed = true
	idle := pool.idle
	pool.idle = nil
	pool.mu.Unlock()
	for _, p := range idle {
		p.end()
	}
	pool.all.Wait()
}

// Run runs a task in a worker, and replaces the worker if it was ended. If it was ended
// early, the error is a task.Ended.
func (pool *Pool) Run(ctx context.Context, name task.Name, in task.Input) (task.Response, error) {
	p, err := pool.take()
	if err != nil {
		pool.finishJob(nil)
		pool.refill()
		return task.Response{}, status.Error(codes.Unavailable, err.Error())
	}
	pool.assign(p, in.Slot)
	uses := pool.countMemory(in.Slot)
	r, err := p.do(ctx, name, in, uses)
	if err != nil && !p.hasReplied {
		// It may have ended while idle, which must not affect the job.
		if replacement, fault := pool.replace(ctx, p); fault == nil {
			p = replacement
			pool.assign(p, in.Slot)
			r, err = p.do(ctx, name, in, uses)
		}
	}
	if err != nil {
		p.end()
		pool.finishJob(p)
		pool.refill()
		why := p.endCause(ctx, in.Dir)
		pool.metrics.killed.WithLabelValues(string(why.Cause)).Inc()
		if why.Cause != task.Preempted {
			pool.cfg.Log.Warn("a worker was replaced", "component", in.Dir, "cause", string(why.Cause), "last", p.lastOutput())
		}
		return task.Response{}, why
	}
	if pool.finishJob(p); p.inBackground {
		p.end() // it would remain slow
		pool.refill()
	} else {
		pool.keep(p)
	}
	if r.Panic != "" {
		pool.cfg.Log.Error("a rendering panicked", "component", in.Dir, "panic", r.Panic)
	}
	return r.response()
}

// assign gives a worker a job, which moves to the background when its slot requires it.
func (pool *Pool) assign(p *process, slot task.Slot) {
	pool.mu.Lock()
	pool.working[p] = true
	pool.mu.Unlock()
	if slot != nil {
		slot.OnPreempt(func() { pool.moveToBackground(p) })
	}
}

// countMemory returns a function that records the memory used by a job, and relieves
// the memory of all workers if it is too much.
func (pool *Pool) countMemory(slot task.Slot) func(bytes int64) {
	return func(bytes int64) {
		if slot == nil {
			return
		}
		slot.Uses(bytes)
		if pool.reclaimMemory() {
			slot.RelieveMemory()
		}
	}
}

// moveToBackground lowers the priority of a worker with a job, and replaces it.
func (pool *Pool) moveToBackground(p *process) {
	pool.mu.Lock()
	first := pool.working[p] && !p.inBackground
	if first {
		p.inBackground = true
		pool.busy--
	}
	pool.mu.Unlock()
	if first {
		lowerPriority(p.cmd.Process.Pid)
		pool.refill()
	}
}

// reclaimMemory ends the idle workers if all workers together exceed their memory. It
// reports whether they exceed it and none was idle.
func (pool *Pool) reclaimMemory() bool {
	if pool.cfg.Memory <= 0 || pool.cfg.Warm <= 0 {
		return false
	}
	pool.mu.Lock()
	sum := int64(0)
	for p := range pool.working {
		sum += p.memory.Load()
	}
	for _, p := range pool.idle {
		sum += p.memory.Load()
	}
	if sum <= int64(pool.cfg.Warm)*pool.cfg.Memory {
		pool.mu.Unlock()
		return false
	}
	idle := pool.idle
	pool.idle = nil
	pool.mu.Unlock()
	for _, p := range idle {
		p.end()
	}
	return len(idle) == 0
}

// finishJob ends the job of a worker, if it has one.
func (pool *Pool) finishJob(p *process) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	delete(pool.working, p)
	if p == nil || !p.inBackground {
		pool.busy--
	}
}

// take returns an idle worker, or starts one.
func (pool *Pool) take() (*process, error) {
	pool.mu.Lock()
	pool.busy++
	text := pool.setup
	if n := len(pool.idle); n > 0 {
		p := pool.idle[n-1]
		pool.idle = pool.idle[:n-1]
		pool.mu.Unlock()
		return p, nil
	}
	pool.mu.Unlock()
	return pool.start(text)
}

// replace starts a worker in place of one that ended by itself.
func (pool *Pool) replace(ctx context.Context, p *process) (*process, error) {
	p.end()
	pool.mu.Lock()
	delete(pool.working, p)
	if p.inBackground {
		p.inBackground = false
		pool.busy++ // for the replacement
	}
	text := pool.setup
	pool.mu.Unlock()
	if p.killed || ctx.Err() != nil || p.stderr.String() != "" {
		return nil, errors.New("the worker ended for a known reason")
	}
	return pool.start(text)
}

// removeEnded removes a worker that ended while idle.
func (pool *Pool) removeEnded(p *process) {
	pool.mu.Lock()
	i := slices.Index(pool.idle, p)
	if i >= 0 {
		pool.idle = slices.Delete(pool.idle, i, i+1)
	}
	pool.mu.Unlock()
	if i >= 0 {
		pool.metrics.killed.WithLabelValues(string(task.Crash)).Inc()
		pool.cfg.Log.Warn("an idle worker was killed from outside; replacing it")
		pool.refill()
	}
}

// keep returns a worker to the idle ones, unless there are enough, it was killed as
// its job ended, it has grown large, or its setup is outdated.
func (pool *Pool) keep(p *process) {
	pool.mu.Lock()
	keep := !pool.closed && !p.killed && len(pool.idle) < max(pool.cfg.Warm, 1) && string(p.setup) == string(pool.setup) && !p.isLarge()
	if keep {
		pool.idle = append(pool.idle, p)
	}
	pool.mu.Unlock()
	if !keep {
		p.end()
	}
	pool.refill()
}

// refill starts missing workers in the background, up to the number to keep warm,
// including busy ones.
func (pool *Pool) refill() {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for !pool.closed && pool.busy+len(pool.idle)+pool.starting < pool.cfg.Warm {
		pool.starting++
		go pool.startIdle(pool.setup)
	}
}

// startIdle starts a worker and makes it idle.
func (pool *Pool) startIdle(setup []byte) {
	p, err := pool.start(setup)
	pool.mu.Lock()
	pool.starting--
	pool.mu.Unlock()
	if err != nil {
		pool.cfg.Log.Error("no worker could be started", "error", err.Error())
		return // the next request tries again
	}
	pool.keep(p)
}

// start starts a worker, and returns it when it is ready. After Close it fails.
func (pool *Pool) start(setup []byte) (*process, error) {
	if !pool.begin() {
		return nil, errors.New("the server is stopping and starts no workers")
	}
	defer pool.all.Done()
	p, err := startProcess(pool.cfg.Command(), setup, pool.cfg.Memory)
	if err != nil {
		return nil, startError(err)
	}
	pool.metrics.started.Inc()
	pool.all.Add(1)
	go func() {
		defer pool.all.Done()
		p.wait()
		pool.removeEnded(p)
	}()
	r, err := p.setUp()
	if err != nil {
		return nil, startError(err)
	}
	pool.noteGaps(r.Gaps)
	return p, nil
}

// begin registers a worker being started, which Close waits for.
func (pool *Pool) begin() bool {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.closed {
		return false
	}
	pool.all.Add(1)
	return true
}

func startError(err error) error {
	return fmt.Errorf("no worker could be started: %w; fix: check the memory and process limits of the container", err)
}
