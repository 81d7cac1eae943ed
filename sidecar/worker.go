package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/sandbox"
)

// Work answers the jobs of the server at the other end of a connection, one
// after the other, until it hangs up; then it ends the process. It is what a
// worker process does. prepare makes the tasks from the text that the server
// was given for them.
//
// Before that, the process enters a sandbox for good: from then on it has the
// connection and what is open, and neither files nor network nor other processes.
//
// Tasks see the repository through their Input only. What they panic with ends
// the job and not the process.
func Work(conn io.ReadWriter, prepare func(text []byte) (Tasks, error)) error {
	w := &worker{link: newLink(conn), replies: make(chan reply)}
	var first toWorker
	if err := w.link.receive(&first); err != nil {
		return fmt.Errorf("no setup arrived: %w", err)
	}
	if first.Setup == nil {
		return errors.New("the first message is no setup")
	}
	confine.Memory(first.Setup.Memory)
	gaps := sandbox.Enter()
	tasks, err := prepare(first.Setup.Text)
	if err != nil {
		return err
	}
	if err := w.link.send(fromWorker{Ready: true, Gaps: gaps}); err != nil {
		return err
	}
	jobs := make(chan job)
	go w.listen(jobs)
	for j := range jobs {
		if err := w.link.send(fromWorker{Done: w.do(j, tasks)}); err != nil {
			return err
		}
	}
	return nil
}

type worker struct {
	link    *link
	replies chan reply
	asking  sync.Mutex
}

// listen reads all the time, so that the process ends when the server does,
// whatever a job is at.
func (w *worker) listen(jobs chan<- job) {
	for {
		var m toWorker
		if err := w.link.receive(&m); err != nil {
			os.Exit(0)
		}
		switch {
		case m.Job != nil:
			jobs <- *m.Job
		case m.Reply != nil:
			w.replies <- *m.Reply
		}
	}
}

// do does a job. Its context never ends: the server ends the process instead.
func (w *worker) do(j job, tasks Tasks) (d *done) {
	defer func() {
		if r := recover(); r != nil {
			d = &done{Fault: bug(j.Dir, r), Code: codes.Internal, Panic: fmt.Sprintf("%v\n%s", r, debug.Stack())}
		}
	}()
	if j.Env == nil {
		j.Env = map[string]string{} // an empty map does not travel
	}
	in := Input{Repo: asked(w.ask), Dir: j.Dir, Env: j.Env}
	if j.Fetches {
		in.Fetch = func(_ context.Context, key string) (Found, error) {
			f, err := w.ask(question{fetch, key}).thing()
			if err != nil || f.Size == 0 {
				return f, err
			}
			return f.whole(key, w.ask)
		}
	}
	a, err := tasks.run(context.Background(), j.Task, in)
	if err != nil {
		d = &done{Fault: err.Error()}
		if s, ok := status.FromError(err); ok {
			d.Fault, d.Code = s.Message(), s.Code()
		}
		return d
	}
	return &done{Answer: a}
}

func (w *worker) ask(q question) reply {
	w.asking.Lock()
	defer w.asking.Unlock()
	if err := w.link.send(fromWorker{Question: &q}); err != nil {
		os.Exit(0)
	}
	return <-w.replies
}
