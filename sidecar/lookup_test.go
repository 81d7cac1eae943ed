package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

// counting is a generator that counts how often it works. It reads the
// component's directory, its file manifest.yaml, one that may be there and the
// file that the component refers to.
func counting(works *atomic.Int64) func(context.Context, task.Input) (task.Output, error) {
	return func(_ context.Context, in task.Input) (task.Output, error) {
		works.Add(1)
		entries, err := fs.ReadDir(in.Repo, in.Dir)
		if err != nil {
			return task.Output{}, err
		}
		text, err := fs.ReadFile(in.Repo, in.Dir+"/manifest.yaml")
		if err != nil {
			return task.Output{}, err
		}
		if _, err := fs.Stat(in.Repo, in.Dir+"/optional.yaml"); err == nil {
			text = append(text, "optional"...)
		}
		shared, _ := fs.ReadFile(in.Repo, "shared/values.yaml")
		return task.Output{
			Manifests: []string{fmt.Sprint(len(entries), string(text), string(shared), in.Env["VALUE"])},
			Unused:    []string{"REVISION"},
		}, nil
	}
}

// TestCache says which changes of a request are changes of its response. The
// archive is another one each time.
func TestCache(t *testing.T) {
	t.Parallel()
	base := func() map[string]string {
		return map[string]string{"app/manifest.yaml": "kind: A\n", "app/chart/a.txt": "a", "shared/values.yaml": "a: 1\n",
			"other/manifest.yaml": "kind: B\n"}
	}
	for name, tt := range map[string]struct {
		change func(files, env map[string]string)
		dir    string
		works  int64
	}{
		"nothing":                 {func(_, _ map[string]string) {}, "app", 1},
		"another component":       {func(files, _ map[string]string) { files["other/manifest.yaml"] = "kind: C\n" }, "app", 1},
		"a file nobody read":      {func(files, _ map[string]string) { files["app/chart/a.txt"] = "b" }, "app", 1},
		"a new file below":        {func(files, _ map[string]string) { files["app/chart/b.txt"] = "b" }, "app", 1},
		"a variable without use":  {func(_, env map[string]string) { env["REVISION"] = "2" }, "app", 1},
		"a file":                  {func(files, _ map[string]string) { files["app/manifest.yaml"] = "kind: C\n" }, "app", 2},
		"a file of the same size": {func(files, _ map[string]string) { files["app/manifest.yaml"] = "kind: Z\n" }, "app", 2},
		"a file outside":          {func(files, _ map[string]string) { files["shared/values.yaml"] = "a: 2\n" }, "app", 2},
		"a file that is gone":     {func(files, _ map[string]string) { delete(files, "shared/values.yaml") }, "app", 2},
		"a file that was missed":  {func(files, _ map[string]string) { files["app/optional.yaml"] = "" }, "app", 2},
		"a new file beside":       {func(files, _ map[string]string) { files["app/b.txt"] = "" }, "app", 2},
		"a variable":              {func(_, env map[string]string) { env["VALUE"] = "2" }, "app", 2},
		"a new variable":          {func(_, env map[string]string) { env["NEW"] = "2" }, "app", 2},
		"the Application":         {func(_, env map[string]string) { env["ARGOCD_APP_NAME"] = "b" }, "app", 2},
		"the directory":           {func(_, _ map[string]string) {}, "other", 2},
		"a file that is directory": {func(files, _ map[string]string) {
			delete(files, "app/manifest.yaml")
			files["app/manifest.yaml/x"] = ""
		}, "app", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var works atomic.Int64
			h := start(t, func(c *sidecar.Config) { c.Cache, c.Tasks = 1<<20, sidecartest.Tasks{Generate: counting(&works)} })
			ask := func(dir string, files, env map[string]string) {
				t.Helper()
				files["salt"] = t.Name() + dir
				out, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: pack(files), Dir: dir, Env: env})
				var nothing atomic.Int64
				fresh := start(t, func(c *sidecar.Config) { c.Tasks = sidecartest.Tasks{Generate: counting(&nothing)} })
				want, wantErr := fresh.GenerateManifest(t.Context(), sidecartest.Request{Archive: pack(files), Dir: dir, Env: env})
				if strings.Join(out, "") != strings.Join(want, "") || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("got %q, %v; without a cache %q, %v", out, err, want, wantErr)
				}
			}
			env := func() map[string]string {
				return map[string]string{"ARGOCD_APP_NAME": "a", "VALUE": "1", "REVISION": "1"}
			}
			ask("app", base(), env())
			files, vars := base(), env()
			files["another commit"] = ""
			tt.change(files, vars)
			ask(tt.dir, files, vars)
			if got := works.Load(); got != tt.works {
				t.Errorf("worked %d times, want %d", got, tt.works)
			}
		})
	}
}

