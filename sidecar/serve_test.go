package sidecar_test

import (
	"archive/tar"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/ladder-cmp/ladder/sidecar"
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
		Tasks: sidecartest.Tasks{
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

var good = sync.OnceValue(func() sidecartest.Archive {
	return sidecartest.PackEntries(file("app/manifest.yaml", "kind: A\n"))
})

func TestHealth(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, service := range []string{"", "plugin.ConfigManagementPluginService"} {
		res, err := healthpb.NewHealthClient(h.Conn()).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, res, err)
		}
	}
}

// TestPings lets a client ping as often as Argo CD's does at most. A server
// that minds would hang up at the fourth ping.
func TestPings(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	h := start(t, func(c *sidecar.Config) {
		c.Tasks = sidecartest.Tasks{Generate: func(context.Context, task.Input) (task.Output, error) {
			close(started)
			<-release
			return task.Output{Manifests: []string{"ok"}}, nil
		}}
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
	for i, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING,
		healthpb.HealthCheckResponse_NOT_SERVING} {
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
