package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

// asWorker makes the test binary a worker.
const asWorker = "SIDECAR_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) == "" {
		os.Exit(m.Run())
	}
	err := worker.Main(os.Stdin, os.Stdout, prepare)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// prepare makes tasks that do what the environment of a request says.
func prepare(text []byte) (task.Runner, error) {
	if string(text) == "broken" {
		return nil, errors.New("ladder.yaml:1: broken")
	}
	return sidecartest.Tasks{
		Generate: func(ctx context.Context, in task.Input) (task.Output, error) {
			switch in.Env["DO"] {
			case "fail":
				return task.Output{}, errors.New("values.yaml:3: wrong")
			case "panic":
				panic("index out of range")
			case "loop":
				//lint:ignore SA5002 the point of it
				for {
				}
			case "eat":
				var all [][]byte
				for {
					//lint:ignore SA4010 the point of it
					all = append(all, bytes.Repeat([]byte{1}, 1<<20))
				}
			case "hold": // 150 MiB, and no end
				held := bytes.Repeat([]byte{1}, 150<<20)
				<-ctx.Done()
				return task.Output{Manifests: []string{string(held[:1])}}, nil
			case "recurse":
				return task.Output{Manifests: []string{fmt.Sprint(deeper(1))}}, nil
			case "die":
				fmt.Fprintln(os.Stderr, "fatal error: concurrent map writes")
				os.Exit(2)
			case "mutter":
				fmt.Fprintln(os.Stderr, "out of memory: the secret of another tenant")
			case "flood":
				return task.Output{Manifests: []string{strings.Repeat("x", 95<<20)}}, nil
			case "setup":
				return task.Output{Manifests: []string{string(text)}}, nil
			case "who":
				return task.Output{Manifests: []string{fmt.Sprint(os.Getpid())}}, nil
			case "sleep":
				if _, err := in.Fetch(ctx, fmt.Sprint(os.Getpid())); err != nil {
					return task.Output{}, err
				}
				select {} // it is ended
			case "escape":
				return escapes(in)
			case "leap":
				return task.Output{Manifests: []string{strings.Repeat("x", 8<<30)}}, nil
			case "fetch":
				return fetchKeys(ctx, in)
			case "environment":
				return task.Output{Manifests: os.Environ()}, nil
			}
			data, err := fs.ReadFile(in.Repo, in.Dir+"/manifest.yaml")
			return task.Output{Manifests: []string{string(data)}, Log: []any{"bytes", len(data)}}, err
		},
		Match: func(_ context.Context, in task.Input) (bool, error) {
			entries, err := fs.ReadDir(in.Repo, in.Dir)
			return len(entries) > 0, err
		},
	}, nil
}

// escapes tries what internal/confine refuses, and prints what worked: its tests try
// more.
func escapes(in task.Input) (task.Output, error) {
	var out task.Output
	for name, try := range map[string]func() error{
		"read a file":  func() error { _, err := os.ReadFile("/etc/passwd"); return err },
		"environment":  func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid())); return err },
		"write a file": func() error { return os.WriteFile(in.Env["TO"]+"/file", nil, 0o600) },
		"connect":      func() error { _, err := net.Dial("unix", in.Env["TO"]+"/ladder.sock"); return err },
		"a program":    func() error { return exec.Command("/bin/true").Run() },
		"a signal":     func() error { return syscall.Kill(os.Getppid(), syscall.SIGURG) },
	} {
		if try() == nil {
			out.Manifests = append(out.Manifests, name)
		}
	}
	out.Manifests = append(out.Manifests, "tried")
	return out, nil
}

func deeper(n int) int {
	var room [1 << 10]byte
	room[n%len(room)] = 1
	//lint:ignore SA5007 the point of it
	return deeper(n+1) + int(room[n%7])
}

func startWorkers(t *testing.T, change func(*worker.Config)) *worker.Pool {
	t.Helper()
	cfg := worker.Config{
		Command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{asWorker + "=yes"}
			return cmd
		},
		Warm:   2,
		Memory: 512 << 20,
		Log:    slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	workers, err := worker.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(workers.Close)
	return workers
}

