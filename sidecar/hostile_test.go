package sidecar_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

// wants checks an error that a client got: its code, a part of its text, and
// that it is one line.
func wants(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	s, _ := status.FromError(err)
	if err == nil || s.Code() != code || !strings.Contains(s.Message(), text) || strings.ContainsAny(s.Message(), "\n\r") {
		t.Errorf("got %.2000v\nwant %s: %s", err, code, text)
	}
}

// TestTwice decides what a name means that an archive holds twice: as with
// tar, the last one counts.
func TestTwice(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	archive := sidecartest.PackEntries(link("app/manifest.yaml", "other"), file("app/manifest.yaml", "kind: A\n"),
		file("app/manifest.yaml", "kind: B\n"))
	got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app"})
	if err != nil || got[0] != "kind: B\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestUnnameable sends names that are no UTF-8. Who has to do with them is told,
// and nobody else notices.
func TestUnnameable(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *sidecar.Config) {
		c.Tasks = sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
			entries, err := fs.ReadDir(in.Repo, in.Dir)
			return task.Output{Manifests: []string{fmt.Sprint(len(entries))}}, err
		}}
	})
	archive := sidecartest.PackEntries(file("app/manifest.yaml", "kind: A\n"), file("old/caf\xe9.txt", "x"), file("old/\xff/b", "x"),
		link("app/l", "../old/caf\xe9.txt"))
	for dir, want := range map[string]string{"app": "", "old": `readdir old: the name "\xff" in it is not UTF-8; rename it`} {
		got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: dir})
		if want != "" {
			wants(t, err, codes.InvalidArgument, want)
		} else if err != nil || got[0] != "2" {
			t.Errorf("%s: got %q, %v", dir, got, err)
		}
	}
	_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(file("../\xff", "x")), Dir: "app"})
	wants(t, err, codes.InvalidArgument, `the repository contains "../\xff", which leads outside the repository`)
}

// TestBadConversations sends messages in an order that Argo CD's client never
// would, with much behind them.
func TestBadConversations(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	meta := &wire.AppStreamRequest{
		Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: "0"}}}
	chunk := chunk(make([]byte, 64<<10))
	rest := make([]*wire.AppStreamRequest, 40)
	for i := range rest {
		rest[i] = chunk
	}
	variables := func(n int) *wire.AppStreamRequest {
		m := &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: "0"}
		for i := range n {
			m.Env = append(m.Env, &wire.EnvEntry{Name: fmt.Sprint("V", i), Value: strings.Repeat("x", 1000)}, nil)
		}
		return &wire.AppStreamRequest{Request: &wire.AppStreamRequest_Metadata{Metadata: m}}
	}
	long := &wire.AppStreamRequest{
		Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: strings.Repeat("a/", 1<<20), Checksum: "0"}}}
	for name, tt := range map[string]struct {
		begin []*wire.AppStreamRequest
		code  codes.Code
		want  string
	}{
		"nothing":        {nil, codes.InvalidArgument, "the stream does not start with metadata"},
		"empty message":  {[]*wire.AppStreamRequest{{}}, codes.InvalidArgument, "the stream does not start with metadata"},
		"file first":     {[]*wire.AppStreamRequest{chunk, meta}, codes.InvalidArgument, "the stream does not start with metadata"},
		"metadata twice": {[]*wire.AppStreamRequest{meta, chunk, meta}, codes.InvalidArgument, "the stream holds a message without a file"},
		"much to know": {[]*wire.AppStreamRequest{variables(5000)}, codes.ResourceExhausted,
			"variables and parameters are 5023890 bytes; the limit is 4194304"},
		"a long path": {[]*wire.AppStreamRequest{long}, codes.InvalidArgument, "the Application's path is 2097152 bytes; the limit is 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range append(tt.begin, rest...) {
				if err := stream.Send(m); err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
			}
			_, err = stream.CloseAndRecv()
			wants(t, err, tt.code, tt.want)
		})
	}
	stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndRecv(); err == nil {
		t.Error("a stream of nothing was answered")
	}
}

