// Package sidecar is a plugin server for Argo CD's repo-server.
//
// Argo CD's own, argocd-cmp-server, writes each repository to disk and starts a
// process for each request. This one keeps repositories in memory, has worker
// processes that are already running, and caches responses. It uses the same protocol
// on the same socket; Argo CD cannot distinguish the two.
//
// The package knows nothing about charts or waves: its configuration has the Runner of
// its tasks.
package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// Config configures Serve.
type Config struct {
	// Tasks runs the tasks of requests.
	Tasks task.Runner
	// Defaults are environment variables for tasks, unless a request sets them.
	Defaults map[string]string
	// Variables reports which environment variables of a request tasks may see; nil
	// means all. Others are dropped on arrival.
	Variables func(name string) bool
	// Secret returns the secret data for the task of a request, depending on the
	// request's environment; nil means none. It must return the same for the same
	// environment while the server runs, because responses are cached by that
	// environment.
	Secret func(env map[string]string) []byte
	// ClearCache signals that cached responses are invalid. Serve closes the received
	// channel when it has cleared the cache.
	ClearCache <-chan chan<- struct{}
	// Parameters describes the plugin's parameters for Argo CD's UI.
	Parameters []*wire.ParameterAnnouncement
	// Discovery lets Argo CD ask whether the plugin supports an Application that
	// does not name it. The repository is then sent twice.
	Discovery bool
	// Parallel limits concurrent renderings; 0 means no limit.
	Parallel int
	Limits   repository.Limits
	// Memory limits the total size of repositories in memory, in bytes as counted
	// by Limits; 0 means no limit. A repository that exceeds the remaining size
	// waits, before or during its arrival. Limits must not exceed Memory.
	Memory int64
	// Cache limits the size of cached responses, in bytes; 0 disables the cache. A
	// response is reused if the files it was made from and all its other inputs are
	// unchanged.
	Cache int64
	// Responses limits the memory of responses in transit to clients, in bytes; 0 means
	// no limit. Further responses wait.
	Responses int64
	// CacheAge limits the age of cached responses, whether used or not; 0 means no
	// limit.
	CacheAge time.Duration
	// Timeout limits the duration of a request with no deadline or a later one; 0
	// means no limit.
	Timeout time.Duration
	// Render limits the duration of a rendering that has a slot; 0 means no limit.
	// A rendering in the background may take longer.
	Render time.Duration
	// WorkerMemory limits the memory of one rendering, in bytes; 0 means no limit.
	// All renderings together, including those in the background, may use Parallel
	// times as much.
	WorkerMemory int64
	// Stall limits how long a client may pause while sending a repository if others
	// wait for the memory it occupies; 0 means no limit. There is no limit before the
	// first byte arrives, or while no other request waits for memory.
	Stall time.Duration
	// Drain limits how long requests may continue after shutdown has started.
	Drain time.Duration
	Log   *slog.Logger
	// Operations is the listener for metrics and health; nil disables them.
	Operations net.Listener
	// Profiles also serves profiles of the program there.
	Profiles bool
	// Metrics is the registry for metrics; nil means a new one.
	Metrics *prometheus.Registry
	// Source provides content that repositories do not contain; nil means none.
	Source Source
	// Fetched limits the total size of files from the Source that requests hold, in
	// bytes; 0 means no limit. Requests beyond it wait. It must be at least the
	// limit for one request, 256 MiB.
	Fetched int64
	// Traces receives the traces of requests; nil disables them.
	Traces trace.TracerProvider
}

// window is how much of a stream is buffered before it is read. By default grpc
// increases it to 16 MiB for each waiting stream.
const window = 256 << 10

// What a client sends takes memory before the server can count it. Argo CD's client has a
// connection for each request, and sends the variables of an Application, at most maxEnvironment,
// and then parts of a kilobyte.
const (
	maxReceived = 4 * maxEnvironment
	maxHeaders  = 64 << 10
	maxStreams  = 1000 // of a connection
)

// timeToRespond is subtracted from the deadline of a request, so that the reason for
// a timeout still reaches the client.
const timeToRespond = 500 * time.Millisecond

// A machine with many times more work than CPUs takes longer, and an answer that is late is
// replaced by a reset of the stream, which says nothing. So a longer deadline leaves more time:
// this part of it, up to a limit.
const (
	partToRespond    = 20
	maxTimeToRespond = 2 * time.Second
)

// minPing is the minimum interval of keepalive pings. Argo CD's client pings every
// 20 seconds by default and every 10 at most; with grpc's default of five minutes
// the server would close the connection. Half of the shortest interval allows for
// delayed pings, as in Argo CD's own server.
const minPing = 5 * time.Second

// Serve serves on the listener until the context ends, then waits for running
// requests. It returns nil after a regular shutdown.
func Serve(ctx context.Context, lis net.Listener, cfg Config) error {
	srv := grpc.NewServer(append(tracing(cfg.Traces),
		grpc.MaxRecvMsgSize(maxReceived),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxSendMsgSize(task.MaxMessage),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)...)
	healthy := health.NewServer()
	healthpb.RegisterHealthServer(srv, healthy)
	setHealth(healthy, true)
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewRegistry()
	}
	server := newServer(cfg)
	wire.RegisterConfigManagementPluginServiceServer(srv, server)
	running, stop := context.WithCancel(context.Background())
	defer stop()
	go server.results.expireLoop(running, cfg.ClearCache)

	failed := make(chan error, 2)
	ops := newOperations(cfg.Metrics, healthy, cfg.Profiles)
	if cfg.Operations != nil {
		defer ops.close()
		go func() { failed <- ops.serve(cfg.Operations) }()
	}
	go func() { failed <- srv.Serve(lis) }()
	keeper := &socketKeeper{log: cfg.Log, serve: srv.Serve, lost: func(lost bool) {
		ops.lost.Store(lost)
		server.metrics.setSocketLost(lost)
		setHealth(healthy, !lost)
	}}
	var kept sync.WaitGroup
	kept.Go(func() { keeper.keep(running, lis) })
	ops.ready.Store(true)
	select {
	case err := <-failed:
		srv.Stop()
		return fmt.Errorf("serve on %s: %w", lis.Addr(), err)
	case <-ctx.Done():
	}
	stop()
	kept.Wait() // otherwise it might recreate the socket after its removal
	ops.ready.Store(false)
	healthy.Shutdown() // clients should send no new requests
	drained := make(chan struct{})
	go func() { srv.GracefulStop(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(cfg.Drain):
		cfg.Log.Warn("requests were still under way at the end of the drain time", "drain", cfg.Drain)
		srv.Stop()
	}
	return nil
}

// setHealth sets the status of the gRPC health service.
func setHealth(of *health.Server, serving bool) {
	now := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		now = healthpb.HealthCheckResponse_SERVING
	}
	for _, service := range []string{"", wire.ConfigManagementPluginService_ServiceDesc.ServiceName} {
		of.SetServingStatus(service, now)
	}
}
