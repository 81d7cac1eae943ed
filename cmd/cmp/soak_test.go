//go:build load

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

// soakRevisions are those of each Application. Some components print theirs.
const soakRevisions = 10

// soak is what the clients of TestSoak ask for, and what became of it.
type soak struct {
	server     *served
	archive    sidecartest.Archive
	hostile    []sidecartest.Archive
	components []string          // those that can be rendered
	want       map[string]string // their answers, by component and revision

	asked, refused, gone, wrong, answered atomic.Int64
}

// newSoak asks for each component once.
func newSoak(t *testing.T, s *served) *soak {
	t.Helper()
	archive, err := sidecartest.Pack(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(componentsDir, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	k := &soak{server: s, archive: archive, want: map[string]string{}}
	for _, file := range dirs {
		dir := filepath.Base(filepath.Dir(file))
		for revision := range soakRevisions {
			if text, err := k.ask(t.Context(), s.Client, dir, revision); err == nil {
				k.want[dir+strconv.Itoa(revision)] = text
				k.components = append(k.components, dir)
			}
		}
	}
	if len(k.want) < 5*soakRevisions {
		t.Fatalf("only %d components can be rendered", len(k.want)/soakRevisions)
	}
	for name, h := range hostileRepositories("127.0.0.1:1") {
		if h.want != "" && !strings.Contains(name, "include itself") {
			k.hostile = append(k.hostile, sidecartest.PackEntries(h.repo...))
		}
	}
	return k
}

func (k *soak) ask(ctx context.Context, c *sidecartest.Client, dir string, revision int) (string, error) {
	out, err := c.GenerateManifest(ctx, sidecartest.Request{Archive: k.archive, Dir: dir,
		Env: map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_REVISION": strconv.Itoa(revision)}})
	return strings.Join(out, "---\n"), err
}

// request sends a request of any kind, and reports whether the server can be reached.
func (k *soak) request(t *testing.T, random *rand.Rand) bool {
	t.Helper()
	// As Argo CD does, each request has a connection of its own.
	c, err := sidecartest.Dial(k.server.socket)
	if err != nil {
		t.Error(err)
		return false
	}
	defer c.Close()
	k.asked.Add(1)
	switch dir := k.components[random.IntN(len(k.components))]; random.IntN(10) {
	case 0:
		limited, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := c.GenerateManifest(limited, sidecartest.Request{Archive: k.hostile[random.IntN(len(k.hostile))], Dir: "app", Chunk: 64 << 10,
			Env: map[string]string{"ARGOCD_APP_NAME": "h" + strconv.Itoa(random.IntN(100))}})
		cancel()
		if err == nil {
			k.wrong.Add(1)
			t.Error("a hostile repository was answered")
		}
		k.refused.Add(1)
	case 1:
		limited, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(20))*time.Millisecond)
		k.ask(limited, c, dir, random.IntN(soakRevisions))
		cancel()
		k.gone.Add(1)
	default:
		revision := random.IntN(soakRevisions)
		got, err := k.ask(t.Context(), c, dir, revision)
		if err != nil || got != k.want[dir+strconv.Itoa(revision)] {
			k.wrong.Add(1)
			t.Errorf("%s: %v\n%s", dir, err, got)
		}
		k.answered.Add(1)
	}
	return true
}

// soakEnv is how long TestSoak takes, such as 10m.
const soakEnv = "LADDER_SOAK"

// TestSoak has 32 clients ask one server for a long time, on request only:
//
//	LADDER_SOAK=10m go test -tags load ./cmd/cmp -run TestSoak -v -timeout 0
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
	s := startServe(t, "LADDER_SERVE_WORKER_MEMORY=201326592", "LADDER_SERVE_TIMEOUT=2m", "LADDER_SERVE_PARALLEL=2",
		"LADDER_SERVE_CACHE_BYTES=8388608", "LADDER_SERVE_CACHE_AGE=10s")
	k := newSoak(t, s)
	before := s.holds(t)
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	var clients sync.WaitGroup
	for i := range 32 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				if !k.request(t, random) {
					return
				}
			}
		})
	}
	ticks := time.NewTicker(max(long/12, time.Second))
	defer ticks.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticks.C:
			t.Logf("%d requests, %d MiB resident, %+v", k.asked.Load(), s.resident(t)>>20, s.holds(t))
		case <-ctx.Done():
		}
		s.mu.Lock()
		s.lines = nil // of the log
		s.mu.Unlock()
	}
	clients.Wait()
	s.settle(t, before)
	t.Logf("%d requests: %d answered, %d of them wrong, %d hostile, %d left; before %+v, after %+v, %d MiB resident",
		k.asked.Load(), k.answered.Load(), k.wrong.Load(), k.refused.Load(), k.gone.Load(), before, s.holds(t), s.resident(t)>>20)
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
