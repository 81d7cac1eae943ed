package sidecar_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// harness is a server under test and a client of it.
type harness struct {
	*sidecartest.Client
	socket string
	stop   context.CancelFunc
	served chan error
}

// start serves with a generator that answers the content of the application's
// file manifest.yaml.
func start(t testing.TB, change func(*sidecar.Config)) *harness {
	t.Helper()
	cfg := sidecar.Config{
		Tasks: task.Tasks{
			Generate: func(_ context.Context, in task.Input) (task.Output, error) {
				data, err := fs.ReadFile(in.Repo, in.Dir+"/manifest.yaml")
				return task.Output{Manifests: []string{string(data)}}, err
			},
			Match: func(_ context.Context, in task.Input) (bool, error) {
				_, err := fs.Stat(in.Repo, in.Dir+"/manifest.yaml")
				return err == nil, nil
			},
		},
		Parameters: []*wire.ParameterAnnouncement{{Name: "color"}},
		Drain:      5 * time.Second,
		Log:        slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	dir, err := os.MkdirTemp("", "cmp") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &harness{socket: filepath.Join(dir, "ladder.sock"), served: make(chan error, 1)}
	lis, err := sidecar.Listen(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() { h.served <- sidecar.Serve(ctx, lis, cfg) }()
	if h.Client, err = sidecartest.Dial(h.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); stop() })
	return h
}

func file(name, data string) sidecartest.Entry {
	return sidecartest.File(name, data)
}

func link(name, target string) sidecartest.Entry {
	return sidecartest.Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}}
}

func good() sidecartest.Archive {
	return sidecartest.PackEntries(file("app/manifest.yaml", "kind: A\n"))
}

func TestGenerate(t *testing.T) {
	h := start(t, nil)
	for _, dir := range []string{"app", "app/", "./app", "app/sub/.."} {
		got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: dir})
		if err != nil || len(got) != 1 || got[0] != "kind: A\n" {
			t.Errorf("%s: got %q, %v", dir, got, err)
		}
	}
}

