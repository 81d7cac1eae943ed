package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Source has things that tasks need and repositories do not hold. It is the server's,
// which has the network and what opens it; workers ask for them.
//
// What a key means, the tasks and the source know; the same key may stand for other
// things from time to time. The functions are called by several goroutines, and
// return soon after their context has ended.
type Source interface {
	// Get gets what a key stands for. That there is nothing is for the tasks to
	// know, and no error: errors are those of the context.
	Get(ctx context.Context, who Requester, key string) (Found, error)
	// Digest tells apart what a key stands for now from what it stood for, with
	// less effort if there is a way. It is empty if there is nothing.
	Digest(ctx context.Context, who Requester, key string) string
	// Name is what messages call it. Nothing secret may be in it.
	Name(key string) string
}

// Requester is who a thing is for, as Argo CD says.
type Requester struct {
	Application string
	// Project is the AppProject; empty before Argo CD 3.0, which does not tell.
	Project string
}

// projectName is the variable that names the AppProject.
const projectName = "ARGOCD_APP_PROJECT_NAME"

// Found is what a key stands for.
type Found struct {
	// Digest is that of all the rest; see Source.
	Digest string
	// About is for the tasks, Data the thing itself.
	About, Data []byte
	// Open, of a Source, opens a file with Data, if Data is not here: the server does
	// not hold what it only hands on. Size is that of the file. It can be called until
	// the file is gone, and what was opened can be read on then.
	Open func() (File, error)
	Size int64
}

// File is what Found.Open opens.
type File interface {
	io.ReaderAt
	io.Closer
}

// errPending says that a thing is not there yet. A task that hears it ends, and
// begins again when the thing is there.
var errPending = errors.New("it is on its way")

// errand gets what one request needs. A rendering does not wait for it: whoever has
// a place and a worker would keep them from others while a network is slow. What
// comes at once is handed out at once; for all else the rendering is ended, and done
// again without a wait when it is there. That costs the reading of a chart once more,
// and only once for all that the rendering has asked for.
type errand struct {
	of     Source
	ctx    context.Context // of the request, until the end
	cancel context.CancelFunc
	who    Requester
	set    *arrival   // aside for its files
	one    sync.Mutex // sets some aside at a time

	mu     sync.Mutex
	things map[string]*thing
	late   []string // were asked for by the rendering under way, and are not there
	left   time.Duration
	bytes  int64
	over   bool // no more files are opened
}

// thing is something on its way, until there is closed.
type thing struct {
	there chan struct{}
	found Found
	file  File // that is open until the errand is over
	err   error
}

// leniency is how long a rendering waits for what it needs, in all. What a cache holds
// is there sooner.
const leniency = 100 * time.Millisecond

// maxThings and maxThingBytes bound what one request gets.
const (
	maxThings     = 1000
	maxThingBytes = 256 << 20
)

// newErrand makes an errand for a request, whose files come out of those of all.
func newErrand(ctx context.Context, of Source, env map[string]string, files *repositories) *errand {
	ctx, cancel := context.WithCancel(ctx)
	return &errand{of: of, ctx: ctx, cancel: cancel, who: Requester{env[appName], env[projectName]}, things: map[string]*thing{}, left: leniency,
		set: &arrival{of: files, over: make(chan struct{})}}
}

// end gives back what the errand holds.
func (e *errand) end() {
	if e == nil {
		return
	}
	e.cancel()
	e.one.Lock() // nothing is set aside from now on
	defer e.one.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for _, t := range e.things {
		if t.file != nil {
			t.file.Close()
		}
	}
	e.set.of.arrived(e.set, nil)
}

// hold opens the file of a thing, when there is room for the files of this request
// beside those of the others. It stays open until the request is over, so that
// nobody who fetches much can take it from under a rendering.
func (e *errand) hold(t *thing) error {
	if t.found.Open == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.bytes += int64(len(t.found.Data))
		return nil
	}
	e.one.Lock()
	defer e.one.Unlock()
	e.mu.Lock()
	e.bytes += t.found.Size
	need, over := e.bytes, e.over
	e.mu.Unlock()
	switch {
	case over:
		return context.Canceled
	case need > maxThingBytes:
		return errTooMuch
	}
	if err := e.set.grow(e.ctx, need); err != nil {
		return err
	}
	file, err := t.found.Open()
	if err != nil {
		return fmt.Errorf("what was fetched has gone from the cache before it could be used (%w); give it more room", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.file = file
	return nil
}

// part reads a part of a thing that has come.
func (e *errand) part(key string, from int64) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.things[key]
	if t == nil || t.file == nil || from < 0 || from >= t.found.Size {
		return nil, errors.New("there is no such part")
	}
	data := make([]byte, min(partSize, t.found.Size-from))
	if _, err := t.file.ReadAt(data, from); err != nil {
		return nil, fmt.Errorf("what was fetched cannot be read: %w", err)
	}
	return data, nil
}

// partSize is how much of a thing is handed to a worker at a time.
const partSize = 1 << 20

var errTooMuch = fmt.Errorf("one rendering gets at most %d things from elsewhere, and at most %d MiB", maxThings, maxThingBytes>>20)

// get returns a thing, or errPending if it takes time.
func (e *errand) get(ctx context.Context, key string) (Found, error) {
	e.mu.Lock()
	t, err := e.begin(key)
	left := e.left
	e.mu.Unlock()
	if err != nil {
		return Found{}, err
	}
	select {
	case <-t.there:
		return t.found, t.err
	default:
	}
	began := time.Now()
	enough := time.NewTimer(left)
	defer enough.Stop()
	select {
	case <-t.there:
		err = nil
	case <-enough.C:
		err = errPending
	case <-ctx.Done():
		return Found{}, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = max(0, e.left-time.Since(began))
	if err != nil {
		e.late = append(e.late, key)
		return Found{}, err
	}
	return t.found, t.err
}

// begin sends for a thing that nobody has sent for.
func (e *errand) begin(key string) (*thing, error) {
	if t := e.things[key]; t != nil {
		return t, nil
	}
	if len(e.things) >= maxThings || e.bytes >= maxThingBytes {
		return nil, errTooMuch
	}
	t := &thing{there: make(chan struct{})}
	e.things[key] = t
	go func() {
		defer close(t.there)
		t.found, t.err = e.of.Get(e.ctx, e.who, key)
		if t.err == nil {
			t.err = e.hold(t)
		}
	}()
	return t, nil
}

// waits reports whether the rendering that has ended asked for what was not there.
func (e *errand) waits() bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.late) > 0
}

// await waits for what the rendering did not get, so that it can begin again.
func (e *errand) await(ctx context.Context, dir string) error {
	e.mu.Lock()
	late := e.late
	var things []*thing
	for _, key := range late {
		things = append(things, e.things[key])
	}
	e.late, e.left = nil, leniency
	e.mu.Unlock()
	for i, t := range things {
		select {
		case <-t.there:
		case <-ctx.Done():
			var names []string
			for _, key := range late[i:] {
				if name := e.of.Name(key); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			return deadline(ctx, dir, fetchingIt+activity(strings.Join(names, ", ")))
		}
	}
	return nil
}
