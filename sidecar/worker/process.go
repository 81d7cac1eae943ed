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

// process is the server's side of a worker.
type process struct {
	cmd          *exec.Cmd
	link         *link
	in, out      io.Closer
	setup        []byte
	limit        int64 // memory limit
	stderr       confine.HeadWriter
	ended        chan struct{}
	hasReplied   bool         // whether it sent a message during a job
	killed       bool         // killed during a job, which may have completed anyway
	killedAt     int64        // the memory for which it was killed
	memory       atomic.Int64 // last measured memory
	inBackground bool         // of Pool: whether its task runs in the background
}

// timeToStart limits the time until a worker is ready.
const timeToStart = 30 * time.Second

// startProcess starts a process; the caller must wait for cmd. It can be used only
// after setUp.
func startProcess(cmd *exec.Cmd, setup []byte, limit int64) (*process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()
	p := &process{cmd: cmd, link: newLink(out, in), setup: setup, limit: limit, in: in, out: out, ended: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, &p.stderr
	if err := cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return p, nil
}

// wait waits for the end of the process.
func (p *process) wait() {
	_ = p.cmd.Wait() // the reason is determined elsewhere
	p.in.Close()
	p.out.Close()
	close(p.ended)
}

// setUp sends a new process its setup, and waits until it is ready. On error the
// process has ended.
func (p *process) setUp() (ready, error) {
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
	return ready{}, fmt.Errorf("it ended before it was ready: %s", p.lastOutput())
}

// do runs a job in the worker, and reports its memory to uses. After an error the
// worker cannot be used.
func (p *process) do(ctx context.Context, name task.Name, in task.Input, uses func(int64)) (*result, error) {
	p.hasReplied = false
	p.stderr.Forget() // it was not about this job
	watcher := confine.Watch(ctx, p.cmd.Process, p.limit, func(killedAt int64) {
		p.memory.Store(killedAt)
		uses(killedAt)
	})
	// It must not kill a worker that has started another job.
	defer func() { p.killed, p.killedAt = watcher.Stop() }()
	if err := p.link.send(toWorker{Job: &job{name, in.Dir, in.Env, in.Fetch != nil, in.Secret}}); err != nil {
		return nil, err
	}
	for {
		var m fromWorker
		if err := p.link.receive(&m); err != nil {
			return nil, err
		}
		p.hasReplied = true
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

// replyTo returns the reply to a question or fetch request of a worker.
func replyTo(ctx context.Context, m fromWorker, in task.Input) (toWorker, error) {
	switch {
	case m.Question != nil:
		r := repository.Ask(in.Repo, *m.Question)
		return toWorker{Reply: &r}, nil
	case m.Fetch != nil:
		return toWorker{Fetched: fetchFor(ctx, *m.Fetch, in)}, nil
	}
	return toWorker{}, errors.New("the worker sent an empty message")
}

func fetchFor(ctx context.Context, what fetchRequest, in task.Input) *fetchReply {
	var found task.Found
	err := errors.New("the server does not fetch")
	switch {
	case what.Part && in.FetchPart != nil:
		found.Data, err = in.FetchPart(what.Key, what.From)
	case !what.Part && in.Fetch != nil:
		found, err = in.Fetch(ctx, what.Key)
	}
	if err != nil {
		return &fetchReply{Fault: repository.FaultOf(err)}
	}
	return &fetchReply{Digest: found.Digest, About: found.About, Data: found.Data, Size: found.Size}
}

// isLarge reports whether a worker has retained so much memory that the next job
// might run short.
func (p *process) isLarge() bool {
	if p.limit <= 0 {
		return false
	}
	p.memory.Store(confine.MemoryOf(p.cmd.Process.Pid))
	return p.memory.Load() > p.limit/2
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have already ended

// end ends the worker and waits for it.
func (p *process) end() {
	p.kill()
	<-p.ended
}

// lastOutput returns the last output of the process, for the log.
func (p *process) lastOutput() string {
	if line := p.stderr.FirstLine(); line != "" {
		return line
	}
	return "it was killed"
}
