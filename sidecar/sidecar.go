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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// Config says how to serve.
type Config struct {
	Tasks
	// Variables says which variables of a request's environment tasks are to
	// see; nil means all. Others are forgotten as soon as they arrive.
	Variables func(name string) bool
	// Forget tells the server that the tasks give other answers from now on.
	Forget <-chan struct{}
	// Parameters describes the plugin's parameters to Argo CD's UI.
	Parameters []*wire.ParameterAnnouncement
	// Discovery makes Argo CD ask whether the plugin wants an Application
	// that does not name it, at the price of sending the repository twice.
	Discovery bool
	// Parallel bounds the renderings at the same time; 0 means no bound.
	Parallel int
	Limits   Limits
	// Memory bounds the repositories that are held at the same time, together,
	// in bytes as Limits counts them; 0 means no bound. While a repository
	// arrives, all that Limits allow it is set aside; above Memory they allow
	// none.
	Memory int64
	// Cache bounds what is remembered of answers, in bytes; 0 remembers
	// nothing. An answer is given again when the files that it was made from
	// are the same, and all else that it depends on.
	Cache int64
	// CacheAge is how long an answer is remembered at most, whether it is used
	// or not; 0 means no bound.
	CacheAge time.Duration
	// Timeout is how long a request may take that brings no deadline of its
	// own, or a later one; 0 means no bound.
	Timeout time.Duration
	// Stall is how long a client may send nothing of a repository that it has
	// begun to send; 0 means no bound. Meanwhile it holds memory that others
	// wait for.
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
	// Traces takes the traces of requests; nil takes none.
	Traces trace.TracerProvider
}

// maxMessage is the largest message that Argo CD's client sends or takes
// (ARGOCD_GRPC_MAX_SIZE_MB, 100 MiB by default).
const maxMessage = 100 << 20

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
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)...)
	healthy := health.NewServer()
	healthpb.RegisterHealthServer(srv, healthy)
	for _, service := range []string{"", wire.ConfigManagementPluginService_ServiceDesc.ServiceName} {
		healthy.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
	}
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
	go keepSocket(running, lis.Addr(), cfg.Log, func(lis net.Listener) { srv.Serve(lis) })
	ops.ready.Store(true)
	select {
	case err := <-failed:
		srv.Stop()
		return fmt.Errorf("serve on %s: %w", lis.Addr(), err)
	case <-ctx.Done():
	}
	stop()
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

// Listen makes the socket at path, which the repo-server finds by its name. A
// socket that a dead server left behind is replaced; one that answers is not,
// nor is anything that is no socket. Closing the listener removes the socket.
//
// Errors end in a remedy, behind a semicolon.
func Listen(path string) (net.Listener, error) {
	// A longer path does not fit into a socket's address.
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("listen on %s: the path has more than %d characters; shorten it", path, maxSocketPath)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("listen on %s: something else than a socket is there; move it away", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, fmt.Errorf("listen on %s: another plugin server answers there; stop it", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, listenFault(path, err)
		}
	}
	lis, err := net.Listen("unix", path)
	if err != nil {
		return nil, listenFault(path, err)
	}
	// The repo-server runs as the same user or shares the group.
	if err := os.Chmod(path, 0o770); err != nil {
		lis.Close()
		return nil, listenFault(path, err)
	}
	return lis, nil
}

const maxSocketPath = 107

// socketPace is how often a server looks whether its socket is still there.
const socketPace = time.Second

// keepSocket makes a socket again that somebody has removed, until ctx ends: the
// repo-server could not reach the server any more, and nobody else would notice.
func keepSocket(ctx context.Context, addr net.Addr, log *slog.Logger, serve func(net.Listener)) {
	if addr.Network() != "unix" {
		return
	}
	ticks := time.NewTicker(socketPace)
	defer ticks.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if _, err := os.Lstat(addr.String()); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		lis, err := Listen(addr.String())
		if err != nil {
			if !failed {
				log.Error("the socket is gone and cannot be made again", "error", err.Error())
			}
			failed = true
			continue
		}
		failed = false
		log.Warn("the socket was gone, and was made again", "socket", addr.String())
		go serve(lis)
	}
}

