package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// fetchResult is the result of fetching a Ref, apart from the content.
type fetchResult struct {
	Version  string            `json:"version,omitempty"`
	Warning  string            `json:"warning,omitempty"`
	Findings []finding.Finding `json:"findings,omitempty"`
}

// fileFetcher fetches into files. fetch.Fetcher implements it.
type fileFetcher interface {
	Ensure(ctx context.Context, ref remote.Ref) (remote.Content, error)
	Open(digest string) (*os.File, error)
}

// source fetches for workers. It caches the digests of fetched content, so that
// cached responses can be validated without fetching: those of exact versions
// permanently, others for their TTL.
type source struct {
	// fetcherFor returns the Fetcher of an AppProject, with the scope of its cache, which
	// is unknown to other projects.
	fetcherFor func(project string) (from fileFetcher, scope string, err error)
	// resolve replaces the name of a repository by its URL.
	resolve func(remote.Ref) (remote.Ref, error)
	ttl     time.Duration
	now     func() time.Time

	mu    sync.Mutex
	known map[string]known
}

func (s *source) Get(ctx context.Context, requester sidecar.Requester, key string) (task.Found, error) {
	ref, err := refOf(key)
	if err != nil {
		return task.Found{}, err
	}
	began := s.now()
	from, scope, err := s.fetcherFor(requester.Project)
	var c remote.Content
	if err == nil {
		c, err = s.ensure(fetch.WithTenant(ctx, cmp.Or(requester.Project, requester.Application)), from, ref)
	}
	if ctx.Err() != nil {
		return task.Found{}, ctx.Err()
	}
	about, fault := json.Marshal(fetchResult{c.Version, c.Warning, finding.Of(err)})
	found := task.Found{Digest: c.Digest, About: about}
	if err == nil && fault == nil {
		s.store(scope, key, remote.Fetched{Ref: ref, Content: c}, began)
		found.Size, fault = sizeOf(from, c.Digest)
		found.Open = func() (task.File, error) { return from.Open(c.Digest) }
	}
	return found, fault
}

func (s *source) ensure(ctx context.Context, from fileFetcher, ref remote.Ref) (remote.Content, error) {
	ref, err := s.resolve(ref)
	if err != nil {
		return remote.Content{}, err
	}
	return from.Ensure(ctx, ref)
}

// store caches a digest, except for stale content.
func (s *source) store(scope, key string, f remote.Fetched, at time.Time) {
	k := known{digest: f.Content.Digest}
	if f.Ref.Kind == remote.File || !f.Exact() || f.Content.Warning != "" {
		k.until = at.Add(s.ttl)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[scope+"\x00"+key] = k
}

func (s *source) Digest(ctx context.Context, requester sidecar.Requester, key string) string {
	_, scope, err := s.fetcherFor(requester.Project)
	if err != nil {
		return ""
	}
	s.mu.Lock()
	k, ok := s.known[scope+"\x00"+key]
	s.mu.Unlock()
	// The additional permissions of a project can change while the server runs.
	if ok && scope == "" && (k.until.IsZero() || s.now().Before(k.until)) {
		return k.digest
	}
	found, err := s.Get(ctx, requester, key)
	if err != nil {
		return ""
	}
	return found.Digest
}

func (s *source) Name(key string) string {
	ref, err := refOf(key)
	if err != nil {
		return "unknown source"
	}
	return ref.String()
}

var _ sidecar.Source = (*source)(nil)

// known is a digest with its expiry; zero means never.
type known struct {
	digest string
	until  time.Time
}

// maxKnown limits the cached digests, some hundred bytes each.
const maxKnown = 10_000

func newSource(fetcherFor func(project string) (fileFetcher, string, error), resolve func(remote.Ref) (remote.Ref, error),
	ttl time.Duration) *source {
	return &source{fetcherFor: fetcherFor, resolve: resolve, ttl: ttl, now: time.Now, known: map[string]known{}}
}

// sizeOf returns the size of content by digest.
func sizeOf(from fileFetcher, digest string) (int64, error) {
	file, err := from.Open(digest)
	if err != nil {
		return 0, fmt.Errorf("fetched content was evicted from the cache before it could be used: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func keyOf(ref remote.Ref) (string, error) {
	text, err := json.Marshal(ref)
	return string(text), err
}

func refOf(key string) (remote.Ref, error) {
	var ref remote.Ref
	err := json.Unmarshal([]byte(key), &ref)
	return ref, err
}

// serverFetcher fetches through the server.
type serverFetcher func(ctx context.Context, key string) (task.Found, error)

func (f serverFetcher) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	key, err := keyOf(ref)
	if err != nil {
		return remote.Content{}, err
	}
	found, err := f(ctx, key)
	if err != nil {
		return remote.Content{}, err
	}
	var a fetchResult
	if err := json.Unmarshal(found.About, &a); err != nil {
		return remote.Content{}, err
	}
	if len(a.Findings) > 0 {
		var all []error
		for _, one := range a.Findings {
			all = append(all, one)
		}
		return remote.Content{}, errors.Join(all...)
	}
	return remote.Content{Version: a.Version, Digest: found.Digest, Data: found.Data, Warning: a.Warning}, nil
}

// sourceOf returns the source of a server, which fetches in separate processes; nil
// if nothing may be fetched. end cleans up.
func sourceOf(in *flags.Fetching, log *slog.Logger, metrics prometheus.Registerer) (from *source, end func(), err error) {
	end = func() {}
	l := in.Config.Limits
	switch {
	case len(in.Config.Allow) == 0 && in.Projects == "":
		f, err := in.Fetcher(log, metrics) // for errors in the other flags
		if f == nil {
			return nil, end, err
		}
	case l.Memory < LeastWorkerMemory:
		return nil, end, finding.Usagef("--remote-memory is %d bytes, which is too little to fetch anything; set it to %d (64 MiB) or more",
			l.Memory,
			LeastWorkerMemory)
	case l.Concurrent < 1:
		return nil, end, finding.Usagef("--remote-parallel is %d; set it to 1 or more", l.Concurrent)
	}
	if in.Config.Cache.Dir == "" {
		if in.Config.Cache.Dir, err = os.MkdirTemp("", "ladder-"); err != nil {
			return nil, end, fmt.Errorf(
				"no writable directory for fetched files: %w; mount a volume, such as an emptyDir, and name it with --remote-cache", err)
		}
		end = func() { os.RemoveAll(in.Config.Cache.Dir) }
	} else if err := writable(in.Config.Cache.Dir); err != nil {
		return nil, end, fmt.Errorf("--remote-cache %s is not writable: %w; mount a writable volume there, such as an emptyDir",
			in.Config.Cache.Dir, err)
	}
	f, err := in.Fetcher(log, metrics)
	if err != nil {
		end()
		return nil, func() {}, err
	}
	fetcherFor := func(project string) (fileFetcher, string, error) {
		own, scope, err := f.For(in.Projects, project)
		return own, scope, err
	}
	return newSource(fetcherFor, flags.ResolveName, in.Config.TTL), end, nil
}

// writable creates a directory if needed, and checks that files can be written
// there.
func writable(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