// TestLongReason gives a reason that no header could carry.
func TestLongReason(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *sidecar.Config) {
		c.Tasks = sidecartest.Tasks{Generate: func(context.Context, task.Input) (task.Output, error) {
			return task.Output{}, errors.New("wrong: " + strings.Repeat("é", 20<<20))
		}}
	})
	_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
	wants(t, err, codes.InvalidArgument, " ... ")
}

// metric is what a gauge or counter says, or how many samples a histogram has:
// that with the given values of its labels.
func metric(t *testing.T, from *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if slices.Equal(values, labels) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	t.Fatalf("there is no %s %q", name, labels)
	return 0
}

// eventually waits for what must happen soon.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	end := time.After(5 * time.Minute) // only for a test that hangs
	for !holds() {
		select {
		case <-end:
			t.Fatalf("never: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestClientsThatDoNotEnd begins streams that take all the memory, and ends none
// of them: with the time that a request may take, the memory is given to the
// next.
func TestClientsThatDoNotEnd(t *testing.T) {
	registry := prometheus.NewRegistry()
	var log bytes.Buffer
	h := start(t, func(c *sidecar.Config) {
		c.Memory, c.Timeout, c.Metrics, c.Log = 1<<20, 700*time.Millisecond, registry, slog.New(slog.NewTextHandler(&log, nil))
	})
	rpc := wire.NewConfigManagementPluginServiceClient(h.Conn())
	slow, err := rpc.GenerateManifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slow.Send(shop())
	slow.Send(chunk([]byte("abc")))
	eventually(t, "the memory is taken", func() bool { return metric(t, registry, "ladder_repository_bytes") > 0 })
	other := make(chan error, 1)
	go func() {
		params, err := rpc.GetParametersAnnouncement(context.Background())
		if err == nil {
			err = params.RecvMsg(new(wire.ParametersAnnouncementResponse))
		}
		other <- err
	}()
	wants(t, slow.RecvMsg(new(wire.ManifestResponse)), codes.DeadlineExceeded,
		"app: timed out while the plugin was receiving the repository: the request had taken ")
	wants(t, <-other, codes.DeadlineExceeded, "receiving the repository")
	eventually(t, "the memory is free", func() bool { return metric(t, registry, "ladder_repository_bytes") == 0 })
	eventually(t, "the next is served, which may take more than its time, too", func() bool {
		_, err = h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		return err == nil
	})
	h.stop()
	<-h.served
	if !strings.Contains(log.String(), `msg="request failed" application=shop component=app code=DeadlineExceeded error=`) {
		t.Errorf("the log does not name who failed:\n%s", log.String())
	}
}

// shop is the beginning of a request for an Application.
func shop() *wire.AppStreamRequest {
	return &wire.AppStreamRequest{Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{
		AppRelPath: "app", Checksum: "0",
		Env: []*wire.EnvEntry{{Name: "ARGOCD_APP_NAME", Value: "shop"}}}}}
}

// TestClientsThatVanish leaves in the middle of a stream, and of a rendering.
func TestClientsThatVanish(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	running := make(chan struct{}, 1)
	h := start(t, func(c *sidecar.Config) {
		c.Memory, c.Metrics = 1<<20, registry
		c.Tasks = sidecartest.Tasks{Generate: func(ctx context.Context, in task.Input) (task.Output, error) {
			if in.Dir == "app" {
				running <- struct{}{}
				<-ctx.Done()
			}
			return task.Output{Manifests: []string{"ok"}}, ctx.Err()
		}}
	})
	ctx, leave := context.WithCancel(t.Context())
	stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stream.Send(&wire.AppStreamRequest{
		Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: "0"}}})
	stream.Send(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: good().Tgz[:30]}}})
	eventually(t, "the memory is taken", func() bool { return metric(t, registry, "ladder_repository_bytes") > 0 })
	leave()
	eventually(t, "the memory is free after a broken stream", func() bool { return metric(t, registry, "ladder_repository_bytes") == 0 })

	ctx, leave = context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app"})
		gone <- err
	}()
	<-running
	leave()
	wants(t, <-gone, codes.Canceled, "")
	eventually(t, "nothing works any more", func() bool {
		return metric(t, registry, "ladder_requests_working") == 0 && metric(t, registry, "ladder_repository_bytes") == 0
	})
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "other"}); err != nil {
		t.Errorf("the next: %v", err)
	}
}