// TestBadStreams sends what a broken or hostile repository would. Each must be
// refused with one line that says what is wrong, and only then.
func TestBadStreams(t *testing.T) {
	h := start(t, func(c *sidecar.Config) { c.Limits = repository.Limits{Bytes: 1 << 20, Files: 100} })
	truncated := good().Tgz[:40]
	tests := []struct {
		name    string
		archive sidecartest.Archive
		dir     string
		code    codes.Code
		message string
	}{
		{"wrong checksum", sidecartest.Archive{Tgz: good().Tgz, Checksum: "00"}, "app", codes.DataLoss, "the repository arrived damaged: its checksum is "},
		{"no gzip", sidecartest.Seal([]byte("hello, this is no archive")), "app", codes.InvalidArgument, "the stream is not a gzip file: "},
		{"empty", sidecartest.Seal(nil), "app", codes.InvalidArgument, "the stream is not a gzip file: "},
		{"truncated", sidecartest.Seal(truncated), "app", codes.InvalidArgument, "the stream is not a tar file: "},
		{"dot dot", sidecartest.PackEntries(file("../evil", "x")), "app", codes.InvalidArgument, `the repository contains "../evil", which is outside the repository`},
		{"dot dot inside", sidecartest.PackEntries(file("app/../../evil", "x")), "app", codes.InvalidArgument, `the repository contains "app/../../evil", which is outside the repository`},
		{"absolute", sidecartest.PackEntries(file("/etc/passwd", "x")), "app", codes.InvalidArgument, `the repository contains "/etc/passwd", which is outside the repository`},
		{"symlink out", sidecartest.PackEntries(link("app/manifest.yaml", "../../secret")), "app", codes.InvalidArgument, `the repository contains the symlink "app/manifest.yaml" to "../../secret", which is outside the repository`},
		{"absolute symlink", sidecartest.PackEntries(link("app/manifest.yaml", "/proc/self/environ")), "app", codes.InvalidArgument, `the repository contains the symlink "app/manifest.yaml" to "/proc/self/environ", which is outside the repository`},
		{"file below symlink", sidecartest.PackEntries(link("app", "elsewhere"), file("app/x", "x")), "app", codes.InvalidArgument, `the repository contains files below "app", which is not a directory`},
		{"hard link out", sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/x", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}}), "app", codes.InvalidArgument, "which is outside the repository"},
		{"hard link to nothing", sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/x", Typeflag: tar.TypeLink, Linkname: "app/y"}}), "app", codes.InvalidArgument, "which is not a regular file"},
		{"device", sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/zero", Typeflag: tar.TypeChar}}), "app", codes.InvalidArgument, `the repository contains "app/zero", which is neither file, directory nor link`},
		{"pipe", sidecartest.PackEntries(sidecartest.Entry{Header: tar.Header{Name: "app/pipe", Typeflag: tar.TypeFifo}}), "app", codes.InvalidArgument, "which is neither file, directory nor link"},
		{"directory and file", sidecartest.PackEntries(file("app/x/y", "x"), file("app/x", "x")), "app", codes.InvalidArgument, `the repository contains "app/x" twice`},
		{"too large", sidecartest.PackEntries(file("app/zeros", strings.Repeat("0", 2<<20))), "app", codes.ResourceExhausted, "the repository is too large for this plugin: more than 1048576 bytes"},
		{"too many", manyFiles(101), "app", codes.ResourceExhausted, "the repository is too large for this plugin: more than 100 files"},
		{"application outside", good(), "../app", codes.InvalidArgument, `the application's path "../app" leaves the repository`},
		{"application absolute", good(), "/app", codes.InvalidArgument, `the application's path "/app" leaves the repository`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: tt.archive, Dir: tt.dir})
			s, _ := status.FromError(err)
			if err == nil || s.Code() != tt.code || !strings.Contains(s.Message(), tt.message) {
				t.Fatalf("got %q, %v\nwant %s: %s", got, err, tt.code, tt.message)
			}
			if strings.Contains(s.Message(), "\n") {
				t.Errorf("more than a line: %q", s.Message())
			}
		})
	}
	if got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"}); err != nil {
		t.Errorf("after all that: %q, %v", got, err)
	}
}

func manyFiles(n int) sidecartest.Archive {
	var entries []sidecartest.Entry
	for i := range n {
		entries = append(entries, file(fmt.Sprintf("app/%d", i), ""))
	}
	return sidecartest.PackEntries(entries...)
}

// TestErrorAfterWholeStream sends much more than fits into the windows of the
// connection. A server that answered before it has read all of that would make
// the client report a broken stream instead of the reason.
func TestErrorAfterWholeStream(t *testing.T) {
	noise := make([]byte, 4<<20) // random, so that it does not shrink
	random := rand.NewChaCha8([32]byte{})
	random.Read(noise)
	archive := sidecartest.PackEntries(file("../evil", "x"), file("app/noise", string(noise)))
	h := start(t, nil)
	for range 5 {
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app"})
		if s, _ := status.FromError(err); s.Code() != codes.InvalidArgument {
			t.Fatalf("got %v, want the reason", err)
		}
		_, err = h.GenerateManifest(t.Context(), sidecartest.Request{Archive: sidecartest.Archive{Tgz: archive.Tgz, Checksum: "0"}, Dir: "../app"})
		if s, _ := status.FromError(err); s.Code() != codes.DataLoss {
			t.Fatalf("got %v, want the reason", err)
		}
	}
}

func TestLinksInside(t *testing.T) {
	h := start(t, nil)
	archive := sidecartest.PackEntries(
		file("shared/base.yaml", "kind: Shared\n"),
		link("app", "apps/current"),
		link("apps/current", "one"),
		link("apps/one/manifest.yaml", "../../shared/base.yaml"),
		link("dangling", "nowhere"),
		sidecartest.Entry{Header: tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "shared/base.yaml"}},
		file(".git/config", "secret"),
	)
	got, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app"})
	if err != nil || got[0] != "kind: Shared\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestRequestsWithoutWork leave a line each in a log of all, and count.
