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
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
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
		grpc.ForceServerCodecV2(newCodec()),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)...)
	healthy := health.NewServer()
	healthpb.RegisterHealthServer(srv, healthy)
	services := []string{"", wire.ConfigManagementPluginService_ServiceDesc.ServiceName}
	for _, service := range services {
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
	tell := func(lost bool) {
		ops.lost.Store(lost)
		server.metrics.lost.Set(map[bool]float64{true: 1}[lost])
		serving := healthpb.HealthCheckResponse_SERVING
		if lost {
			serving = healthpb.HealthCheckResponse_NOT_SERVING
		}
		for _, service := range services {
			healthy.SetServingStatus(service, serving)
		}
	}
	var keeper sync.WaitGroup
	keeper.Go(func() { keepSocket(running, lis, cfg.Log, tell, func(lis net.Listener) { srv.Serve(lis) }) })
	ops.ready.Store(true)
	select {
	case err := <-failed:
		srv.Stop()
		return fmt.Errorf("serve on %s: %w", lis.Addr(), err)
	case <-ctx.Done():
	}
	stop()
	keeper.Wait() // or it made the socket again that the end removes
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
	file, err := os.Lstat(path)
	if err != nil {
		lis.Close()
		return nil, listenFault(path, err)
	}
	own := lis.(*net.UnixListener)
	own.SetUnlinkOnClose(false)
	return &socket{own, path, file}, nil
}

const maxSocketPath = 107

// socket is a listener that knows its file. That of another, which stands at the
// same path by now, is none of its business.
type socket struct {
	*net.UnixListener
	path string
	file fs.FileInfo
}

// there reports whether the repo-server would still find this socket.
func (s *socket) there() bool {
	file, err := os.Lstat(s.path)
	return err == nil && os.SameFile(file, s.file)
}

func (s *socket) Close() error {
	if s.there() {
		os.Remove(s.path)
	}
	return s.UnixListener.Close()
}

// socketPace is how often a server looks whether its socket is still there.
const socketPace = time.Second

// keepSocket makes a socket again that somebody has removed, until ctx ends: the
// repo-server could not reach the server any more, and nobody else would notice.
// Where it cannot be made, because something else stands there or the directory is
// gone, lost is told, and again when the socket is back.
func keepSocket(ctx context.Context, first net.Listener, log *slog.Logger, lost func(bool), serve func(net.Listener)) {
	now, known := first.(*socket)
	if !known {
		return
	}
	ticks := time.NewTicker(socketPace)
	defer ticks.Stop()
	for failed := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if now.there() {
			if failed != "" { // it was moved away for a while
				failed = ""
				lost(false)
				log.Warn("the socket is back", "socket", now.path)
			}
			continue
		}
		lis, err := Listen(now.path)
		if err != nil {
			if err.Error() != failed {
				failed = err.Error()
				lost(true)
				log.Error("the socket is gone and cannot be made again", "error", failed)
			}
			continue
		}
		failed = ""
		now = lis.(*socket)
		lost(false)
		log.Warn("the socket was gone, and was made again", "socket", now.path)
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
	places       *places
	repositories *repositories
	fetched      *repositories // of which only the room for files is used
	results      *results
	sending      *sending
	metrics      *metrics
	tracer       trace.Tracer
	read         func(io.Reader, Limits, func(int64) error) (*tree, error) // unpackGrowing, but for tests
}

// idleTree is how long a repository stays in memory that no request uses. The
// requests for the Applications of a commit follow each other in less.
const idleTree = 30 * time.Second

func newServer(cfg Config) *server {
	if cfg.Memory > 0 && (cfg.Limits.Bytes == 0 || cfg.Limits.Bytes > cfg.Memory) {
		cfg.Limits.Bytes, cfg.Limits.bytesFlag = cfg.Memory, "--repository-memory"
	}
	s := &server{cfg: cfg, tracer: tracerOf(cfg.Traces), read: unpackGrowing}
	s.places = newPlaces(cfg.Parallel, cfg.Render, cfg.WorkerMemory)
	keep := idleTree
	if cfg.Cache == 0 {
		keep = 0
	}
	s.repositories = newRepositories(cfg.Memory, cfg.Limits.Bytes, keep)
	s.fetched = newRepositories(cfg.Fetched, maxThingBytes, 0)
	s.sending = newSending(cfg.Answers)
	s.results = newResults(cfg.Cache, cfg.CacheAge, func(e cacheEvent) { s.metrics.cache.WithLabelValues(string(e)).Inc() })
	s.metrics = newMetrics(s, cfg.Metrics)
	return s
}

