package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// process is a worker, seen from the server.
type process struct {
	cmd     *exec.Cmd
	link    *link
	in, out io.Closer
	setup   []byte
	limit   int64 // of memory
	stderr  confine.LastWords
	ended   chan struct{}
	spoke   bool         // during a job
	killed  bool         // during a job, which may have been done all the same
	took    int64        // memory for which it was killed
	now     atomic.Int64 // memory when it was looked at last
	isAside bool         // of Pool: its task has stepped aside
}

// timeToStart is how long a worker may take to be ready.
const timeToStart = 30 * time.Second

// startProcess starts a process; whoever calls it waits for cmd. It is of no use before
// greet.
func startProcess(cmd *exec.Cmd, setup []byte, limit int64) (*process, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	p := &process{cmd: cmd, link: newLink(out, in), setup: setup, limit: limit, in: in, out: out, ended: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, &p.stderr
	if err := cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return p, nil
}

// wait waits for the end of the process.
func (p *process) wait() {
	_ = p.cmd.Wait() // how it ended is of no interest; why, others know
	p.in.Close()
	p.out.Close()
	close(p.ended)
}

// greet sends a process that was just started its setup, and waits until it is ready.
// After an error it has ended.
func (p *process) greet() (ready, error) {
	late := time.AfterFunc(timeToStart, p.kill)
	defer late.Stop()
	var m fromWorker
	err := p.link.send(toWorker{Setup: &setup{p.setup, p.limit}})
	if err == nil {
		err = p.link.receive(&m)
	}
	if err == nil && m.Ready != nil {
		return *m.Ready, nil
	}
	p.end()
	return ready{}, fmt.Errorf("it ended before it was ready: %s", p.lastWords())
}

// do has the worker do a job, and tells what memory that takes. After an error it
// is of no more use.
func (p *process) do(ctx context.Context, name task.Name, in task.Input, uses func(int64)) (*result, error) {
	p.spoke = false
	p.stderr.Forget() // it was not about this job
	watcher := confine.Watch(ctx, p.cmd.Process, p.limit, func(took int64) {
		p.now.Store(took)
		uses(took)
	})
	// It must not kill a worker that has gone on to another job.
	defer func() { p.killed, p.took = watcher.Stop() }()
	if err := p.link.send(toWorker{Job: &job{name, in.Dir, in.Env, in.Fetch != nil, in.Secret}}); err != nil {
		return nil, err
	}
	for {
		var m fromWorker
		if err := p.link.receive(&m); err != nil {
			return nil, err
		}
		p.spoke = true
		if m.Result != nil {
			return m.Result, nil
		}
		reply, err := replyTo(ctx, m, in)
		if err != nil {
			return nil, err
		}
		if err := p.link.send(reply); err != nil {
			return nil, err
		}
	}
}

// replyTo is the reply to what a worker asks in the middle of a job.
func replyTo(ctx context.Context, m fromWorker, in task.Input) (toWorker, error) {
	switch {
	case m.Question != nil:
		r := repository.Ask(in.Repo, *m.Question)
		return toWorker{Reply: &r}, nil
	case m.Fetch != nil:
		return toWorker{Fetched: fetchFor(ctx, *m.Fetch, in)}, nil
	}
	return toWorker{}, errors.New("the worker sent nothing")
}

func fetchFor(ctx context.Context, what fetchRequest, in task.Input) *fetched {
	var found task.Found
	err := errors.New("the server does not fetch")
	switch {
	case what.Part && in.FetchPart != nil:
		found.Data, err = in.FetchPart(what.Key, what.From)
	case !what.Part && in.Fetch != nil:
		found, err = in.Fetch(ctx, what.Key)
	}
	if err != nil {
		return &fetched{Fault: repository.FaultOf(err)}
	}
	return &fetched{Digest: found.Digest, About: found.About, Data: found.Data, Size: found.Size}
}

// isLarge reports whether a worker has kept so much of what it took that the next
// job might not have enough.
func (p *process) isLarge() bool {
	if p.limit <= 0 {
		return false
	}
	p.now.Store(confine.MemoryOf(p.cmd.Process.Pid))
	return p.now.Load() > p.limit/2
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended by itself

// end ends the worker and waits for that.
func (p *process) end() {
	p.kill()
	<-p.ended
}

// lastWords says why the process has ended, for the log.
func (p *process) lastWords() string {
	if line := p.stderr.FirstLine(); line != "" {
		return line
	}
	return "it was killed"
}
