package sidecar_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// TestMemory makes sure that repositories arrive only as far as there is
// memory for them, that what they do not need is given back as soon as they are
// there, and all of it with the response.
func TestMemory(t *testing.T) {
	const limit = 1 << 20
	registry := prometheus.NewRegistry()
	running, release := make(chan struct{}, 10), make(chan struct{})
	h := start(t, func(c *sidecar.Config) {
		c.Limits = repository.Limits{Bytes: 10 * limit} // more than there is
		c.Memory, c.Metrics = limit, registry
		c.Tasks = sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
			running <- struct{}{}
			if in.Dir == "app" {
				<-release
			}
			return task.Output{Manifests: []string{"ok"}}, nil
		}}
	})
	large := func(size int) sidecartest.Archive {
		return sidecartest.PackEntries(file("app/large", strings.Repeat("x", size)))
	}
	first := make(chan error, 1)
	go func() {
		_, err := h.GenerateManifest(context.Background(), sidecartest.Request{Archive: large(limit / 2), Dir: "app"})
		first <- err
	}()
	<-running
	if held := metric(t, registry, "ladder_repository_bytes"); held < limit/2 || held > limit/2+2000 {
		t.Errorf("%v bytes are held, want %d and some", held, limit/2)
	}
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "other"}); err != nil {
		t.Errorf("one that fits beside it: %v", err)
	}
	// What is left may be too little for the next, also when much of it is there.
	waited := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: large(limit/2 + 1), Dir: "other"})
		waited <- err
	}()
	eventually(t, "it waits", func() bool { return metric(t, registry, "ladder_repositories_waiting") == 1 })
	wants(t, <-waited, codes.DeadlineExceeded, "other: the plugin is busy: "+
		"the repo-server's deadline passed while the plugin was waiting for memory that other repositories use: the request had taken ")
	if err := sidecar.Probe(t.Context(), h.socket); err != nil {
		t.Errorf("while a request waits: %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: large(limit/2 + 1), Dir: "other"}); err != nil {
		t.Errorf("after the others: %v", err)
	}
	_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: large(limit), Dir: "other"})
	wants(t, err, codes.ResourceExhausted,
		`other: the repository is too large for this plugin: more than 1048576 bytes (--repository-memory), at "app/large"`)
}

// TestSmallRepositoriesStandTogether renders several at once though there is
// memory for a single one of the largest size.
func TestSmallRepositoriesStandTogether(t *testing.T) {
	t.Parallel()
	const together = 4
	running, release := make(chan struct{}), make(chan struct{})
	h := start(t, func(c *sidecar.Config) {
		c.Limits = repository.Limits{Bytes: 1 << 20}
		c.Memory = 1<<20 + 64<<10
		c.Tasks = sidecartest.Tasks{Generate: func(context.Context, task.Input) (task.Output, error) {
			running <- struct{}{}
			<-release
			return task.Output{Manifests: []string{"ok"}}, nil
		}}
	})
	var wg sync.WaitGroup
	for i := range together {
		wg.Go(func() {
			if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: fmt.Sprint("app", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	for range together {
		<-running
	}
	close(release)
	wg.Wait()
}
