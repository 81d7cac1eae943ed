// Package worker runs the tasks of a plugin server in separate processes: Pool
// manages them in the server, and Main runs in each process. A failing task, such
// as an endless template, only ends its own process.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// Main is the main function of a worker process. It runs the jobs that the server
// sends over in and out, one at a time, and ends the process when the server
// disconnects. prepare creates the Runner from the server's setup text.
//
// Before the first job, the process enters a sandbox permanently: it keeps its
// connection and open files, but has no access to files, network or other
// processes.
//
// Tasks see the repository only through their Input. A panic of a task ends the
// job, not the process.
func Main(in io.Reader, out io.Writer, prepare func(text []byte) (task.Runner, error)) error {
	w := &worker{link: newLink(in, out), replies: make(chan toWorker)}
	var first toWorker
	if err := w.link.receive(&first); err != nil {
		return fmt.Errorf("no setup arrived: %w", err)
	}
	if first.Setup == nil {
		return errors.New("the first message is not a setup")
	}
	confine.Memory(first.Setup.Memory)
	gaps := confine.Sandbox()
	tasks, err := prepare(first.Setup.Text)
	if err != nil {
		return err
	}
	if err := w.link.send(fromWorker{Ready: &ready{gaps}}); err != nil {
		return err
	}
	jobs := make(chan job)
	go w.listen(jobs)
	for j := range jobs {
		if err := w.link.send(fromWorker{Result: w.do(j, tasks)}); err != nil {
			return err
		}
	}
	return nil
}

// worker is the state of the process.
type worker struct {
	link    *link
	replies chan toWorker
	askMu   sync.Mutex
}

// listen reads continuously, so that the process ends with the server even during a
// job.
func (w *worker) listen(jobs chan<- job) {
	for {
		var m toWorker
		if err := w.link.receive(&m); err != nil {
			os.Exit(0)
		}
		if m.Job != nil {
			jobs <- *m.Job
		} else {
			w.replies <- m
		}
	}
}

// do runs a job. Its context never ends: the server ends the process instead.
func (w *worker) do(j job, tasks task.Runner) (r *result) {
	defer func() {
		if p := recover(); p != nil {
			r = &result{Fault: task.PanicMessage(j.Dir, p), Code: codes.Internal, Panic: fmt.Sprintf("%v\n%s", p, debug.Stack())}
		}
	}()
	if j.Env == nil {
		j.Env = map[string]string{} // empty maps are not transmitted
	}
	in := task.Input{Repo: repository.FS(w.read), Dir: j.Dir, Env: j.Env, Secret: j.Secret}
	if j.Fetches {
		in.Fetch = w.fetch
	}
	a, err := tasks.Run(context.Background(), j.Task, in)
	if err == nil {
		err = a.CheckSize(j.Dir) // it would not fit into a message
	}
	return resultOf(a, err)
}

// ask sends a message to the server and returns the reply.
func (w *worker) ask(m fromWorker) toWorker {
	w.askMu.Lock()
	defer w.askMu.Unlock()
	if err := w.link.send(m); err != nil {
		os.Exit(0)
	}
	return <-w.replies
}

// read sends a question about the repository to the server and returns the reply.
func (w *worker) read(q repository.Question) repository.Reply {
	reply := w.ask(fromWorker{Question: &q}).Reply
	if reply == nil {
		return repository.Reply{Fault: repository.FaultOf(errNoReply)}
	}
	return *reply
}

var errNoReply = errors.New("the server replied to something else")

// fetch returns the content of a key, in parts if it is large.
func (w *worker) fetch(_ context.Context, key string) (task.Found, error) {
	got, err := w.askToFetch(fetchRequest{Key: key})
	if err != nil {
		return task.Found{}, err
	}
	found := task.Found{Digest: got.Digest, About: got.About, Data: got.Data}
	if got.Size == 0 {
		return found, nil
	}
	found.Size, found.Data = got.Size, make([]byte, 0, got.Size)
	for int64(len(found.Data)) < got.Size {
		part, err := w.askToFetch(fetchRequest{Key: key, Part: true, From: int64(len(found.Data))})
		if err != nil {
			return task.Found{}, err
		}
		if len(part.Data) == 0 {
			return task.Found{}, io.ErrUnexpectedEOF
		}
		found.Data = append(found.Data, part.Data...)
	}
	return found, nil
}

func (w *worker) askToFetch(what fetchRequest) (*fetchReply, error) {
	got := w.ask(fromWorker{Fetch: &what}).Fetched
	switch {
	case got == nil:
		return nil, errNoReply
	case got.Fault != nil:
		return nil, got.Fault.Err()
	}
	return got, nil
}
