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

// Source provides content that tasks need and repositories do not contain. It
// belongs to the server, which has the network and the credentials; workers send
// requests to it.
//
// Tasks and source define the meaning of keys. The content of a key may change over
// time. The methods are safe for concurrent use, and return soon after their
// context ends.
type Source interface {
	// Get returns the content of a key. If there is none, the result says so;
	// errors are only those of the context.
	Get(ctx context.Context, requester Requester, key string) (task.Found, error)
	// Digest identifies the current content of a key, if possible without fetching
	// it. It is empty if there is none.
	Digest(ctx context.Context, requester Requester, key string) string
	// Name is the name of a key in messages. It must not contain secrets.
	Name(key string) string
}

// Requester identifies the Application of a request, as set by Argo CD.
type Requester struct {
	Application string
	// Project is the AppProject; empty before Argo CD 3.0.
	Project string
}

const (
	// appName is the environment variable with the Application's name.
	appName = "ARGOCD_APP_NAME"
	// projectName is the environment variable with the AppProject.
	projectName = "ARGOCD_APP_PROJECT_NAME"
)

// errPending means that content is still being fetched. The task ends, and runs
// again when it has arrived.
var errPending = errors.New("the requested content has not arrived yet")

// fetchSession fetches the content for one request. Renderings do not wait for the
// network, because that would block a slot and a worker. Content that arrives
// immediately is returned; otherwise the rendering ends, and runs again when
// everything it requested has arrived. This reads the chart once more, but only
// once for all requested content.
type fetchSession struct {
	source        Source
	ctx           context.Context // of the request, canceled at the end
	cancel        context.CancelFunc
	requester     Requester
	reserved      *reservation // memory reserved for its files
	reservationMu sync.Mutex   // serializes reservations

	mu      sync.Mutex
	items   map[string]*fetchItem
	pending []string // requested by the current rendering, but still pending
	budget  time.Duration
	bytes   int64
	closed  bool // no more files are opened
}

// fetchItem is content being fetched; arrived is closed when it is complete.
type fetchItem struct {
	arrived chan struct{}
	found   task.Found
	file    task.File // stays open until the session ends
	err     error
}

// inlineWait limits the total time that a rendering waits for content. Cached
// content takes less.
const inlineWait = 100 * time.Millisecond

// maxFetched and maxFetchedBytes limit what one request fetches.
const (
	maxFetched      = 1000
	maxFetchedBytes = 256 << 20
)

// newFetchSession returns a session for a request. Its files count toward the
// common limit.
func newFetchSession(ctx context.Context, source Source, env map[string]string, files *repositories) *fetchSession {
	ctx, cancel := context.WithCancel(ctx)
	return &fetchSession{source: source, ctx: ctx, cancel: cancel, requester: Requester{env[appName], env[projectName]},
		items: map[string]*fetchItem{}, budget: inlineWait,
		reserved: &reservation{repositories: files, done: make(chan struct{})}}
}

// end releases everything that the session holds.
func (s *fetchSession) end() {
	s.cancel()
	s.reservationMu.Lock() // no reservations from now on
	defer s.reservationMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, t := range s.items {
		if t.file != nil {
			t.file.Close()
		}
	}
	s.reserved.repositories.finish(s.reserved, nil)
}

// isUnchanged reports whether fetched content is unchanged, by the digests of its keys. It
// is false without a session.
func (s *fetchSession) isUnchanged(fetched map[string]string) bool {
	for key, digest := range fetched {
		if s == nil || s.source.Digest(s.ctx, s.requester, key) != digest {
			return false
		}
	}
	return true
}

// hold opens the file of fetched content, once there is room next to the files of
// other requests. It stays open until the request ends, so that no other request
// can evict it during a rendering.
func (s *fetchSession) hold(t *fetchItem) error {
	if t.found.Open == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bytes += int64(len(t.found.Data))
		return nil
	}
	s.reservationMu.Lock()
	defer s.reservationMu.Unlock()
	s.mu.Lock()
	s.bytes += t.found.Size
	need, closed := s.bytes, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return context.Canceled
	case need > maxFetchedBytes:
		return errTooMuch
	}
	if err := s.reserved.grow(s.ctx, need); err != nil {
		return err
	}
	file, err := t.found.Open()
	if err != nil {
		return fmt.Errorf("fetched content was evicted from the cache before it could be used (%w); fix: increase the size of the cache", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.file = file
	return nil
}

// part reads a part of arrived content.
func (s *fetchSession) part(key string, from int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.items[key]
	if t == nil || t.file == nil || from < 0 || from >= t.found.Size {
		return nil, errors.New("unknown part")
	}
	data := make([]byte, min(partSize, t.found.Size-from))
	if _, err := t.file.ReadAt(data, from); err != nil {
		return nil, fmt.Errorf("fetched content cannot be read: %w", err)
	}
	return data, nil
}

// partSize is the size of the parts sent to a worker.
const partSize = 1 << 20

var errTooMuch = fmt.Errorf("one rendering fetches at most %d remote sources, and at most %d MiB", maxFetched, maxFetchedBytes>>20)

// get returns content, or errPending if it takes longer.
func (s *fetchSession) get(ctx context.Context, key string) (task.Found, error) {
	s.mu.Lock()
	t, err := s.begin(key)
	budget := s.budget
	s.mu.Unlock()
	if err != nil {
		return task.Found{}, err
	}
	select {
	case <-t.arrived:
		return t.found, t.err
	default:
	}
	start := time.Now()
	timer := time.NewTimer(budget)
	defer timer.Stop()
	select {
	case <-t.arrived:
		err = nil
	case <-timer.C:
		err = errPending
	case <-ctx.Done():
		return task.Found{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = max(0, s.budget-time.Since(start))
	if err != nil {
		s.pending = append(s.pending, key)
		return task.Found{}, err
	}
	return t.found, t.err
}

// begin starts fetching content.
func (s *fetchSession) begin(key string) (*fetchItem, error) {
	if t := s.items[key]; t != nil {
		return t, nil
	}
	if len(s.items) >= maxFetched || s.bytes >= maxFetchedBytes {
		return nil, errTooMuch
	}
	t := &fetchItem{arrived: make(chan struct{})}
	s.items[key] = t
	go s.fetch(t, key)
	return t, nil
}

func (s *fetchSession) fetch(t *fetchItem, key string) {
	defer close(t.arrived)
	t.found, t.err = s.source.Get(s.ctx, s.requester, key)
	if t.err == nil {
		t.err = s.hold(t)
	}
}

// hasPending reports whether the last rendering requested content that was pending.
func (s *fetchSession) hasPending() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0
}

// await waits for pending content, so that the rendering can run again.
func (s *fetchSession) await(ctx context.Context, dir string) error {
	s.mu.Lock()
	pending := s.pending
	var items []*fetchItem
	for _, key := range pending {
		items = append(items, s.items[key])
	}
	s.pending, s.budget = nil, inlineWait
	s.mu.Unlock()
	for i, t := range items {
		select {
		case <-t.arrived:
		case <-ctx.Done():
			return timeoutError(ctx, dir, fetchingContent+activity(strings.Join(s.names(pending[i:]), ", ")))
		}
	}
	return nil
}

// names returns the names of keys for messages.
func (s *fetchSession) names(keys []string) (names []string) {
	for _, key := range keys {
		if name := s.source.Name(key); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