// listenFault says in a user's words why there can be no socket at a path.
func listenFault(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("listen on %s: there is no such directory; create it", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("listen on %s: this user may not write there; grant it that", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("listen on %s: a file stands where the directory should be; move it away", path)
	}
	return fmt.Errorf("listen on %s: %w; mend the directory", path, err)
}

// Probe asks the server behind a socket whether it serves, for the probes of a
// container that has neither shell nor client.
func Probe(ctx context.Context, path string) error {
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	res, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		if _, missing := os.Lstat(path); missing != nil {
			return fmt.Errorf("no plugin server answers on %s, which does not exist", path)
		}
		return fmt.Errorf("no plugin server answers on %s", path)
	}
	if res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("the plugin server on %s takes no requests: it is about to end", path)
	}
	return nil
}

type server struct {
	wire.UnimplementedConfigManagementPluginServiceServer
	cfg          Config
	places       *semaphore.Weighted // for work
	repositories *repositories
	results      *results
	metrics      *metrics
	tracer       trace.Tracer
	read         func(io.Reader, Limits) (*tree, error) // unpack, but for tests
}

// idleTree is how long a repository stays in memory that no request uses. The
// requests for the Applications of a commit follow each other in less.
const idleTree = 30 * time.Second

func newServer(cfg Config) *server {
	if cfg.Memory > 0 && (cfg.Limits.Bytes == 0 || cfg.Limits.Bytes > cfg.Memory) {
		cfg.Limits.Bytes = cfg.Memory
	}
	s := &server{cfg: cfg, tracer: tracerOf(cfg.Traces), read: unpack}
	s.places = semaphore.NewWeighted(math.MaxInt64)
	if cfg.Parallel > 0 {
		s.places = semaphore.NewWeighted(int64(cfg.Parallel))
	}
	keep := idleTree
	if cfg.Cache == 0 {
		keep = 0
	}
	s.repositories = newRepositories(cfg.Memory, cfg.Limits.Bytes, keep)
	s.results = newResults(cfg.Cache, cfg.CacheAge, func(e cacheEvent) { s.metrics.cache.WithLabelValues(string(e)).Inc() })
	s.metrics = newMetrics(s, cfg.Metrics)
	return s
}

func (s *server) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*wire.CheckPluginConfigurationResponse, error) {
	return &wire.CheckPluginConfigurationResponse{IsDiscoveryConfigured: s.cfg.Discovery}, nil
}

func (s *server) MatchRepository(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.RepositoryResponse]) error {
	if !s.cfg.Discovery {
		if err := s.drainInTime(stream.Context(), stream); err != nil {
			return err
		}
		return stream.SendAndClose(&wire.RepositoryResponse{})
	}
	_, a, err := s.perform(match, stream.Context(), stream)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&wire.RepositoryResponse{IsSupported: a.Matched, IsDiscoveryEnabled: true})
}

func (s *server) GetParametersAnnouncement(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ParametersAnnouncementResponse]) error {
	// The answer is always the same, but the stream must be read.
	if err := s.drainInTime(stream.Context(), stream); err != nil {
		return err
	}
	return stream.SendAndClose(&wire.ParametersAnnouncementResponse{ParameterAnnouncements: s.cfg.Parameters})
}

func (s *server) GenerateManifest(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ManifestResponse]) error {
	start := time.Now()
	log, a, err := s.perform(generate, stream.Context(), stream)
	if err != nil {
		return err
	}
	log.Info("request answered", append(a.Output.Log, "duration", time.Since(start))...)
	for _, r := range a.Output.Remarks {
		log.Log(stream.Context(), r.Level, r.Text)
	}
	return stream.SendAndClose(&wire.ManifestResponse{Manifests: a.Output.Manifests})
}

// appName is the variable that names the Application.
const appName = "ARGOCD_APP_NAME"

// perform receives a repository when there is memory for it, and answers when
// there is a place for the work, or without. It keeps to the deadline of the
// request. The log it returns names the request.
func (s *server) perform(what task, ctx context.Context, from stream) (log *slog.Logger, a answer, err error) {
	start := time.Now()
	log = s.cfg.Log
	defer func() {
		err = shortened(err)
		s.metrics.ended(what, start, err)
		if err != nil {
			failed(ctx, err)
			log.Error("request failed", "error", err.Error(), "duration", time.Since(start))
		}
	}()
	ctx, cancel := s.limitTime(ctx)
	defer cancel()
	in, repo, err := s.receiveInTime(ctx, from)
	if in.Dir != "" {
		log = log.With("application", in.Env[appName], "component", in.Dir)
		tell(ctx, "application", in.Env[appName], "component", in.Dir)
	}
	if err != nil {
		return log, a, err
	}
	defer repo.release()
	about := subject{what, in.Env[appName], in.Dir}
	a, how, err := s.results.get(ctx, about, in, func(in Input) (answer, error) { return s.work(ctx, what, in) })
	if err != nil {
		if _, known := status.FromError(err); !known {
			err = status.Error(codes.InvalidArgument, err.Error())
		}
		return log, a, err
	}
	s.metrics.gave(a.Output)
	tell(ctx, append([]any{"cache", string(how)}, a.Output.Log...)...)
	return log.With("cache", string(how)), a, nil
}

