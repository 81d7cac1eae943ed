package serve

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// countedFetcher fetches, and counts how often.
type countedFetcher struct {
	times   atomic.Int64
	content remote.Content
	err     error
}

func (c *countedFetcher) Ensure(context.Context, remote.Ref) (remote.Content, error) {
	c.times.Add(1)
	return c.content, c.err
}

func (c *countedFetcher) Open(string) (*os.File, error) { return os.Open(os.DevNull) }

// source is a source of it for all projects.
func (c *countedFetcher) source(fresh time.Duration) *source {
	return newSource(func(string) (fileFetcher, string, error) { return c, "", nil },
		func(ref remote.Ref) (remote.Ref, error) { return ref, nil }, fresh)
}

// fetchingFrom is a worker's end of a source.
func fetchingFrom(s *source) serverFetcher {
	return func(ctx context.Context, key string) (task.Found, error) {
		return s.Get(ctx, sidecar.Requester{}, key)
	}
}

// TestSourceKnowsDigests: whether a remembered answer still holds, is found out
// without the network for an exact version, and for others as long as they are
// fresh.
func TestSourceKnowsDigests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ref     remote.Ref
		warning string
		later   int64 // fetches after an hour
	}{
		"a version":      {remote.Ref{Kind: remote.Chart, Chart: "redis", Version: "1.2.3"}, "", 1},
		"a range":        {remote.Ref{Kind: remote.Chart, Chart: "redis", Version: "^1"}, "", 2},
		"the newest":     {remote.Ref{Kind: remote.Chart, Chart: "redis"}, "", 2},
		"a cached copy":  {remote.Ref{Kind: remote.Chart, Chart: "redis", Version: "1.2.3"}, "the registry is down", 2},
		"a branch":       {remote.Ref{Kind: remote.Repository, URL: "https://example.com/a.git", Version: "main"}, "", 2},
		"another branch": {remote.Ref{Kind: remote.Repository, URL: "https://example.com/a.git", Version: "1.2.3"}, "", 1},
		"a file":         {remote.Ref{Kind: remote.File, URL: "https://example.com/a.yaml"}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			from := &countedFetcher{content: remote.Content{Version: "1.2.3", Digest: "sha256:1", Warning: tt.warning}}
			s := from.source(5 * time.Minute)
			now := time.Now()
			s.now = func() time.Time { return now }
			key, err := keyOf(tt.ref)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fetchingFrom(s).Fetch(t.Context(), tt.ref)
			if err != nil || got.Version != "1.2.3" || got.Warning != tt.warning {
				t.Errorf("%+v, %v", got, err)
			}
			now = now.Add(4 * time.Minute)
			if s.Digest(t.Context(), sidecar.Requester{}, key) != "sha256:1" || from.times.Load() != 1 {
				t.Errorf("a fresh one was fetched again")
			}
			now = now.Add(time.Hour)
			if s.Digest(t.Context(), sidecar.Requester{}, key) != "sha256:1" || from.times.Load() != tt.later {
				t.Errorf("fetched %d times in all, want %d", from.times.Load(), tt.later)
			}
		})
	}
}

// TestSourceTellsFaults: what is wrong travels to the worker, with the remedy.
func TestSourceTellsFaults(t *testing.T) {
	t.Parallel()
	denied := finding.Finding{Severity: finding.Error, Rule: remote.Source, Object: "chart redis", Message: "is refused", Remedy: "log in"}
	s := (&countedFetcher{err: errors.Join(denied, errors.New("and more"))}).source(0)
	_, err := fetchingFrom(s).Fetch(t.Context(), remote.Ref{Kind: remote.Chart, Chart: "redis"})
	if got := finding.Of(err); len(got) != 2 || got[0] != denied || got[1].Message != "and more" {
		t.Errorf("%v", got)
	}
}