func TestRequestsWithoutWork(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	h := start(t, func(c *sidecar.Config) {
		c.Metrics, c.Log = registry, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	request := sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"ARGOCD_APP_NAME": "shop"}}
	if _, err := h.MatchRepository(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, err := h.GetParametersAnnouncement(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	h.stop()
	<-h.served
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "ladder_requests_total" {
				for _, l := range m.GetLabel() {
					counted[l.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	for _, task := range []string{"match", "parameters"} {
		if want := `level=DEBUG msg="request answered" application=shop component=app task=` + task; !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
		if counted[task] != 1 {
			t.Errorf("%s was counted %v times", task, counted[task])
		}
	}
}

func TestMatchAndParameters(t *testing.T) {
	for _, discovery := range []bool{false, true} {
		h := start(t, func(c *sidecar.Config) { c.Discovery = discovery })
		check, err := h.CheckPluginConfiguration(t.Context())
		if err != nil || check.GetIsDiscoveryConfigured() != discovery {
			t.Errorf("discovery %v: CheckPluginConfiguration = %v, %v", discovery, check, err)
		}
		for dir, there := range map[string]bool{"app": true, "other": false} {
			match, err := h.MatchRepository(t.Context(), sidecartest.Request{Archive: good(), Dir: dir})
			if err != nil || match.GetIsSupported() != (there && discovery) || match.GetIsDiscoveryEnabled() != discovery {
				t.Errorf("discovery %v: MatchRepository(%s) = %v, %v", discovery, dir, match, err)
			}
		}
		params, err := h.GetParametersAnnouncement(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		if err != nil || len(params) != 1 || params[0].GetName() != "color" {
			t.Errorf("GetParametersAnnouncement = %v, %v", params, err)
		}
	}
}

func TestHealth(t *testing.T) {
	h := start(t, nil)
	for _, service := range []string{"", "plugin.ConfigManagementPluginService"} {
		res, err := healthpb.NewHealthClient(h.Conn()).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, res, err)
		}
	}
}

func TestProbe(t *testing.T) {
	h := start(t, nil)
	if err := sidecar.Probe(t.Context(), h.socket); err != nil {
		t.Errorf("a running server: %v", err)
	}
	h.stop()
	<-h.served
	if err := sidecar.Probe(t.Context(), h.socket); err == nil || !strings.Contains(err.Error(), "no plugin server is listening on "+h.socket) {
		t.Errorf("a server that has ended: %v", err)
	}
}

func TestFaultsOfARendering(t *testing.T) {
	h := start(t, func(c *sidecar.Config) {
		c.Generate = func(ctx context.Context, in task.Input) (task.Output, error) {
			switch in.Env["DO"] {
			case "fail":
				return task.Output{}, errors.New("values.yaml:3: wrong")
			case "panic":
				panic("index out of range")
			case "hang":
				<-ctx.Done()
				return task.Output{}, ctx.Err()
			case "flood":
				return task.Output{Manifests: []string{strings.Repeat("x", 95<<20)}}, nil
			}
			return task.Output{Manifests: []string{"ok"}}, nil
		}
	})
	ask := func(do string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app", Env: map[string]string{"DO": do}})
		return err
	}
	for do, want := range map[string]string{
		"fail":  "rpc error: code = InvalidArgument desc = values.yaml:3: wrong",
		"panic": "rpc error: code = Internal desc = app: internal error: index out of range; this is a bug of the plugin, its log has the details",
		"hang":  "rpc error: code = DeadlineExceeded desc = app: the repo-server's deadline passed while the plugin was rendering: the request had taken 2.",
		"flood": "rpc error: code = ResourceExhausted desc = app: the manifests are 95 MiB; the limit is 90 MiB, because Argo CD accepts messages of at most 100 MiB; fix: split the component",
	} {
		if err := ask(do); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", do, err, want)
		}
	}
	if err := ask(""); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// TestParallel makes sure that no more renderings run at once than allowed,
// and that one that waits too long is told what it waited for.
func TestParallel(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	running, most := 0, 0
	h := start(t, func(c *sidecar.Config) {
		c.Parallel = 2
		c.Generate = func(context.Context, task.Input) (task.Output, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
			return task.Output{Manifests: []string{"ok"}}, nil
		}
	})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: fmt.Sprint("app", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	for busy := 0; busy < 2; {
		mu.Lock()
		busy = running
		mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app"})
	if err == nil || !strings.Contains(err.Error(), "waiting for other renderings") {
		t.Errorf("a request that found no place: %v", err)
	}
	wants(t, err, codes.DeadlineExceeded, "or raise controller.repo.server.timeout.seconds")
	close(release)
	wg.Wait()
	if most > 2 {
		t.Errorf("%d renderings at once, want at most 2", most)
	}
}

// TestBusy has the server's own time end while a request waits for a place.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := bubble(t, sidecar.Config{Parallel: 1, Timeout: time.Minute, Tasks: task.Tasks{
			Generate: func(context.Context, task.Input) (task.Output, error) {
				time.Sleep(50 * time.Second)
				return task.Output{Manifests: []string{"ok"}}, nil
			}}})
		var others sync.WaitGroup
		for i := range 20 { // more than have a place or move to the background, twice
			others.Go(func() {
				h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: fmt.Sprint("other", i)})
			})
		}
		synctest.Wait()
		_, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "app"})
		wants(t, err, codes.DeadlineExceeded, "app: the plugin is busy: timed out while the plugin was waiting for other renderings: the request had taken 1m0s of 1m0s; fix: give the sidecar more CPU and --parallel, or raise --timeout")
		others.Wait()
	})
}

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
		c.Generate = func(_ context.Context, in task.Input) (task.Output, error) {
			running <- struct{}{}
			if in.Dir == "app" {
				<-release
			}
			return task.Output{Manifests: []string{"ok"}}, nil
		}
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
	wants(t, <-waited, codes.DeadlineExceeded, "other: the plugin is busy: the repo-server's deadline passed while the plugin was waiting for memory that other repositories use: the request had taken ")
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
	wants(t, err, codes.ResourceExhausted, `other: the repository is too large for this plugin: more than 1048576 bytes (--repository-memory), at "app/large"`)
}

