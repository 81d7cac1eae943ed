// Package sidecar is a plugin server for Argo CD's repo-server.
//
// Argo CD ships one, argocd-cmp-server, that writes each repository to disk and
// starts a process for each request. This one keeps the repository in memory,
// has processes that wait for work, and remembers answers. It speaks the same protocol on the same socket,
// and Argo CD cannot tell the two apart.
//
// The package knows nothing of charts or waves: it is handed functions.
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

// Config says how to serve.
type Config struct {
	task.Tasks
	// Variables says which variables of a request's environment tasks are to
	// see; nil means all. Others are forgotten as soon as they arrive.
	Variables func(name string) bool
	// Secret returns what the task of a request may know of the server's secrets, by the
	// environment of the request; nil means nothing. Of the same environment it is the
	// same as long as the server runs: answers are remembered by that alone.
	Secret func(env map[string]string) []byte
	// Forget tells the server that the tasks give other answers from now on.
	Forget <-chan struct{}
	// Parameters describes the plugin's parameters to Argo CD's UI.
	Parameters []*wire.ParameterAnnouncement
	// Discovery makes Argo CD ask whether the plugin wants an Application
	// that does not name it, at the price of sending the repository twice.
	Discovery bool
	// Parallel bounds the renderings at the same time; 0 means no bound.
	Parallel int
	Limits   repository.Limits
	// Memory bounds the repositories that are held at the same time, together,
	// in bytes as Limits counts them; 0 means no bound. One that would need
	// more than is left waits, before it arrives or while it does. Above Memory
	// Limits allow none.
	Memory int64
	// Cache bounds what is remembered of answers, in bytes; 0 remembers
	// nothing. An answer is given again when the files that it was made from
	// are the same, and all else that it depends on.
	Cache int64
	// Answers bounds the memory of answers on their way to the client, in bytes;
	// 0 means no bound. One that would need more waits.
	Answers int64
	// AnswerBytes bounds the manifests of one answer, with what their aliases stand for:
	// that is what they cost whoever reads them. 0 is no limit.
	AnswerBytes int
	// CacheAge is how long an answer is remembered at most, whether it is used
	// or not; 0 means no bound.
	CacheAge time.Duration
	// Timeout is how long a request may take that brings no deadline of its
	// own, or a later one; 0 means no bound.
	Timeout time.Duration
	// Render is how long a rendering may take, once it has its place; 0 means no
	// bound. One that has stepped aside for others may take longer.
	Render time.Duration
	// WorkerMemory is what one rendering may take, in bytes; 0 means no bound.
	// Renderings that have stepped aside take no more with the others than
	// Parallel times that.
	WorkerMemory int64
	// Stall is how long a client may send nothing of a repository that it has
	// begun to send while others wait for the memory that it holds; 0 means no
	// bound. Before that, and where nobody waits, its time is its own.
	Stall time.Duration
	// Drain is how long requests may go on after the end was asked for.
	Drain time.Duration
	Log   *slog.Logger
	// Operations, if there is one, is where metrics and health are served.
	Operations net.Listener
	// Profiles serves profiles of the program there, too.
	Profiles bool
	// Metrics holds the metrics; nil means a registry of the server's own.
	Metrics *prometheus.Registry
	// Source has what repositories do not hold; nil means that nobody has.
	Source Source
	// Fetched bounds the files of the Source that requests hold at the same time,
	// together, in bytes; 0 means no bound. One that needs more than is left waits. It
	// must be what one request may hold, 256 MiB, or more.
	Fetched int64
	// Traces takes the traces of requests; nil takes none.
	Traces trace.TracerProvider
}

// window is how much of a stream may arrive before somebody reads it. Left to
// itself, grpc lets it grow to 16 MiB for each of the streams that wait.
const window = 256 << 10

// timeToAnswer is kept back from the deadline of a request, so that the reason
// for missing it still arrives.
const timeToAnswer = 500 * time.Millisecond

// minPing is the pace of keepalive pings that the server puts up with. Argo
// CD's client pings every 20 seconds by default and every 10 at most; a server
// with grpc's own limit of five minutes hangs up on it. Half of the shortest
// time leaves room for pings that are late and then on time, as Argo CD's own
// server does.
const minPing = 5 * time.Second

// Serve answers on the listener until the context ends, then lets the requests
// under way finish. It returns nil after an orderly end.
func Serve(ctx context.Context, lis net.Listener, cfg Config) error {
	srv := grpc.NewServer(append(tracing(cfg.Traces),
		grpc.MaxRecvMsgSize(task.MaxMessage),
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
	go server.results.ageing(running, cfg.Forget)

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
	kept.Wait() // or it made the socket again that the end removes
	ops.ready.Store(false)
	healthy.Shutdown() // no new requests, please
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

// setHealth says to who asks for it by gRPC whether the server can be reached.
func setHealth(of *health.Server, serving bool) {
	now := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		now = healthpb.HealthCheckResponse_SERVING
	}
	for _, service := range []string{"", wire.ConfigManagementPluginService_ServiceDesc.ServiceName} {
		of.SetServingStatus(service, now)
	}
}
