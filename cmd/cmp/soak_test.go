//go:build !race

package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// soakEnv is how long TestSoak takes, such as 10m.
const soakEnv = "LADDER_SOAK"

// TestSoak has 32 clients ask one server for a long time, on request only:
//
//	LADDER_SOAK=10m go test ./cmd/cmp -run TestSoak -v -timeout 0
//
// Of ten requests one is hostile, and one leaves before its answer. Every
// answer to the others must be what it was at the beginning, and at the end the
// server holds no more than then.
func TestSoak(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv(soakEnv))
	if err != nil {
		t.Log("this takes minutes, and runs when " + soakEnv + " says how many: " + soakEnv + "=10m")
		return
	}
	s := serve(t, "LADDER_SERVE_WORKER_MEMORY=201326592", "LADDER_SERVE_TIMEOUT=2m", "LADDER_SERVE_PARALLEL=2", "LADDER_SERVE_CACHE_BYTES=8388608", "LADDER_SERVE_CACHE_AGE=10s")
	archive, err := sidecartest.Pack(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(componentsDir, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const revisions = 10 // some components print theirs
	want := map[string]string{}
	var components []string
	ask := func(ctx context.Context, c *sidecartest.Client, dir string, app int) (string, error) {
		out, err := c.GenerateManifest(ctx, sidecartest.Request{Archive: archive, Dir: dir, Env: map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_REVISION": strconv.Itoa(app)}})
		return strings.Join(out, "---\n"), err
	}
	for _, file := range dirs {
		dir := filepath.Base(filepath.Dir(file))
		for revision := range revisions {
			if text, err := ask(t.Context(), s.Client, dir, revision); err == nil {
				want[dir+strconv.Itoa(revision)] = text
				components = append(components, dir)
			}
		}
	}
	if len(want) < 5*revisions {
		t.Fatalf("only %d components can be rendered", len(want)/revisions)
	}
	var hostile []sidecartest.Archive
	for name, h := range hostileRepositories("127.0.0.1:1") {
		if h.want != "" && !strings.Contains(name, "include itself") {
			hostile = append(hostile, sidecartest.PackEntries(h.repo...))
		}
	}
	before := s.holds(t)
	var asked, refused, gone, wrong, answered atomic.Int64
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	var clients sync.WaitGroup
	for i := range 32 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				// As Argo CD does, each request has a connection of its own.
				c, err := sidecartest.Dial(s.socket)
				if err != nil {
					t.Error(err)
					return
				}
				asked.Add(1)
				switch dir := components[random.IntN(len(components))]; random.IntN(10) {
				case 0:
					limited, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					_, err := c.GenerateManifest(limited, sidecartest.Request{Archive: hostile[random.IntN(len(hostile))], Dir: "app", Chunk: 64 << 10, Env: map[string]string{"ARGOCD_APP_NAME": "h" + strconv.Itoa(random.IntN(100))}})
					cancel()
					if err == nil {
						wrong.Add(1)
						t.Error("a hostile repository was answered")
					}
					refused.Add(1)
				case 1:
					limited, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(20))*time.Millisecond)
					ask(limited, c, dir, random.IntN(revisions))
					cancel()
					gone.Add(1)
				default:
					revision := random.IntN(revisions)
					got, err := ask(t.Context(), c, dir, revision)
					if err != nil || got != want[dir+strconv.Itoa(revision)] {
						wrong.Add(1)
						t.Errorf("%s: %v\n%s", dir, err, got)
					}
					answered.Add(1)
				}
				c.Close()
			}
		})
	}
	ticks := time.NewTicker(max(long/12, time.Second))
	defer ticks.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticks.C:
			t.Logf("%d requests, %d MiB resident, %+v", asked.Load(), s.resident(t)>>20, s.holds(t))
		case <-ctx.Done():
		}
		s.mu.Lock()
		s.lines = nil // of the log
		s.mu.Unlock()
	}
	clients.Wait()
	s.settle(t, before)
	t.Logf("%d requests: %d answered, %d of them wrong, %d hostile, %d left; before %+v, after %+v, %d MiB resident", asked.Load(), answered.Load(), wrong.Load(), refused.Load(), gone.Load(), before, s.holds(t), s.resident(t)>>20)
	if stray, _ := filepath.Glob(filepath.Join(filepath.Dir(s.socket), "*")); len(stray) != 1 {
		t.Errorf("beside the socket there are %v", stray)
	}
}

// resident is the memory of the server without its workers, in bytes.
func (s *served) resident(t *testing.T) int {
	t.Helper()
	_, after, _ := strings.Cut(s.get(t, "/metrics"), "\nprocess_resident_memory_bytes ")
	text, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
