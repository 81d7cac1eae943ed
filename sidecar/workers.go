package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/sandbox"
)

// WorkersConfig says how to run worker processes.
type WorkersConfig struct {
	// Command makes the command of a worker, whose standard input and output
	// are the connection for Work.
	Command func() *exec.Cmd
	// Setup goes to each worker's prepare function.
	Setup []byte
	// Warm is how many processes are kept, whether they work or wait for work.
	Warm int
	// Memory is what a worker may take, in bytes; 0 means no limit. It is
	// looked at every few milliseconds, where the system tells (Linux).
	Memory int64
	Log    *slog.Logger
	// Metrics takes the metrics; nil takes them nowhere.
	Metrics prometheus.Registerer
}

// Cause is why a worker ended.
type Cause string

const (
	// RenderTimeout: the time for a rendering was over.
	RenderTimeout Cause = "render-timeout"
	// Deadline: the time of the request was over.
	Deadline Cause = "deadline"
	// Canceled: the client gave up.
	Canceled Cause = "canceled"
	// Memory: it took more than it may.
	Memory Cause = "memory"
	// Yielded: others went first, and it begins again.
	Yielded Cause = "yielded"
	// Stack: a recursion without end.
	Stack Cause = "stack"
	// Crash: anything else.
	Crash Cause = "crash"
)

var causes = []Cause{RenderTimeout, Deadline, Canceled, Yielded, Memory, Stack, Crash}

// Workers are processes that do the tasks of a server, each one at a time. What
// goes wrong in a rendering, such as a template without end, ends its process
// and nothing else.
type Workers struct {
	cfg     WorkersConfig
	metrics *workerMetrics

	mu      sync.Mutex
	idle    []*process
	working map[*process]bool
	busy    int // processes that have a job, but for those whose rendering is aside
	waiting int // processes that are being started to wait
	setup   []byte
	gaps    []sandbox.Gap
	told    bool // of the gaps
	closed  bool
	all     sync.WaitGroup // processes that have not ended
}

// NewWorkers starts the processes that wait for work. It returns when the first
// of them is ready, or with the reason why it is not.
func NewWorkers(cfg WorkersConfig) (*Workers, error) {
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewRegistry()
	}
	w := &Workers{cfg: cfg, setup: cfg.Setup, working: map[*process]bool{}}
	w.metrics = newWorkerMetrics(w, cfg.Metrics)
	first, err := w.start(cfg.Setup)
	if err != nil {
		return nil, err
	}
	w.put(first)
	return w, nil
}

// Tasks are those of the workers.
func (w *Workers) Tasks() Tasks {
	return Tasks{
		Generate: func(ctx context.Context, in Input) (Output, error) {
			a, err := w.run(ctx, generate, in)
			return a.Output, err
		},
		Match: func(ctx context.Context, in Input) (bool, error) {
			a, err := w.run(ctx, match, in)
			return a.Matched, err
		},
	}
}

// Gaps are what is missing of the workers' sandbox, because the kernel or the
// container refuses it.
func (w *Workers) Gaps() []sandbox.Gap {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gaps
}

// confined notes what the sandbox of the first worker lacks. The others are in the
// same container.
func (w *Workers) confined(gaps []sandbox.Gap) {
	w.mu.Lock()
	first := !w.told
	if first {
		w.gaps, w.told = gaps, true
	}
	w.mu.Unlock()
	if !first || len(gaps) == 0 {
		return
	}
	missing := make([]string, len(gaps))
	for i, gap := range gaps {
		missing[i] = gap.String()
	}
	w.cfg.Log.Warn("the sandbox of the workers is incomplete", "missing", strings.Join(missing, "; "))
}

// Renew makes all jobs from now on start from another setup. If no worker
// starts with it, nothing changes.
func (w *Workers) Renew(text []byte) error {
	first, err := w.start(text)
	if err != nil {
		return err
	}
	w.mu.Lock()
	old := w.idle
	w.idle, w.setup = nil, text
	w.mu.Unlock()
	for _, p := range old {
		p.end()
	}
	w.put(first)
	return nil
}

// Close ends the workers. Jobs under way fail.
func (w *Workers) Close() {
	w.mu.Lock()
	w.closed = true
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, p := range idle {
		p.end()
	}
	w.all.Wait()
}

