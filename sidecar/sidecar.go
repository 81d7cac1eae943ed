// Package sidecar is a plugin server for Argo CD's repo-server.
//
// Argo CD ships one, argocd-cmp-server, that writes each repository to disk and
// starts a process for each request. This one keeps the repository in memory
// and answers in the process. It speaks the same protocol on the same socket,
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
	"syscall"
	"time"

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

// Input is a request: a repository, the directory of the Application in it and
// the Application's environment, with the variables that Argo CD gives to a
// plugin.
type Input struct {
	Repo fs.FS
	Dir  string
	Env  map[string]string
}

// Output is an answer, with what the log says about it.
type Output struct {
	Manifests []string
	// Log holds key and value pairs for the line about the request. Nothing
	// secret may be in it.
	Log []any
	// Remarks are lines of their own behind that one.
	Remarks []Remark
}

// Remark is a line of the log. Nothing secret may be in it, either.
type Remark struct {
	Level slog.Level
	Text  string
}

// Config says how to serve.
type Config struct {
	// Generate renders manifests. It is called by several goroutines.
	Generate func(context.Context, Input) (Output, error)
	// Match says whether there is anything to render.
	Match func(context.Context, Input) (bool, error)
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
	// Drain is how long requests may go on after the end was asked for.
	Drain time.Duration
	Log   *slog.Logger
}

// maxMessage is the largest message that Argo CD's client sends or takes
// (ARGOCD_GRPC_MAX_SIZE_MB, 100 MiB by default).
const maxMessage = 100 << 20

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
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	healthy := health.NewServer()
	healthpb.RegisterHealthServer(srv, healthy)
	wire.RegisterConfigManagementPluginServiceServer(srv, newServer(cfg, func(serving bool) {
		status := healthpb.HealthCheckResponse_SERVING
		if !serving {
			status = healthpb.HealthCheckResponse_NOT_SERVING
		}
		healthy.SetServingStatus("", status)
		healthy.SetServingStatus(wire.ConfigManagementPluginService_ServiceDesc.ServiceName, status)
	}))

	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(lis) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", lis.Addr(), err)
	case <-ctx.Done():
	}
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
		return fmt.Errorf("the plugin server on %s takes no requests: it is about to end, or renderings that do not end hold all it has", path)
	}
	return nil
}

type server struct {
	wire.UnimplementedConfigManagementPluginServiceServer
	cfg      Config
	capacity *capacity
	read     func(io.Reader, Limits) (*tree, error) // unpack, but for tests
}

// newServer tells report whether it can still answer, at first and at each
// change.
func newServer(cfg Config, report func(serving bool)) *server {
	if cfg.Memory > 0 && (cfg.Limits.Bytes == 0 || cfg.Limits.Bytes > cfg.Memory) {
		cfg.Limits.Bytes = cfg.Memory
	}
	return &server{cfg: cfg, capacity: newCapacity(int64(cfg.Parallel), cfg.Memory, cfg.Limits.Bytes, report), read: unpack}
}

func (s *server) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*wire.CheckPluginConfigurationResponse, error) {
	return &wire.CheckPluginConfigurationResponse{IsDiscoveryConfigured: s.cfg.Discovery}, nil
}

func (s *server) MatchRepository(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.RepositoryResponse]) error {
	if !s.cfg.Discovery {
		if err := drain(stream); err != nil {
			return err
		}
		return stream.SendAndClose(&wire.RepositoryResponse{})
	}
	start := time.Now()
	in, matched, err := perform(stream.Context(), s, stream, s.cfg.Match)
	if err != nil {
		s.log(in).Error("request failed", "error", err.Error(), "duration", time.Since(start))
		return err
	}
	return stream.SendAndClose(&wire.RepositoryResponse{IsSupported: matched, IsDiscoveryEnabled: true})
}

func (s *server) GetParametersAnnouncement(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ParametersAnnouncementResponse]) error {
	// The answer is always the same, but the stream must be read.
	if err := drain(stream); err != nil {
		return err
	}
	return stream.SendAndClose(&wire.ParametersAnnouncementResponse{ParameterAnnouncements: s.cfg.Parameters})
}

func (s *server) GenerateManifest(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ManifestResponse]) error {
	start := time.Now()
	in, out, err := perform(stream.Context(), s, stream, s.cfg.Generate)
	if err == nil {
		err = checkSize(out.Manifests)
	}
	if err != nil {
		s.log(in).Error("request failed", "error", err.Error(), "duration", time.Since(start))
		return err
	}
	log := s.log(in)
	log.Info("request answered", append(out.Log, "duration", time.Since(start))...)
	for _, r := range out.Remarks {
		log.Log(stream.Context(), r.Level, r.Text)
	}
	return stream.SendAndClose(&wire.ManifestResponse{Manifests: out.Manifests})
}

// log names a request, as far as it has arrived.
func (s *server) log(in Input) *slog.Logger {
	if in.Repo == nil {
		return s.cfg.Log
	}
	return s.cfg.Log.With("application", in.Env["ARGOCD_APP_NAME"], "component", in.Dir)
}

// perform receives a repository when there is memory for it, works on it when
// there is a place, and keeps to the deadline of the request. Work cannot be
// interrupted: when the time is over the caller is told so, and the work goes
// on for nobody, with all that it holds.
func perform[T any](ctx context.Context, s *server, from stream, work func(context.Context, Input) (T, error)) (in Input, out T, err error) {
	if d, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.Add(-timeToAnswer))
		defer cancel()
	}
	memory, err := s.capacity.memory.take(ctx, s.capacity.reserve)
	if err != nil {
		return in, out, errors.Join(drain(from), deadline(ctx, "waiting for the memory that other repositories take"))
	}
	in, size, err := receive(from, s.unpack)
	if err != nil {
		memory.release()
		return in, out, err
	}
	memory.shrink(size)
	place, err := s.capacity.places.take(ctx, 1)
	if err != nil {
		memory.release()
		return in, out, deadline(ctx, "waiting for other renderings")
	}
	type result struct {
		out T
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := guarded(s.cfg.Log, in.Dir, func() (T, error) { return work(ctx, in) })
		place.release()
		memory.release()
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return in, out, status.Error(codes.InvalidArgument, r.err.Error())
		}
		return in, r.out, nil
	case <-ctx.Done():
		s.capacity.lose(place, memory)
		go func() {
			<-done
			s.capacity.regain(place, memory)
		}()
		return in, out, deadline(ctx, "rendering")
	}
}

func (s *server) unpack(r io.Reader) (*tree, error) {
	return guarded(s.cfg.Log, "the repository", func() (*tree, error) { return s.read(r, s.cfg.Limits) })
}

// guarded keeps a panic in the work of one request from ending all others.
// about says what the work is about, for messages.
func guarded[T any](log *slog.Logger, about string, work func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			log.Error("a request panicked", "about", about, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: internal error: %v; this is a bug of the plugin, its log has the details", about, r)
		}
	}()
	return work()
}

func deadline(ctx context.Context, doing string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.Error(codes.Canceled, "the repo-server gave up the request while the plugin was "+doing)
	}
	return status.Error(codes.DeadlineExceeded, "the repo-server's deadline passed while the plugin was "+doing+
		"; raise controller.repo.server.timeout.seconds, or make the component smaller")
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
