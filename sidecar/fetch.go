package sidecar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/task"
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
	Get(ctx context.Context, who Requester, key string) (task.Found, error)
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

const (
	// appName is the variable that names the Application.
	appName = "ARGOCD_APP_NAME"
	// projectName is the variable that names the AppProject.
	projectName = "ARGOCD_APP_PROJECT_NAME"
)

// errPending says that a thing is not there yet. A task that hears it ends, and
// begins again when the thing is there.
var errPending = errors.New("it is on its way")

// fetchSession gets what one request needs. A rendering does not wait for it: whoever
// has a slot and a worker would keep them from others while a network is slow. What
// comes at once is handed out at once; for all else the rendering is ended, and done
// again without a wait when it is there. That costs the reading of a chart once more,
// and only once for all that the rendering has asked for.
type fetchSession struct {
	of     Source
	ctx    context.Context // of the request, until the end
	cancel context.CancelFunc
	who    Requester
	set    *reservation // of memory for its files
	one    sync.Mutex   // sets some aside at a time

	mu     sync.Mutex
	things map[string]*fetchedThing
	late   []string // were asked for by the rendering under way, and are not there
	left   time.Duration
	bytes  int64
	over   bool // no more files are opened
}

// fetchedThing is something on its way, until there is closed.
type fetchedThing struct {
	there chan struct{}
	found task.Found
	file  task.File // that is open until the session is over
	err   error
}

// inlineWait is how long a rendering waits for what it needs, in all. What a cache holds
// is there sooner.
const inlineWait = 100 * time.Millisecond

// maxFetched and maxFetchedBytes bound what one request gets.
const (
	maxFetched      = 1000
	maxFetchedBytes = 256 << 20
)

// newFetchSession makes a session for a request, whose files come out of those of all.
func newFetchSession(ctx context.Context, of Source, env map[string]string, files *repositories) *fetchSession {
	ctx, cancel := context.WithCancel(ctx)
	return &fetchSession{of: of, ctx: ctx, cancel: cancel, who: Requester{env[appName], env[projectName]}, things: map[string]*fetchedThing{}, left: inlineWait,
		set: &reservation{of: files, over: make(chan struct{})}}
}

// end gives back what the session holds.
func (s *fetchSession) end() {
	s.cancel()
	s.one.Lock() // nothing is set aside from now on
	defer s.one.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, t := range s.things {
		if t.file != nil {
			t.file.Close()
		}
	}
	s.set.of.arrived(s.set, nil)
}

// same reports whether all that was fetched is still what it was, by the digests of
// the keys. Without a session nothing is.
func (s *fetchSession) same(fetched map[string]string) bool {
	for key, digest := range fetched {
		if s == nil || s.of.Digest(s.ctx, s.who, key) != digest {
			return false
		}
	}
	return true
}

// hold opens the file of a thing, when there is room for the files of this request
// beside those of the others. It stays open until the request is over, so that
// nobody who fetches much can take it from under a rendering.
func (s *fetchSession) hold(t *fetchedThing) error {
	if t.found.Open == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bytes += int64(len(t.found.Data))
		return nil
	}
	s.one.Lock()
	defer s.one.Unlock()
	s.mu.Lock()
	s.bytes += t.found.Size
	need, over := s.bytes, s.over
	s.mu.Unlock()
	switch {
	case over:
		return context.Canceled
	case need > maxFetchedBytes:
		return errTooMuch
	}
	if err := s.set.grow(s.ctx, need); err != nil {
		return err
	}
	file, err := t.found.Open()
	if err != nil {
		return fmt.Errorf("what was fetched was evicted from the cache before it could be used (%w); fix: enlarge the cache", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.file = file
	return nil
}

// part reads a part of a thing that has come.
func (s *fetchSession) part(key string, from int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.things[key]
	if t == nil || t.file == nil || from < 0 || from >= t.found.Size {
		return nil, errors.New("unknown part")
	}
	data := make([]byte, min(partSize, t.found.Size-from))
	if _, err := t.file.ReadAt(data, from); err != nil {
		return nil, fmt.Errorf("what was fetched cannot be read: %w", err)
	}
	return data, nil
}

// partSize is how much of a thing is handed to a worker at a time.
const partSize = 1 << 20

var errTooMuch = fmt.Errorf("one rendering fetches at most %d remote sources, and at most %d MiB", maxFetched, maxFetchedBytes>>20)

// get returns a thing, or errPending if it takes time.
func (s *fetchSession) get(ctx context.Context, key string) (task.Found, error) {
	s.mu.Lock()
	t, err := s.begin(key)
	left := s.left
	s.mu.Unlock()
	if err != nil {
		return task.Found{}, err
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
		return task.Found{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = max(0, s.left-time.Since(began))
	if err != nil {
		s.late = append(s.late, key)
		return task.Found{}, err
	}
	return t.found, t.err
}

// begin sends for a thing that nobody has sent for.
func (s *fetchSession) begin(key string) (*fetchedThing, error) {
	if t := s.things[key]; t != nil {
		return t, nil
	}
	if len(s.things) >= maxFetched || s.bytes >= maxFetchedBytes {
		return nil, errTooMuch
	}
	t := &fetchedThing{there: make(chan struct{})}
	s.things[key] = t
	go s.bring(t, key)
	return t, nil
}

func (s *fetchSession) bring(t *fetchedThing, key string) {
	defer close(t.there)
	t.found, t.err = s.of.Get(s.ctx, s.who, key)
	if t.err == nil {
		t.err = s.hold(t)
	}
}

// waits reports whether the rendering that has ended asked for what was not there.
func (s *fetchSession) waits() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.late) > 0
}

// await waits for what the rendering did not get, so that it can begin again.
func (s *fetchSession) await(ctx context.Context, dir string) error {
	s.mu.Lock()
	late := s.late
	var things []*fetchedThing
	for _, key := range late {
		things = append(things, s.things[key])
	}
	s.late, s.left = nil, inlineWait
	s.mu.Unlock()
	for i, t := range things {
		select {
		case <-t.there:
		case <-ctx.Done():
			return timeoutError(ctx, dir, fetchingIt+activity(strings.Join(s.names(late[i:]), ", ")))
		}
	}
	return nil
}

// names are what messages call some keys.
func (s *fetchSession) names(keys []string) (names []string) {
	for _, key := range keys {
		if name := s.of.Name(key); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