func (w *Workers) run(ctx context.Context, what task, in Input) (answer, error) {
	p, err := w.take()
	if err != nil {
		w.leave(nil)
		w.refill()
		return answer{}, status.Error(codes.Unavailable, err.Error())
	}
	d, err := w.have(p, ctx, what, in)
	if err != nil && !p.spoke {
		// It may have ended while it waited, of which the job must not know.
		if fresh, fault := w.replace(ctx, p); fault == nil {
			p = fresh
			d, err = w.have(p, ctx, what, in)
		}
	}
	if err != nil {
		p.end()
		w.leave(p)
		w.refill()
		cause, fault := p.fate(ctx, in.Dir)
		w.metrics.killed.WithLabelValues(string(cause)).Inc()
		if cause != Yielded {
			w.cfg.Log.Warn("a worker was replaced", "component", in.Dir, "cause", string(cause), "last", p.last.firstLine())
		}
		return answer{}, &ended{cause, fault}
	}
	if w.leave(p); p.isAside {
		p.end() // it would be slow from now on
		w.refill()
	} else {
		w.put(p)
	}
	if d.Panic != "" {
		w.cfg.Log.Error("a rendering panicked", "component", in.Dir, "panic", d.Panic)
	}
	switch {
	case d.Code != codes.OK:
		return answer{}, status.Error(d.Code, d.Fault)
	case d.Fault != "":
		return answer{}, errors.New(d.Fault)
	}
	return d.Answer, nil
}

// have has a worker do a job, and step aside when its turn says so.
func (w *Workers) have(p *process, ctx context.Context, what task, in Input) (*done, error) {
	w.mu.Lock()
	w.working[p] = true
	w.mu.Unlock()
	in.turn.onStepAside(func() { w.stepAside(p) })
	return p.do(ctx, what, in, func(took int64) {
		in.turn.takes(took)
		if w.short() {
			in.turn.short()
		}
	})
}

// stepAside has a worker go on with what others leave, and another take its place.
func (w *Workers) stepAside(p *process) {
	w.mu.Lock()
	first := w.working[p] && !p.isAside
	if first {
		p.isAside = true
		w.busy--
	}
	w.mu.Unlock()
	if first {
		yieldProcessors(p.cmd.Process.Pid)
		w.refill()
	}
}

// short reports whether the workers together take more than they may. Those that
// wait for work are ended for that.
func (w *Workers) short() bool {
	if w.cfg.Memory <= 0 || w.cfg.Warm <= 0 {
		return false
	}
	w.mu.Lock()
	sum := int64(0)
	for p := range w.working {
		sum += p.now.Load()
	}
	for _, p := range w.idle {
		sum += p.now.Load()
	}
	if sum <= int64(w.cfg.Warm)*w.cfg.Memory {
		w.mu.Unlock()
		return false
	}
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, p := range idle {
		p.end()
	}
	return len(idle) == 0
}

// leave ends the work of a worker, if there was one.
func (w *Workers) leave(p *process) {
	w.mu.Lock()
	delete(w.working, p)
	if p == nil || !p.isAside {
		w.busy--
	}
	w.mu.Unlock()
}

// take returns a worker that waits, or starts one.
func (w *Workers) take() (*process, error) {
	w.mu.Lock()
	w.busy++
	text := w.setup
	if n := len(w.idle); n > 0 {
		p := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		return p, nil
	}
	w.mu.Unlock()
	return w.start(text)
}

// replace starts a worker in place of one that was ended by nobody here.
func (w *Workers) replace(ctx context.Context, p *process) (*process, error) {
	p.end()
	w.mu.Lock()
	delete(w.working, p)
	if p.isAside {
		p.isAside = false
		w.busy++ // for the one that comes instead
	}
	w.mu.Unlock()
	if p.killed.Load() || ctx.Err() != nil || p.last.String() != "" {
		return nil, errors.New("it has a reason of its own")
	}
	w.mu.Lock()
	text := w.setup
	w.mu.Unlock()
	return w.start(text)
}

// lost forgets a worker that has ended while it waited.
func (w *Workers) lost(p *process) {
	w.mu.Lock()
	i := slices.Index(w.idle, p)
	if i >= 0 {
		w.idle = slices.Delete(w.idle, i, i+1)
	}
	w.mu.Unlock()
	if i >= 0 {
		w.metrics.killed.WithLabelValues(string(Crash)).Inc()
		w.cfg.Log.Warn("a worker that waited was killed from outside, and is replaced")
		w.refill()
	}
}

// put lets a worker wait, unless there are enough, it was killed with the last
// word of its job, it has grown large, or its setup no longer holds.
func (w *Workers) put(p *process) {
	w.mu.Lock()
	keep := !w.closed && !p.killed.Load() && len(w.idle) < max(w.cfg.Warm, 1) && string(p.setup) == string(w.setup) && !p.large()
	if keep {
		w.idle = append(w.idle, p)
	}
	w.mu.Unlock()
	if !keep {
		p.end()
	}
	w.refill()
}

// refill starts what is missing, behind the scenes: as many processes as are
// kept warm, those that work included.
func (w *Workers) refill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && w.busy+len(w.idle)+w.waiting < w.cfg.Warm {
		w.waiting++
		text := w.setup
		go func() {
			p, err := w.start(text)
			w.mu.Lock()
			w.waiting--
			w.mu.Unlock()
			if err != nil {
				w.cfg.Log.Error("no worker could be started", "error", err.Error())
				return // the next request tries again
			}
			w.put(p)
		}()
	}
}