// bubble serves inside a bubble of package synctest, whose clock is its own.
func bubble(t *testing.T, cfg sidecar.Config) *sidecartest.Client {
	t.Helper()
	cfg.Log = slog.New(slog.DiscardHandler)
	lis := bufconn.Listen(1 << 16)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- sidecar.Serve(ctx, lis, cfg) }()
	conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return sidecartest.Over(conn)
}

func pack(files map[string]string) sidecartest.Archive {
	var entries []sidecartest.Entry
	for name, text := range files {
		entries = append(entries, file(name, text))
	}
	return sidecartest.PackEntries(entries...)
}

// TestUntil: a response that is another one from a time on is given again until then.
func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var works atomic.Int64
		h := bubble(t, sidecar.Config{Cache: 1 << 20, Tasks: sidecartest.Tasks{Generate: func(context.Context, task.Input) (task.Output, error) {
			return task.Output{Manifests: []string{fmt.Sprint(works.Add(1))}, Until: time.Now().Add(time.Hour)}, nil
		}}})
		for i, after := range []time.Duration{0, 59 * time.Minute, time.Minute, 30 * time.Minute} {
			time.Sleep(after)
			want := []string{"1", "1", "2", "2"}[i]
			got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: pack(map[string]string{"app/a.yaml": "a"}), Dir: "app"})
			if err != nil || strings.Join(got, "") != want {
				t.Errorf("request %d: %v, %v, want %s", i, got, err, want)
			}
		}
	})
}

// TestCacheBounds fills a cache beyond its bytes and waits beyond its age.
func TestCacheBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var works atomic.Int64
		clearCache := make(chan chan<- struct{})
		h := bubble(t, sidecar.Config{
			Cache: 11 << 10, CacheAge: time.Hour, ClearCache: clearCache,
			Tasks: sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
				works.Add(1)
				return task.Output{Manifests: []string{strings.Repeat("x", 3<<10)}}, nil
			}},
		})
		worked := func(app string) bool {
			t.Helper()
			before := works.Load()
			_, err := h.GenerateManifest(t.Context(),
				sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": app}})
			if err != nil {
				t.Fatal(err)
			}
			return works.Load() > before
		}
		for i, step := range []struct {
			app  string
			want bool
			wait time.Duration
		}{
			{"a", true, 0}, {"b", true, 0}, {"a", false, 0},
			{"c", true, 0}, // there is room for three no more: b was not used for longest
			{"d", true, 0}, {"a", false, 0}, {"b", true, 0},
			{"b", false, 2 * time.Hour},
			{"b", true, 0}, {"b", false, 0},
		} {
			if got := worked(step.app); got != step.want {
				t.Errorf("step %d: worked for %s: %v, want %v", i, step.app, got, step.want)
			}
			time.Sleep(step.wait)
		}
		clearAll(clearCache)
		if !worked("b") {
			t.Error("a response stayed in the cache after the cache was cleared")
		}
	})
}

// TestClearCacheDuringWork does not cache a response whose rendering began before the
// cache was cleared.
func TestClearCacheDuringWork(t *testing.T) {
	t.Parallel()
	var works atomic.Int64
	clearCache, begun, release := make(chan chan<- struct{}), make(chan struct{}, 2), make(chan struct{})
	h := start(t, func(c *sidecar.Config) {
		c.Cache, c.ClearCache = 1<<20, clearCache
		c.Tasks = sidecartest.Tasks{Generate: func(context.Context, task.Input) (task.Output, error) {
			works.Add(1)
			begun <- struct{}{}
			<-release
			return task.Output{Manifests: []string{"ok"}}, nil
		}}
	})
	ask := func() error {
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		return err
	}
	first := make(chan error, 1)
	go func() { first <- ask() }()
	<-begun
	clearAll(clearCache)
	close(release)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil || works.Load() != 2 {
		t.Errorf("worked %d times, want 2: %v", works.Load(), err)
	}
}

