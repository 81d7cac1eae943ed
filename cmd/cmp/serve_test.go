package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// served is "cmp serve" as a process.
type served struct {
	*sidecartest.Client
	cmd        *exec.Cmd
	socket     string
	operations string // the address
	seed       string // the fingerprint

	mu    sync.Mutex
	lines []map[string]any // of the log
	ended chan struct{}
}

// startServe starts the program with variables besides what it needs. A rendering takes as long as
// it takes, on a busy machine too.
func startServe(t testing.TB, vars ...string) *served {
	t.Helper()
	return serveProgram(t, "cmp", vars...)
}

func serveProgram(t testing.TB, program string, vars ...string) *served {
	t.Helper()
	dir, err := os.MkdirTemp("", "cmp") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &served{socket: filepath.Join(dir, "ladder.sock"), ended: make(chan struct{})}
	s.cmd = exec.Command(program, "serve", "--plugin-dir", dir)
	s.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LADDER_SERVE_LOG_FORMAT=json", "LADDER_SERVE_OPERATIONS_ADDRESS=127.0.0.1:0",
		"LADDER_SERVE_RENDER_TIMEOUT=10m"}, vars...)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			line := map[string]any{}
			if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
				t.Errorf("a line of the log: %q: %v", scan.Text(), err)
			}
			s.mu.Lock()
			s.lines = append(s.lines, line)
			s.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("cmp serve: %v", err)
		}
	})
	serving := s.await(t, "serving")
	s.operations, _ = serving["operations"].(string)
	s.seed, _ = serving["seed"].(string)
	if s.Client, err = sidecartest.Dial(s.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// eventually waits for what another process does. Its limit only ends a test that hangs.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	end := time.After(5 * time.Minute)
	for !holds() {
		select {
		case <-end:
			t.Fatalf("never: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// await waits for a line of the log, and takes it.
func (s *served) await(t testing.TB, msg string) map[string]any {
	t.Helper()
	for {
		s.mu.Lock()
		for i, line := range s.lines {
			if line["msg"] == msg {
				s.lines = s.lines[i+1:]
				s.mu.Unlock()
				return line
			}
		}
		s.mu.Unlock()
		select {
		case <-s.ended:
			t.Fatalf("the log ended without %q", msg)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *served) get(t *testing.T, path string) string {
	t.Helper()
	res, err := http.Get("http://" + s.operations + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.Status + "\n" + string(body)
}

// TestServe follows requests to a process: what is answered, what its log and
// its metrics say.
func TestServe(t *testing.T) {
	s := startServe(t)
	archive, err := sidecartest.Pack(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(revision string) error {
		_, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "shop", Env: map[string]string{
			"ARGOCD_APP_NAME": "shop", "ARGOCD_APP_NAMESPACE": "demo", "ARGOCD_APP_REVISION": revision}})
		return err
	}
	if err := ask("1"); err != nil {
		t.Fatal(err)
	}
	line := s.await(t, "request answered")
	if line["application"] != "shop" || line["component"] != "shop" || line["cache"] != "miss" || line["renderer"] != "helm" ||
		line["objects"] == nil || line["waves"] == nil || line["findings"] == nil || line["duration"] == nil {
		t.Errorf("the log says %v", line)
	}
	if seconds, ok := line["duration"].(float64); !ok || seconds <= 0 || seconds > 600 {
		t.Errorf("the log says that it took %v", line["duration"])
	}
	if err := ask("2"); err != nil {
		t.Fatal(err)
	}
	if line := s.await(t, "request answered"); line["cache"] != "hit" {
		t.Errorf("after a commit elsewhere the log says %v", line)
	}
	metrics := s.get(t, "/metrics")
	for _, want := range []string{
		`ladder_requests_total{code="OK",task="generate"} 2`,
		`ladder_cache_events_total{event="hit"} 1`,
		`ladder_cache_events_total{event="miss"} 1`,
		"ladder_cache_entries 1",
		"ladder_repositories_known_total 1",
		`ladder_stage_seconds_count{stage="receive"} 2`,
		`ladder_stage_seconds_count{stage="work"} 1`,
		`ladder_answer_size_count{of="waves"} 2`,
		`ladder_workers_killed_total{cause="memory"} 0`,
		"ladder_build_info{",
		"go_goroutines ",
		"process_resident_memory_bytes ",
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}
	for path, want := range map[string]string{"/healthz": "200 OK\nok\n", "/readyz": "200 OK\nok\n",
		"/debug/pprof/": "404 Not Found\n404 page not found\n"} {
		if got := s.get(t, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	conn, err := grpc.NewClient(s.operations, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if res, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil ||
		res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("gRPC health on TCP: %v, %v", res, err)
	}
}

// replace changes a file as the kubelet changes that of a ConfigMap: it is never seen half
// written.
func replace(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// ovenWave asks for an oven that comes after a ConfigMap, and returns its wave.
func (s *served) ovenWave(t *testing.T) string {
	t.Helper()
	archive := sidecartest.PackEntries(
		sidecartest.File("app/oven.yaml",
			"apiVersion: example.com/v1\nkind: Oven\nmetadata: {name: a, annotations: {ladder-cmp.github.io/after: ConfigMap/a}}\n"),
		sidecartest.File("app/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := s.GenerateManifest(ctx, sidecartest.Request{Archive: archive, Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "app"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, manifest := range out {
		if strings.Contains(manifest, "kind: Oven") {
			_, after, _ := strings.Cut(manifest, `sync-wave": "`)
			text, _, _ := strings.Cut(after, `"`)
			return text
		}
	}
	t.Fatalf("no oven in %q", out)
	return ""
}

// TestServeSurvives removes the socket of a server, kills its workers and
// breaks its ladder.yaml.
func TestServeSurvives(t *testing.T) {
	ladder := filepath.Join(t.TempDir(), "ladder.yaml")
	replace(t, ladder, "kinds:\n- {group: example.com, kind: Oven, rung: smokes, why: it is tried out last, source: docs}\n")
	s := startServe(t, "LADDER_CONFIG="+ladder)
	if got := s.ovenWave(t); got != "99" {
		t.Errorf("the oven is in wave %s, want 99", got)
	}
	replace(t, ladder, "kinds:\n- {group: example.com, kind: Oven, rung: smoke}\n")
	line := s.await(t, "the changed file is invalid; the previous one stays in effect")
	if text, _ := line["error"].(string); !strings.Contains(text, `ladder.yaml:2: kinds[0].rung: unknown rung "smoke"`) {
		t.Errorf("the log says %v", line)
	}
	if metrics := s.get(t, "/metrics"); !strings.Contains(metrics, "\nladder_config_refused 1\n") {
		t.Error("the metrics do not say that the file is wrong")
	}
	if got := s.ovenWave(t); got != "99" {
		t.Errorf("with a broken file the oven is in wave %s, want 99", got)
	}
	replace(t, ladder, "kinds:\n- {group: example.com, kind: Oven, rung: workloads, why: it runs, source: docs}\n")
	s.await(t, "the changed file is used from now on")
	if got := s.ovenWave(t); got != "50" {
		t.Errorf("with another file the oven is in wave %s, want 50", got)
	}
	if metrics := s.get(t, "/metrics"); !strings.Contains(metrics, `ladder_reloads_total{result="refused"} 1`) ||
		!strings.Contains(metrics, `ladder_reloads_total{result="used"} 1`) ||
		!strings.Contains(metrics, "\nladder_config_refused 0\n") {
		t.Errorf("the metrics say otherwise:\n%s", metrics)
	}

	if err := os.Remove(s.socket); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the socket was removed, and has been recreated")
	again, err := sidecartest.Dial(s.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.CheckPluginConfiguration(t.Context()); err != nil {
		t.Errorf("through the new socket: %v", err)
	}
}
