//go:build load

package main

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// TestHostileLimits sends the repositories that a limit of time or of memory ends. At the end the
// servers hold no more than at the beginning.
func TestHostileLimits(t *testing.T) {
	all := hostileRepositories("127.0.0.1:1")
	maps.DeleteFunc(all, func(_ string, h hostileRepository) bool { return !h.limited() })
	s := startServe(t, "LADDER_SERVE_WORKER_MEMORY=201326592", "LADDER_SERVE_TIMEOUT=1m", "LADDER_SERVE_PARALLEL=2",
		"LADDER_SERVE_CACHE_BYTES=0")
	// An endless template may not take the time of others.
	brief := startServe(t, "LADDER_SERVE_WORKER_MEMORY=201326592", "LADDER_SERVE_TIMEOUT=3s", "LADDER_SERVE_PARALLEL=2",
		"LADDER_SERVE_CACHE_BYTES=0")
	for _, server := range []*served{s, brief} {
		_, err := server.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: sidecartest.PackEntries(files("app/a.yaml", configMap)...), Dir: "app"})
		if err != nil {
			t.Fatal(err)
		}
	}
	before, beforeBrief := s.holds(t), brief.holds(t)
	sendHostile(t, s, brief, all)
	s.settle(t, before)
	brief.settle(t, beforeBrief)
}

// TestHugeAllocations asks for far more memory than a worker may take, in sizes of
// which the system refuses some at once, some for what the runtime needs besides, and
// some are taken until the server stops them. That is the component's fault, however
// the process ends.
func TestHugeAllocations(t *testing.T) {
	s := startServe(t, "LADDER_SERVE_WORKER_MEMORY=134217728", "LADDER_SERVE_TIMEOUT=2m", "LADDER_SERVE_RENDER_TIMEOUT=0",
		"LADDER_SERVE_PARALLEL=2", "LADDER_SERVE_CACHE_BYTES=0")
	for _, text := range []string{
		`{{ randBytes 1000000000 }}`,
		`{{ randBytes 500000000 }}`,
		`{{ randBytes 400000000 }}`,
		`{{ randAlphaNum 1000000000 }}`,
		`{{ randAscii 1000000000 }}`,
		`{{ repeat 1000000000 "x" }}`,
		`{{ repeat 500000000 "x" | b64enc }}`,
		`{{ indent 1000000000 "x" }}`,
		`{{ nospace (repeat 300000000 "x ") }}`,
		`{{ encryptAES "a" (repeat 1000000000 "x") }}`,
		`{{ until 1000000000 }}`,
		`{{ untilStep 0 1000000000 1 }}`,
		`{{ seq 1000000000 }}`,
	} {
		_, err := s.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: sidecartest.PackEntries(templated(text)...), Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "app"}})
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(status.Convert(err).Message(), "raise --worker-memory") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// holding is what a server has open.
type holding struct{ goroutines, files, workers, idle, repositories int }

func (s *served) holds(t *testing.T) holding {
	t.Helper()
	metrics := s.get(t, "/metrics")
	value := func(name string) int {
		_, after, _ := strings.Cut(metrics, "\n"+name+" ")
		text, _, _ := strings.Cut(after, "\n")
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return int(n)
	}
	return holding{value("go_goroutines"), value("process_open_fds"), len(s.children()), value("ladder_workers_idle"),
		value("ladder_repository_bytes")}
}

// settle waits until a server holds no more than before.
func (s *served) settle(t *testing.T, before holding) {
	t.Helper()
	var now holding
	// A repository stays for half a minute, for the next request.
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		now = s.holds(t)
		// Goroutines and files come and go with the connection that asks.
		if now.goroutines <= before.goroutines+5 && now.files <= before.files+2 && now.workers <= before.workers && now.idle >= before.idle &&
			now.repositories == 0 {
			return
		}
	}
	t.Errorf("the server holds %+v, and before it held %+v", now, before)
}