// TestClearCacheBeforeASecond sends a request after the cache was cleared, while an
// earlier one is under way: it does not get the response of the earlier one.
func TestClearCacheBeforeASecond(t *testing.T) {
	t.Parallel()
	var setup atomic.Value
	setup.Store("old")
	clearCache, begun, release := make(chan chan<- struct{}), make(chan struct{}, 2), make(chan struct{})
	h := start(t, func(c *sidecar.Config) {
		c.Cache, c.ClearCache = 1<<20, clearCache
		c.Tasks = sidecartest.Tasks{Generate: func(context.Context, task.Input) (task.Output, error) {
			with := setup.Load().(string)
			begun <- struct{}{}
			<-release
			return task.Output{Manifests: []string{with}}, nil
		}}
	})
	responses := make(chan string, 2)
	ask := func() {
		out, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		responses <- fmt.Sprint(out, err)
	}
	go ask()
	<-begun
	setup.Store("new")
	clearAll(clearCache)
	go ask()
	select {
	case <-begun:
	case <-time.After(5 * time.Minute):
		t.Error("the second waits for the first")
	}
	close(release)
	if got := []string{<-responses, <-responses}; !slices.Contains(got, "[new] <nil>") || !slices.Contains(got, "[old] <nil>") {
		t.Errorf("the responses are %q", got)
	}
	go ask()
	if got := <-responses; got != "[new] <nil>" {
		t.Errorf("remembered is %s", got)
	}
}

// TestOneSubject remembers four responses for one Application and directory, and
// drops the one that was not used for longest.
func TestOneSubject(t *testing.T) {
	t.Parallel()
	var works atomic.Int64
	h := start(t, func(c *sidecar.Config) { c.Cache, c.Tasks = 1<<20, sidecartest.Tasks{Generate: counting(&works)} })
	for i, step := range []struct {
		value string
		works bool
	}{{"1", true}, {"2", true}, {"3", true}, {"4", true}, {"1", false}, {"5", true}, {"1", false}, {"3", false}, {"2", true}, {"4", true}} {
		before := works.Load()
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"VALUE": step.value}})
		if err != nil {
			t.Fatal(err)
		}
		if got := works.Load() > before; got != step.works {
			t.Errorf("step %d: worked for %s: %v, want %v", i, step.value, got, step.works)
		}
	}
}

// TestSameRequestsTogether lets requests for one thing wait for one rendering,
// and tells an error to all of them. Who brings other files gets other responses.
func TestSameRequestsTogether(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{nil, errors.New("values.yaml:3: wrong")} {
		var works atomic.Int64
		begun, release := make(chan struct{}, 10), make(chan struct{})
		registry := prometheus.NewRegistry()
		h := start(t, func(c *sidecar.Config) {
			c.Metrics = registry
			c.Tasks = sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
				works.Add(1)
				text, err := fs.ReadFile(in.Repo, "app/manifest.yaml")
				if err != nil {
					return task.Output{}, err
				}
				begun <- struct{}{}
				<-release
				return task.Output{Manifests: []string{string(text)}}, fault
			}}
		})
		var all sync.WaitGroup
		ask := func(text string) {
			all.Go(func() {
				out, err := h.GenerateManifest(t.Context(),
					sidecartest.Request{Archive: pack(map[string]string{"app/manifest.yaml": text}), Dir: "app"})
				if fault == nil && (err != nil || strings.Join(out, "") != text) ||
					fault != nil && (err == nil || !strings.Contains(err.Error(), fault.Error())) {
					t.Errorf("%s: %q, %v", text, out, err)
				}
			})
		}
		ask("kind: A\n")
		<-begun
		for range 5 {
			ask("kind: A\n")
		}
		ask("kind: B\n")
		eventually(t, "all have arrived", func() bool { return metric(t, registry, "ladder_stage_seconds", "receive") == 7 })
		close(release)
		all.Wait()
		// Who has arrived may be slow to find the work that is under way.
		if shared := int64(metric(t, registry, "ladder_cache_events_total", "shared")); shared == 0 || works.Load()+shared != 7 {
			t.Errorf("worked %d times, and shared %d responses of 7", works.Load(), shared)
		}
	}
}