// TestFaultsOfAWorker makes sure that each is told to who asked, that the
// worker is replaced, and that a request at the same time notices nothing.
func TestFaultsOfAWorker(t *testing.T) {
	registry := prometheus.NewRegistry()
	workers := startWorkers(t, func(c *worker.Config) { c.Metrics = registry })
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	ask := func(do string) (string, error) {
		out, err := h.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": do, "ARGOCD_APP_NAME": do}})
		return strings.Join(out, "|"), err
	}
	want := map[string]struct {
		code codes.Code
		text string
	}{
		"fail":  {codes.InvalidArgument, "values.yaml:3: wrong"},
		"panic": {codes.Internal, "app: internal error: index out of range; this is a bug of the plugin"},
		"flood": {codes.ResourceExhausted,
			"app: the manifests are 95 MiB; the limit is 90 MiB, because Argo CD accepts messages of at most 100 MiB; fix: split the component"},
		"eat":     {codes.ResourceExhausted, "the limit is 512; fix: raise --worker-memory"},
		"recurse": {codes.ResourceExhausted, "their stack exceeded 64 MiB; end the recursion"},
		"die":     {codes.Internal, "the worker process that rendered it ended; this is a bug of the plugin"},
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for i := range 100 {
			select {
			case <-stop:
				return
			default:
			}
			out, err := h.GenerateManifest(t.Context(),
				sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": fmt.Sprint(i)}})
			if err != nil || strings.Join(out, "") != "kind: A\n" {
				t.Errorf("meanwhile: %q, %v", out, err)
				return
			}
		}
	})
	var all sync.WaitGroup
	for do, w := range want {
		all.Go(func() {
			_, err := ask(do)
			if status.Code(err) != w.code || !strings.Contains(err.Error(), w.text) {
				t.Errorf("%s: %v\nwant %s: %s", do, err, w.code, w.text)
			}
		})
	}
	all.Wait()
	close(stop)
	others.Wait()
	expected := "# HELP ladder_workers_killed_total Worker processes that ended before their work did, by cause: " +
		"render-timeout, deadline (of the request), canceled (the client gave up), yielded (preempted and restarted), memory, stack, crash.\n" +
		"# TYPE ladder_workers_killed_total counter\n"
	for _, cause := range []task.Cause{task.Canceled, task.Crash, task.Deadline, task.Memory, task.RenderTimeout, task.Stack, task.Preempted} {
		n := 1
		if cause == task.Canceled || cause == task.Deadline || cause == task.RenderTimeout || cause == task.Preempted {
			n = 0
		}
		expected += fmt.Sprintf("ladder_workers_killed_total{cause=%q} %d\n", cause, n)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(expected), "ladder_workers_killed_total"); err != nil {
		t.Error(err)
	}
}

// TestLastWords: what a worker says when it ends is told to nobody, since it may be about
// an Application that it rendered before; and what it said then says nothing of this one.
func TestLastWords(t *testing.T) {
	t.Parallel()
	workers := startWorkers(t, func(c *worker.Config) { c.Warm = 1 })
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	for _, do := range []string{"mutter", "die"} {
		_, err := h.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": do, "ARGOCD_APP_NAME": do}})
		if do == "die" && (status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "concurrent map writes")) {
			t.Error(err)
		}
	}
}