func (s *server) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*wire.CheckPluginConfigurationResponse, error) {
	return &wire.CheckPluginConfigurationResponse{IsDiscoveryConfigured: s.cfg.Discovery}, nil
}

func (s *server) MatchRepository(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.RepositoryResponse]) error {
	if !s.cfg.Discovery {
		if err := s.heed(match, stream.Context(), stream); err != nil {
			return err
		}
		return stream.SendAndClose(&wire.RepositoryResponse{})
	}
	start := time.Now()
	return s.perform(match, stream.Context(), stream, func(_ context.Context, log *slog.Logger, a answer, _ *load) error {
		log.Debug("request answered", "task", string(match), "matched", a.Matched, "duration", time.Since(start))
		return stream.SendAndClose(&wire.RepositoryResponse{IsSupported: a.Matched, IsDiscoveryEnabled: true})
	})
}

func (s *server) GetParametersAnnouncement(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ParametersAnnouncementResponse]) error {
	// The answer is always the same, but the stream must be read.
	if err := s.heed(parameters, stream.Context(), stream); err != nil {
		return err
	}
	return stream.SendAndClose(&wire.ParametersAnnouncementResponse{ParameterAnnouncements: s.cfg.Parameters})
}

// heed takes a request whose answer does not depend on its repository.
func (s *server) heed(what task, ctx context.Context, from stream) (err error) {
	start := time.Now()
	ctx, cancel := s.limitTime(ctx)
	defer cancel()
	in, err := s.heedInTime(ctx, from)
	log := s.about(ctx, in)
	s.end(ctx, what, start, log, err)
	if err == nil {
		log.Debug("request answered", "task", string(what), "duration", time.Since(start))
	}
	return err
}

// about is the log for a request, as far as it is known.
func (s *server) about(ctx context.Context, in Input) *slog.Logger {
	if in.Dir == "" {
		return s.cfg.Log
	}
	tell(ctx, "application", in.Env[appName], "component", in.Dir)
	return s.cfg.Log.With("application", in.Env[appName], "component", in.Dir)
}

// end notes the end of a request.
func (s *server) end(ctx context.Context, what task, start time.Time, log *slog.Logger, err error) {
	s.metrics.ended(what, start, err)
	if err != nil {
		failed(ctx, err)
		log.Error("request failed", "code", status.Code(err).String(), "error", status.Convert(err).Message(), "duration", time.Since(start))
	}
}

func (s *server) GenerateManifest(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ManifestResponse]) error {
	start := time.Now()
	return s.perform(generate, stream.Context(), stream, func(ctx context.Context, log *slog.Logger, a answer, l *load) error {
		log.Info("request answered", append(slices.Clip(a.Output.Log), "duration", time.Since(start))...)
		for _, r := range a.Output.Remarks {
			log.Log(ctx, r.Level, r.Text)
		}
		return l.send(ctx, stream, a.Output.Manifests)
	})
}

// appName is the variable that names the Application.
const appName = "ARGOCD_APP_NAME"

// perform receives a repository when there is memory for it, answers when there
// is a place for the work, or without, and sends the answer when there is memory
// for that. It keeps to the deadline of the request. The log that send gets names
// the request.
func (s *server) perform(what task, ctx context.Context, from stream, send func(context.Context, *slog.Logger, answer, *load) error) (err error) {
	start := time.Now()
	log := s.cfg.Log
	defer func() {
		err = shortened(err)
		s.end(ctx, what, start, log, err)
	}()
	ctx, cancel := s.limitTime(ctx)
	defer cancel()
	in, repo, err := s.receiveInTime(ctx, from)
	log = s.about(ctx, in)
	if err != nil {
		return err
	}
	l := &load{of: s.sending, dir: in.Dir}
	defer l.release()
	about := subject{what, in.Env[appName], in.Dir}
	var errand *errand
	if s.cfg.Source != nil {
		errand = newErrand(ctx, s.cfg.Source, in.Env, s.fetched)
		defer errand.end()
		in.Fetch, in.part = errand.get, errand.part
		in.digest = func(key string) string { return s.cfg.Source.Digest(ctx, errand.who, key) }
	}
	a, how, err := s.results.get(ctx, about, in, func(in Input) (answer, error) { return s.work(ctx, what, in, l, errand) })
	repo.release()
	if err == nil {
		err = l.take(ctx, a)
	}
	if err != nil {
		if _, known := status.FromError(err); !known {
			err = status.Error(codes.InvalidArgument, err.Error())
		}
		return err
	}
	s.metrics.gave(a.Output)
	tell(ctx, append([]any{"cache", string(how)}, a.Output.Log...)...)
	return send(ctx, log.With("cache", string(how)), a, l)
}