// TestEnvironmentOfAWorker makes sure that nothing of the server reaches it.
func TestEnvironmentOfAWorker(t *testing.T) {
	t.Setenv("TOKEN", "hunter2")
	workers := startWorkers(t, nil)
	h := start(t, func(c *sidecar.Config) {
		c.Tasks, c.Log = workers, slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))
		c.Variables = func(name string) bool { return name == "DO" }
	})
	out, err := h.GenerateManifest(t.Context(),
		sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": "environment", "SECRET": "hunter2"}})
	if err != nil || strings.Join(out, " ") != asWorker+"=yes" {
		t.Errorf("a worker sees %q, %v", out, err)
	}
}

// TestRenew gives workers another setup. One that does not hold changes
// nothing.
func TestRenew(t *testing.T) {
	t.Parallel()
	workers := startWorkers(t, func(c *worker.Config) { c.Setup = []byte("old") })
	h := start(t, func(c *sidecar.Config) { c.Tasks = workers })
	ask := func() string {
		out, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": "setup"}})
		return fmt.Sprint(out, err)
	}
	if got := ask(); got != "[old] <nil>" {
		t.Errorf("at first: %s", got)
	}
	if err := workers.Renew([]byte("broken")); err == nil || !strings.Contains(err.Error(), "ladder.yaml:1: broken") {
		t.Errorf("a broken setup: %v", err)
	}
	if got := ask(); got != "[old] <nil>" {
		t.Errorf("after a broken one: %s", got)
	}
	if err := workers.Renew([]byte("new")); err != nil {
		t.Fatal(err)
	}
	for range 4 { // each of those that wait
		if got := ask(); got != "[new] <nil>" {
			t.Errorf("after another: %s", got)
		}
	}
}

// clearAll returns once the server gives no response from before.
func clearAll(clearCache chan<- chan<- struct{}) {
	done := make(chan struct{})
	clearCache <- done
	<-done
}

// TestReasonOnABusyMachine: a rendering that takes a while to end does not cost the request the
// reason why it ended.
func TestReasonOnABusyMachine(t *testing.T) {
	t.Parallel()
	for deadline, late := range map[time.Duration]time.Duration{5 * time.Second: 400 * time.Millisecond,
		20 * time.Second: 900 * time.Millisecond, time.Minute: 1900 * time.Millisecond, time.Hour: 1900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h := bubble(t, sidecar.Config{Parallel: 1, Tasks: sidecartest.Tasks{
				Generate: func(ctx context.Context, _ task.Input) (task.Output, error) {
					<-ctx.Done()
					time.Sleep(late)
					return task.Output{}, ctx.Err()
				}}})
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app"})
			wants(t, err, codes.DeadlineExceeded, "app: the repo-server's deadline passed while the plugin was rendering")
		})
	}
}

// TestResponsesOfProjects: the same files of the same Application are rendered for each AppProject,
// so that nobody learns from the time of a response what another one renders.
func TestResponsesOfProjects(t *testing.T) {
	t.Parallel()
	var works atomic.Int64
	h := start(t, func(c *sidecar.Config) {
		c.Cache = 1 << 20
		c.Tasks = sidecartest.Tasks{Generate: func(ctx context.Context, in task.Input) (task.Output, error) {
			out, err := counting(&works)(ctx, in)
			out.Unused = []string{"ARGOCD_APP_PROJECT_NAME", "ARGOCD_APP_SOURCE_REPO_URL"}
			return out, err
		}}
	})
	for i, step := range []struct {
		project, repository string
		works               int64
	}{{"a", "r", 1}, {"a", "r", 1}, {"b", "r", 2}, {"b", "r", 2}, {"a", "r", 2}, {"a", "another", 2}, {"", "r", 3},
		{"", "another", 4}, {"", "r", 4}} {
		env := map[string]string{"ARGOCD_APP_NAME": "app", "ARGOCD_APP_PROJECT_NAME": step.project, "ARGOCD_APP_SOURCE_REPO_URL": step.repository}
		if _, err := h.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: pack(map[string]string{"app/manifest.yaml": "kind: A\n"}), Dir: "app", Env: env}); err != nil {
			t.Fatal(err)
		}
		if got := works.Load(); got != step.works {
			t.Errorf("step %d: %d renderings, want %d", i, got, step.works)
		}
	}
}