// TestWorkingProcessesCount makes sure that no more processes run than are
// kept, those that work included: the memory of the container follows from it.
func TestWorkingProcessesCount(t *testing.T) {
	registry := prometheus.NewRegistry()
	workers := startWorkers(t, func(c *worker.Config) { c.Metrics = registry })
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	ask := func(ctx context.Context, name, do string) error {
		_, err := h.GenerateManifest(ctx,
			sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": do, "ARGOCD_APP_NAME": name}})
		return err
	}
	eventually(t, "both wait", func() bool { return metric(t, registry, "ladder_workers_idle") == 2 })
	ctx, cancel := context.WithCancel(t.Context())
	long := make(chan error)
	go func() { long <- ask(ctx, "long", "loop") }()
	eventually(t, "one works", func() bool { return metric(t, registry, "ladder_workers_idle") == 1 })
	for i := range 100 {
		if err := ask(t.Context(), fmt.Sprint(i), ""); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the other waits again", func() bool { return metric(t, registry, "ladder_workers_idle") == 1 })
	const started = "# HELP ladder_workers_started_total Started worker processes.\n# TYPE ladder_workers_started_total counter\n" +
		"ladder_workers_started_total 2\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(started), "ladder_workers_started_total"); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-long; status.Code(err) != codes.Canceled {
		t.Errorf("the long one: %v, want that it is canceled", err)
	}
}

// TestBackground has a worker without end move to the background for a request of another
// project: it goes on, with less of the processors, and is of no use to others
// afterwards.
func TestBackground(t *testing.T) {
	registry := prometheus.NewRegistry()
	workers := startWorkers(t, func(c *worker.Config) { c.Metrics, c.Warm = registry, 1 })
	h := start(t, func(c *sidecar.Config) {
		c.Tasks, c.Parallel, c.Metrics, c.WorkerMemory = workers, 1, registry, 512<<20
	})
	ask := func(ctx context.Context, project, do string) (string, error) {
		out, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app",
			Env: map[string]string{"DO": do, "ARGOCD_APP_NAME": do, "ARGOCD_APP_PROJECT_NAME": project}})
		return strings.Join(out, ""), err
	}
	first, err := ask(t.Context(), "evil", "who")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := ask(ctx, "evil", "loop")
		ended <- err
	}()
	eventually(t, "it works", func() bool { return metric(t, registry, "ladder_requests_working") == 1 })
	for range 3 {
		if pid, err := ask(t.Context(), "good", "who"); err != nil || pid == first {
			t.Errorf("beside it %s answers: %v", pid, err)
		}
	}
	if got := metric(t, registry, "ladder_renderings_aside"); got != 1 {
		t.Errorf("%v are in the background", got)
	}
	const nicest = 19 // as these tests, perhaps
	eventually(t, "it has less of the processors", func() bool {
		return runtime.GOOS != "linux" || niceOf(t, first) > min(niceOf(t, fmt.Sprint(os.Getpid())), nicest-1)
	})
	cancel()
	<-ended
	eventually(t, "its process is gone", func() bool { return metric(t, registry, "ladder_renderings_aside") == 0 })
	if pid, err := ask(t.Context(), "evil", "who"); err != nil || pid == first {
		t.Errorf("afterwards %s answers: %v", pid, err)
	}
	eventually(t, "one waits", func() bool { return metric(t, registry, "ladder_workers_idle") == 1 })
}

// niceOf is what a process leaves to others: proc(5), stat.
func niceOf(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, behind, _ := strings.Cut(string(text), ") ") // the name of the program
	n, err := strconv.Atoi(strings.Fields(behind)[16])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMemoryBesides has renderings move to the background until there is no more memory for
// all of them: the last ones begin again later, and none fails before its time.
func TestMemoryBesides(t *testing.T) {
	const limit = golden.MemoryFactor * 256 << 20 // of each
	registry := prometheus.NewRegistry()
	workers := startWorkers(t, func(c *worker.Config) { c.Metrics, c.Memory = registry, limit })
	h := start(t, func(c *sidecar.Config) {
		c.Tasks, c.Parallel, c.Metrics, c.WorkerMemory = workers, 2, registry, limit
	})
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{
				"DO": "hold", "ARGOCD_APP_NAME": fmt.Sprint(i), "ARGOCD_APP_PROJECT_NAME": fmt.Sprint(i)}})
			if code := status.Code(err); code != codes.Canceled {
				t.Errorf("one ended otherwise: %v", err)
			}
		})
	}
	eventually(t, "some yield", func() bool { return metric(t, registry, "ladder_workers_killed_total", "yielded") > 0 })
	// Three take 450 MiB of 512.
	eventually(t, "no more work than there is memory for", func() bool { return metric(t, registry, "ladder_requests_working") <= 4 })
	cancel()
	all.Wait()
}

// TestRenderTimeout ends a rendering long before the deadline of its request.
func TestRenderTimeout(t *testing.T) {
	workers := startWorkers(t, nil)
	h := start(t, func(c *sidecar.Config) { c.Tasks, c.Render = workers, 300*time.Millisecond })
	_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": "loop"}})
	wants(t, err, codes.DeadlineExceeded, "the limit is 300ms; fix: raise --render-timeout")
	// A new worker may need longer than the limit on a busy machine, and is there the next time.
	for {
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		if status.Code(err) == codes.DeadlineExceeded {
			continue
		}
		if err != nil {
			t.Errorf("after that: %v", err)
		}
		return
	}
}