// TestSmallRepositoriesStandTogether renders several at once though there is
// memory for a single one of the largest size.
func TestSmallRepositoriesStandTogether(t *testing.T) {
	const together = 4
	running, release := make(chan struct{}), make(chan struct{})
	h := start(t, func(c *sidecar.Config) {
		c.Limits = repository.Limits{Bytes: 1 << 20}
		c.Memory = 1<<20 + 64<<10
		c.Generate = func(context.Context, task.Input) (task.Output, error) {
			running <- struct{}{}
			<-release
			return task.Output{Manifests: []string{"ok"}}, nil
		}
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

// TestFaultsOfAMatch makes sure that they end one request and not the server.
func TestFaultsOfAMatch(t *testing.T) {
	var log bytes.Buffer
	h := start(t, func(c *sidecar.Config) {
		c.Discovery = true
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Match = func(_ context.Context, in task.Input) (bool, error) {
			if in.Dir == "app" {
				panic("index out of range")
			}
			return false, errors.New("values.yaml:3: wrong")
		}
	})
	for dir, want := range map[string]string{
		"app":   "rpc error: code = Internal desc = app: internal error: index out of range; this is a bug of the plugin, its log has the details",
		"other": "rpc error: code = InvalidArgument desc = values.yaml:3: wrong",
	} {
		if _, err := h.MatchRepository(t.Context(), sidecartest.Request{Archive: good(), Dir: dir}); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", dir, err, want)
		}
		code, message, _ := strings.Cut(strings.TrimPrefix(want, "rpc error: code = "), " desc = ")
		if !strings.Contains(log.String(), fmt.Sprintf("component=%s code=%s error=%q", dir, code, message)) {
			t.Errorf("%s is not in the log:\n%s", dir, log.String())
		}
	}
}

// TestPings lets a client ping as often as Argo CD's does at most. A server
// that minds would hang up at the fourth ping.
func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		lis := bufconn.Listen(1 << 16)
		served := make(chan error, 1)
		go func() {
			served <- sidecar.Serve(ctx, lis, sidecar.Config{Log: slog.New(slog.DiscardHandler), Drain: time.Second})
		}()
		dialed := 0
		conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { dialed++; return lis.DialContext(ctx) }),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 20 * time.Second, PermitWithoutStream: true}))
		if err != nil {
			t.Fatal(err)
		}
		// A call of a minute: it waits on a stream that does not end. The server is not
		// told of the minute, or it would end the call at the same moment.
		watching, cancel := context.WithCancel(ctx)
		defer time.AfterFunc(time.Minute, cancel).Stop()
		watch, err := healthpb.NewHealthClient(conn).Watch(watching, &healthpb.HealthCheckRequest{})
		if err == nil {
			_, err = watch.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watch.Recv(); watching.Err() == nil {
			t.Errorf("during a call the server hung up: %v", err)
		}
		time.Sleep(time.Minute) // of the bubble's clock, between calls
		if state := conn.GetState(); state != connectivity.Ready || dialed != 1 {
			t.Errorf("between calls the server hung up: the connection is %s, and was made %d times", state, dialed)
		}
		conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestDrain asks the server to end while a request is under way: who watches
// is told, the request is answered, and the socket is gone.
func TestDrain(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	h := start(t, func(c *sidecar.Config) {
		c.Generate = func(context.Context, task.Input) (task.Output, error) {
			close(started)
			<-release
			return task.Output{Manifests: []string{"ok"}}, nil
		}
	})
	answered := make(chan error, 1)
	go func() {
		_, err := h.GenerateManifest(context.Background(), sidecartest.Request{Archive: good(), Dir: "app"})
		answered <- err
	}()
	<-started
	watching, cancel := context.WithCancel(t.Context())
	watch, err := healthpb.NewHealthClient(h.Conn()).Watch(watching, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
		if i == 1 {
			h.stop()
		}
		if res, err := watch.Recv(); err != nil || res.GetStatus() != want {
			t.Errorf("who watches is told %v, %v; want %s", res, err, want)
		}
	}
	cancel()
	select {
	case err := <-h.served:
		t.Fatalf("the server ended before the request: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if err := <-h.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := os.Lstat(h.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestListen(t *testing.T) {
	h := start(t, nil)
	if _, err := h.CheckPluginConfiguration(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.Listen(h.socket); err == nil || !strings.Contains(err.Error(), "another plugin server is already listening") {
		t.Errorf("a second server on the socket: %v", err)
	}

	// A socket whose server died without removing it.
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stale := filepath.Join(dir, "stale.sock")
	dead, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	lis, err := sidecar.Listen(stale)
	if err != nil {
		t.Fatalf("a stale socket was not replaced: %v", err)
	}
	defer lis.Close()
	info, err := os.Stat(stale)
	if err != nil || info.Mode().Perm() != 0o770 {
		t.Errorf("mode %v, %v; want 0770", info.Mode(), err)
	}
	if _, err := sidecar.Listen(filepath.Join(dir, "missing", "x.sock")); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

// TestSecretsStayOutOfTheLog renders with a secret in every input and looks for
// it in the log.
func TestSecretsStayOutOfTheLog(t *testing.T) {
	var log bytes.Buffer
	h := start(t, func(c *sidecar.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	archive := sidecartest.PackEntries(file("app/manifest.yaml", "password: hunter2\n"))
	env := map[string]string{"ARGOCD_APP_NAME": "shop", "ARGOCD_ENV_TOKEN": "hunter2", "ARGOCD_APP_PARAMETERS": "hunter2"}
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app", Env: env}); err != nil {
		t.Fatal(err)
	}
	h.stop()
	<-h.served
	if !strings.Contains(log.String(), "application=shop component=app") {
		t.Errorf("the request is not in the log:\n%s", log.String())
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("a secret is in the log:\n%s", log.String())
	}
}