// timeToStart is how long a worker may take to be ready.
const timeToStart = 30 * time.Second

// begin says that a worker is being started, for which Close waits. After Close none
// is.
func (w *Workers) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.all.Add(1)
	return true
}

func (w *Workers) start(text []byte) (*process, error) {
	if !w.begin() {
		return nil, errors.New("no worker is started any more: the server is stopping")
	}
	defer w.all.Done()
	fail := func(err error) (*process, error) {
		return nil, fmt.Errorf("no worker could be started: %w; look at the memory and process limits of the container", err)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return fail(err)
	}
	defer theirOut.Close()
	p := &process{cmd: w.cfg.Command(), setup: text, limit: w.cfg.Memory, in: in, out: out, ended: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirIn, theirOut, &p.last
	if err := p.cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return fail(err)
	}
	w.metrics.started.Inc()
	w.all.Add(1)
	go func() {
		p.cmd.Wait() // how it ended is of no interest; why, others know
		in.Close()
		out.Close()
		close(p.ended)
		w.lost(p)
		w.all.Done()
	}()
	p.link = newLink(struct {
		io.Reader
		io.Writer
	}{out, in})
	late := time.AfterFunc(timeToStart, p.kill)
	defer late.Stop()
	var m fromWorker
	err = p.link.send(toWorker{Setup: &setup{text, w.cfg.Memory}})
	if err == nil {
		err = p.link.receive(&m)
	}
	if err != nil {
		p.end()
		return fail(fmt.Errorf("it ended before it was ready: %s", p.last.firstLine()))
	}
	w.confined(m.Gaps)
	return p, nil
}

// process is a worker, seen from the server.
type process struct {
	cmd     *exec.Cmd
	link    *link
	in, out io.Closer
	setup   []byte
	limit   int64     // of memory
	last    complaint // its standard error
	ended   chan struct{}
	spoke   bool         // during a job
	killed  atomic.Bool  // during a job, which may have been done all the same
	took    atomic.Int64 // memory for which it was killed
	now     atomic.Int64 // memory when it was looked at last
	isAside bool         // of Workers: its rendering has stepped aside
}

// do has the worker do a job, and tells what memory that takes. After an error it
// is of no more use.
func (p *process) do(ctx context.Context, what task, in Input, takes func(int64)) (*done, error) {
	j := job{what, in.Dir, in.Env, in.Fetch != nil}
	p.spoke = false
	p.last.forget()
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		p.watch(ctx, finished, takes)
		close(watched)
	}()
	// Who watches must not kill a worker that has gone on to another job.
	defer func() {
		close(finished)
		<-watched
	}()
	if err := p.link.send(toWorker{Job: &j}); err != nil {
		return nil, err
	}
	for {
		var m fromWorker
		if err := p.link.receive(&m); err != nil {
			return nil, err
		}
		p.spoke = true
		if m.Done != nil {
			return m.Done, nil
		}
		if m.Question == nil {
			return nil, errors.New("the worker said nothing")
		}
		r := in.ask(ctx, *m.Question)
		if err := p.link.send(toWorker{Reply: &r}); err != nil {
			return nil, err
		}
	}
}

// ask answers a question of a worker.
func (in Input) ask(ctx context.Context, q question) reply {
	switch {
	case q.Op == fetch && in.Fetch != nil:
		return replyOf(in.Fetch(ctx, q.Path))
	case q.Op == fetchPart && in.part != nil:
		data, err := in.part(keyOfPart(q.Path))
		if err != nil {
			return reply{Fault: faultOf(err)}
		}
		return reply{Data: data}
	}
	return ask(in.Repo, q)
}

// watch kills the worker when its time is over or its memory too much.
func (p *process) watch(ctx context.Context, finished <-chan struct{}, takes func(int64)) {
	var tick <-chan time.Time
	if p.limit > 0 {
		t := time.NewTicker(confine.Pace)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-finished:
			return
		case <-ctx.Done():
			p.killed.Store(true)
			p.kill()
			return
		case <-tick:
			took := confine.MemoryOf(p.cmd.Process.Pid)
			p.now.Store(took)
			takes(took)
			if took > p.limit {
				p.took.Store(took)
				p.killed.Store(true)
				p.kill()
				return
			}
		}
	}
}

// large reports whether a worker has kept so much of what it took that the next
// job might not have enough.
func (p *process) large() bool {
	if p.limit <= 0 {
		return false
	}
	p.now.Store(confine.MemoryOf(p.cmd.Process.Pid))
	return p.now.Load() > p.limit/2
}

func (p *process) kill() { p.cmd.Process.Kill() }

// end ends the worker and waits for that.
func (p *process) end() {
	p.kill()
	<-p.ended
}