// TestWorkersKilledFromOutside kills them while they wait, which no request may
// notice, and while they work, which one may.
func TestWorkersKilledFromOutside(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	workers := startWorkers(t, func(c *worker.Config) { c.Metrics = registry })
	pids := make(keysAsked, 1)
	h := start(t, func(c *sidecar.Config) { c.Tasks, c.Source = workers, pids })
	ask := func(do string) (string, error) {
		out, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": do}})
		return strings.Join(out, ""), err
	}
	kill := func(pid string) {
		t.Helper()
		n, err := strconv.Atoi(pid)
		if err == nil {
			err = syscall.Kill(n, syscall.SIGKILL)
		}
		// A worker that is one too many ends by itself.
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	for range 5 {
		pid, err := ask("who")
		if err != nil {
			t.Fatal(err)
		}
		kill(pid)
		again, err := ask("who")
		if err != nil || again == pid {
			t.Errorf("after a worker was killed: %q, %v", again, err)
		}
	}
	eventually(t, "as many wait as before", func() bool { return metric(t, registry, "ladder_workers_idle") == 2 })

	failed := make(chan error, 1)
	go func() {
		_, err := h.GenerateManifest(context.Background(),
			sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": "sleep"}})
		failed <- err
	}()
	kill(<-pids)
	wants(t, <-failed, codes.Unavailable,
		"app: the worker process that rendered it was killed from outside, as the kernel does when a container's memory is used up")
	if _, err := ask("who"); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// keysAsked is a source by which a worker, which has no other way out, can say
// something while it works.
type keysAsked chan string

func (k keysAsked) Get(_ context.Context, _ sidecar.Requester, key string) (task.Found, error) {
	k <- key
	return task.Found{}, nil
}

func (k keysAsked) Digest(context.Context, sidecar.Requester, string) string { return "" }

func (k keysAsked) Name(key string) string { return key }

// TestSandboxOfAWorker has a rendering try to get out of its process.
func TestSandboxOfAWorker(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	workers := startWorkers(t, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	out, err := h.GenerateManifest(t.Context(),
		sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": "escape", "TO": filepath.Dir(h.socket)}})
	if got := strings.Join(out, ", "); err != nil || got != "tried" {
		t.Errorf("a rendering could: %s; %v", got, err)
	}
	for _, gap := range workers.Gaps() {
		if gap.Layer != confine.Landlock { // not all kernels have it
			t.Errorf("missing: %s", gap)
		}
	}
	workers.Close()
	if n := strings.Count(log.String(), "the sandbox of the workers is incomplete"); n != min(len(workers.Gaps()), 1) {
		t.Errorf("%d lines about %v:\n%s", n, workers.Gaps(), log.String())
	}
}

// TestNoMoreProcesses lets no worker start for a while, as when the process
// table of a container is full.
func TestNoMoreProcesses(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	workers := startWorkers(t, func(c *worker.Config) {
		command := c.Command
		c.Warm = 1
		c.Command = func() *exec.Cmd {
			if full.Load() {
				return exec.Command("/nonexistent/fork: resource temporarily unavailable")
			}
			return command()
		}
	})
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	ask := func(do string) error {
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": do}})
		return err
	}
	full.Store(true)
	if err := ask("die"); status.Code(err) != codes.Internal {
		t.Errorf("the last worker: %v", err)
	}
	wants(t, ask(""), codes.Unavailable, "no worker could be started: fork/exec")
	full.Store(false)
	if err := ask(""); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// TestLeaps asks for far more memory than there may be, at once.
func TestLeaps(t *testing.T) {
	t.Parallel()
	workers := startWorkers(t, nil)
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": "leap"}})
	wants(t, err, codes.ResourceExhausted, "raise --worker-memory")
}

// TestLargeFile reads a file that is larger than any that is handed out.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	workers := startWorkers(t, nil)
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	archive := sidecartest.PackEntries(file("app/manifest.yaml", strings.Repeat("x", 65<<20)), file("other/manifest.yaml", "kind: A\n"))
	_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app", Chunk: 1 << 20})
	wants(t, err, codes.InvalidArgument, "read app/manifest.yaml: the file is 65 MiB; the limit is 64 MiB")
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "other", Chunk: 1 << 20}); err != nil {
		t.Errorf("another component: %v", err)
	}
}

// TestEndlessPaths asks more of a repository than can be remembered: through
// symlinks a small one has any number of paths.
func TestEndlessPaths(t *testing.T) {
	t.Parallel()
	const app = "app"
	works := 0
	h := start(t, func(c *sidecar.Config) {
		c.Cache = 1 << 30
		c.Tasks = sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
			works++
			for i := range 10_000 { // 35 MB
				fs.ReadFile(in.Repo, strings.Repeat(fmt.Sprintf("%0250d/", i), 14)+"a")
			}
			_, err := fs.ReadFile(in.Repo, strings.Repeat("self/", 1000)+"a")
			return task.Output{Manifests: []string{fmt.Sprint(err)}}, nil
		}}
	})
	archive := sidecartest.PackEntries(file("app/manifest.yaml", "x"), link("app/self", "."))
	for range 2 {
		got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: app})
		if err != nil || !strings.Contains(got[0], "a path of more than 4096 bytes; is there a symlink loop?") {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if works != 2 {
		t.Errorf("worked %d times: a response was given again of which nobody knows what it was made from", works)
	}
}

// TestNames puts what a log or a terminal would obey into all names of a request.
func TestNames(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := start(t, func(c *sidecar.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	evil := "a\nlevel=INFO msg=\"all is well\"\x1b[2J"
	_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.PackEntries(file("x/"+evil, "x"),
		sidecartest.Entry{Header: tar.Header{Name: evil, Typeflag: tar.TypeFifo}}), Dir: evil, Env: map[string]string{"ARGOCD_APP_NAME": evil}})
	wants(t, err, codes.InvalidArgument, `which is neither file, directory nor link`)
	h.stop()
	<-h.served
	if n := strings.Count(log.String(), "\n"); n != 1 || strings.Contains(log.String(), "\x1b") {
		t.Errorf("%d lines:\n%q", n, log.String())
	}
}

// TestSameStreamsTogether unpacks a repository once for streams of the same
// checksum that wait for memory while the first arrives.
func TestSameStreamsTogether(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	h := start(t, func(c *sidecar.Config) {
		c.Metrics, c.Cache = registry, 1<<20
		c.Limits.Bytes, c.Memory = 1<<20, 1<<20
	})
	archive := good()
	stream, err := wire.NewConfigManagementPluginServiceClient(h.Conn()).GenerateManifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stream.Send(&wire.AppStreamRequest{
		Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: archive.Checksum}}})
	stream.Send(chunk(archive.Tgz[:10]))
	eventually(t, "the first arrives", func() bool { return metric(t, registry, "ladder_repository_bytes") > 0 })
	second := make(chan error, 1)
	go func() {
		_, err := h.GenerateManifest(context.Background(),
			sidecartest.Request{Archive: archive, Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "b"}})
		second <- err
	}()
	<-time.After(100 * time.Millisecond) // let it wait; too short only makes the test easier
	stream.Send(chunk(archive.Tgz[10:]))
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(
		"# HELP ladder_repositories_known_total Received repositories that were already in memory, by checksum, and were not unpacked again.\n"+
			"# TYPE ladder_repositories_known_total counter\nladder_repositories_known_total 1\n"), "ladder_repositories_known_total"); err != nil {
		t.Error(err)
	}
}