// work runs a task when there is a place for it.
func (s *server) work(ctx context.Context, what task, in Input) (a answer, err error) {
	waited := s.begin(ctx, queueing)
	s.metrics.waiting.Inc()
	err = s.places.Acquire(ctx, 1)
	s.metrics.waiting.Dec()
	waited()
	if err != nil {
		return a, deadline(ctx, waitingForOthers)
	}
	defer s.places.Release(1)
	s.metrics.working.Inc()
	defer s.metrics.working.Dec()
	defer s.begin(ctx, working)()
	a, err = guarded(s.cfg.Log, in.Dir, func() (answer, error) { return s.cfg.Tasks.run(ctx, what, in) })
	if err != nil && errors.Is(err, ctx.Err()) {
		err = deadline(ctx, "rendering")
	}
	return a, err
}

// limitTime ends a request a little before its deadline, so that the reason for
// missing it still arrives.
func (s *server) limitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	end = end.Add(-timeToAnswer)
	if own := time.Now().Add(s.cfg.Timeout); s.cfg.Timeout > 0 && (!limited || own.Before(end)) {
		return context.WithDeadlineCause(ctx, own, errOwnTimeout)
	}
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end)
}

var (
	errOwnTimeout = errors.New("the plugin's own time limit")
	errStalled    = errors.New("the client sends nothing")
)

// guarded keeps a panic in the work of one request from ending all others.
// about says what the work is about, for messages.
func guarded[T any](log *slog.Logger, about string, work func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			log.Error("a request panicked", "about", about, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = status.Error(codes.Internal, bug(about, r))
		}
	}()
	return work()
}

func bug(about string, r any) string {
	return fmt.Sprintf("%s: internal error: %v; this is a bug of the plugin, its log has the details", about, r)
}

const waitingForOthers = "waiting for other renderings"

// deadline says why a request ends before its answer is there: what the plugin
// was doing, and whose time was over.
func deadline(ctx context.Context, doing string) error {
	if context.Cause(ctx) == errStalled {
		return status.Error(codes.DeadlineExceeded, "the repo-server began to send the repository, and then sent nothing for longer than --stall-timeout allows; look at its CPU and its log")
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.Error(codes.Canceled, "the repo-server gave up the request while the plugin was "+doing)
	}
	if context.Cause(ctx) == errOwnTimeout {
		return status.Error(codes.DeadlineExceeded, "the time was over while the plugin was "+doing+"; raise --timeout, or make the component smaller")
	}
	if doing == waitingForOthers {
		return status.Error(codes.DeadlineExceeded, "the plugin is busy: the repo-server's deadline passed while it was "+doing+
			"; give the sidecar more CPU and --parallel, or raise controller.repo.server.timeout.seconds")
	}
	return status.Error(codes.DeadlineExceeded, "the repo-server's deadline passed while the plugin was "+doing+
		"; raise controller.repo.server.timeout.seconds, or make the component smaller")
}

// maxFault is the longest reason that is given for a failure, in bytes. It
// travels in a header, and stands in the Application's conditions.
const maxFault = 32 << 10

// shortened leaves out what is too much of a reason.
func shortened(err error) error {
	s, known := status.FromError(err)
	if !known || len(s.Message()) <= maxFault {
		return err
	}
	text := strings.ToValidUTF8(s.Message()[:maxFault], "")
	return status.Errorf(s.Code(), "%s... (and %d bytes more)", text, len(s.Message())-len(text))
}

// checkSize refuses an answer that Argo CD's client would refuse with a message
// about gRPC.
func checkSize(manifests []string) error {
	size := 0
	for _, m := range manifests {
		size += len(m)
	}
	if size > maxMessage*9/10 {
		return status.Errorf(codes.ResourceExhausted, "the manifests are %d MB, and Argo CD takes no more than 100; split the component", size>>20)
	}
	return nil
}