// work runs a task, again as long as it asks for things that are still on their
// way, or has to let others go first: nobody has a place while they are waited for.
func (s *server) work(ctx context.Context, what task, in Input, l *load, e *errand) (answer, error) {
	for slow := false; ; {
		a, err := s.turn(ctx, what, in, l, e, slow)
		var over *ended
		yielded := errors.As(err, &over) && over.cause == Yielded
		slow = slow || yielded
		if !e.waits() {
			if yielded {
				continue
			}
			return a, err
		}
		done := s.begin(ctx, fetching)
		err = e.await(ctx, in.Dir)
		done()
		if err != nil {
			return answer{}, err
		}
	}
}

// turn runs a task once, when there is a place for it, and leaves the place when
// there is memory for the answer. One that is slow has yielded before.
func (s *server) turn(request context.Context, what task, in Input, l *load, e *errand, slow bool) (a answer, err error) {
	waited := s.begin(request, queueing)
	s.metrics.waiting.Inc()
	in.turn, err = s.places.enter(request, in.tenant, slow)
	s.metrics.waiting.Dec()
	waited()
	if err != nil {
		return a, deadline(request, in.Dir, waitingForOthers)
	}
	defer in.turn.leave()
	s.metrics.working.Inc()
	defer s.metrics.working.Dec()
	defer s.begin(request, working)()
	ctx := in.turn.ctx
	a, err = guarded(s.cfg.Log, in.Dir, func() (answer, error) { return s.cfg.Tasks.run(ctx, what, in) })
	if err == nil {
		err = s.checkExpanded(in.Dir, a.Output)
	}
	if err != nil && errors.Is(err, ctx.Err()) {
		err = overtime(ctx, in.Dir)
	}
	if err == nil && !e.waits() {
		err = l.take(request, a)
	}
	return a, err
}

// limitTime ends a request a little before its deadline, so that the reason for
// missing it still arrives.
func (s *server) limitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	now := time.Now()
	theirs, limited := ctx.Deadline()
	end := theirs.Add(-timeToAnswer)
	if own := now.Add(s.cfg.Timeout); s.cfg.Timeout > 0 && (!limited || own.Before(end)) {
		return context.WithDeadlineCause(ctx, own, &overdue{limit: requestTime, allows: s.cfg.Timeout, since: now})
	}
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, end, &overdue{limit: theirTime, allows: theirs.Sub(now), since: now})
}

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

// maxAnswer is how much the manifests of an answer may be. Some are kept for what
// stands around them.
const maxAnswer = maxMessage / 10 * 9

// checkExpanded refuses an answer that would cost Argo CD more memory than it may.
func (s *server) checkExpanded(dir string, out Output) error {
	size := 0
	for _, m := range out.Manifests {
		size += len(m)
	}
	size = max(size, out.Expanded)
	if most := s.cfg.AnswerBytes; most > 0 && size > most {
		return status.Errorf(codes.ResourceExhausted, "%s: the manifests are %d bytes where their aliases are followed, and may be %d (--max-answer-bytes); split the component, or write less by aliases", dir, size, most)
	}
	return nil
}

// checkSize refuses an answer that Argo CD's client would refuse with a message
// about gRPC.
func checkSize(dir string, manifests []string) error {
	size := 0
	for _, m := range manifests {
		size += len(m)
	}
	if size > maxAnswer {
		return status.Errorf(codes.ResourceExhausted, "%s: the manifests are %d MiB, and may be %d, since Argo CD takes no message of more than %d; split the component",
			dir, size>>20, maxAnswer>>20, maxMessage>>20)
	}
	return nil
}
