package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// server contains the stages of a request; handle connects them.
type server struct {
	wire.UnimplementedConfigManagementPluginServiceServer
	cfg       Config
	receiver  *receiver  // receive.go: receives the repository
	results   *results   // lookup.go: looks up cached responses
	scheduler *scheduler // schedule.go: assigns slots
	renderer  *renderer  // render.go: runs a task
	sender    *sender    // send.go: sends the response
	fetched   *repositories
	metrics   *metrics
	stages    stages
}

// idleTree is how long an unused repository stays in memory. Requests for the
// Applications of one commit arrive faster than that.
const idleTree = 30 * time.Second

func newServer(cfg Config) *server {
	if cfg.Memory > 0 && (cfg.Limits.Bytes == 0 || cfg.Limits.Bytes > cfg.Memory) {
		cfg.Limits.Bytes, cfg.Limits.BytesFlag = cfg.Memory, "--repository-memory"
	}
	keep := idleTree
	if cfg.Cache == 0 {
		keep = 0
	}
	s := &server{cfg: cfg}
	s.metrics = newMetrics()
	s.stages = stages{tracerOf(cfg.Traces), s.metrics}
	s.receiver = newReceiver(cfg, newRepositories(cfg.Memory, cfg.Limits.Bytes, keep), s.stages)
	s.results = newResults(cfg.Cache, cfg.CacheAge, s.metrics.countCache)
	s.scheduler = newScheduler(cfg.Parallel, cfg.Render, cfg.WorkerMemory)
	s.renderer = &renderer{tasks: cfg.Tasks, log: cfg.Log}
	s.sender = newSender(cfg.Responses)
	s.fetched = newRepositories(cfg.Fetched, maxFetchedBytes, 0)
	s.metrics.register(s, cfg.Metrics)
	return s
}

// request is the state of a request from Argo CD.
type request struct {
	subject
	start    time.Time
	log      *slog.Logger // identifies the request, once known
	input    task.Input
	tenant   tenant
	repo     *heldTree
	fetch    *fetchSession // nil without a Source
	response int64         // memory reserved for the response, by sender
}

func (s *server) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*wire.CheckPluginConfigurationResponse, error) {
	return &wire.CheckPluginConfigurationResponse{IsDiscoveryConfigured: s.cfg.Discovery}, nil
}

func (s *server) GenerateManifest(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ManifestResponse]) error {
	return s.handle(stream.Context(), task.Generate, stream, func(ctx context.Context, req *request, a task.Response) error {
		req.log.Info("request answered", append(slices.Clip(a.Output.Log), "duration", time.Since(req.start))...)
		for _, r := range a.Output.Remarks {
			req.log.Log(ctx, r.Level, r.Text)
		}
		return s.sender.send(ctx, req, stream, a.Output.Manifests)
	})
}

func (s *server) MatchRepository(stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.RepositoryResponse]) error {
	if !s.cfg.Discovery {
		if err := s.discard(stream.Context(), task.Match, stream); err != nil {
			return err
		}
		return stream.SendAndClose(&wire.RepositoryResponse{})
	}
	return s.handle(stream.Context(), task.Match, stream, func(_ context.Context, req *request, a task.Response) error {
		req.log.Debug("request answered", "task", string(task.Match), "matched", a.Matched, "duration", time.Since(req.start))
		return stream.SendAndClose(&wire.RepositoryResponse{IsSupported: a.Matched, IsDiscoveryEnabled: true})
	})
}

func (s *server) GetParametersAnnouncement(
	stream grpc.ClientStreamingServer[wire.AppStreamRequest, wire.ParametersAnnouncementResponse]) error {
	// The response does not depend on the stream, but it must be read.
	if err := s.discard(stream.Context(), task.Parameters, stream); err != nil {
		return err
	}
	return stream.SendAndClose(&wire.ParametersAnnouncementResponse{ParameterAnnouncements: s.cfg.Parameters})
}

// handle processes a request: it receives the repository when there is memory for
// it, looks up the response or renders it when a slot is free, and sends it when
// there is memory for that. The deadline of the request applies to all of it.
func (s *server) handle(ctx context.Context, name task.Name, from stream,
	send func(context.Context, *request, task.Response) error) (err error) {
	req := &request{subject: subject{task: name}, start: time.Now(), log: s.cfg.Log}
	defer func() { err = s.finish(ctx, req, err) }()
	ctx, cancel := limitTime(ctx, s.cfg.Timeout)
	defer cancel()

	got, err := s.receiver.receive(ctx, from, true)
	s.identify(ctx, req, got)
	if err != nil {
		return err
	}
	if s.cfg.Secret != nil {
		req.input.Secret = s.cfg.Secret(req.input.Env)
	}
	if s.cfg.Source != nil {
		req.fetch = newFetchSession(ctx, s.cfg.Source, got.input.Env, s.fetched)
		defer req.fetch.end()
		req.input.Fetch, req.input.FetchPart = req.fetch.get, req.fetch.part
	}
	defer s.sender.release(req)

	a, event, flight, err := s.results.lookUp(ctx, req)
	if flight != nil {
		a, err = s.render(ctx, req)
		flight.land(a, err)
	}
	req.repo.release()
	if err != nil {
		return asStatus(err)
	}
	if err := s.sender.reserve(ctx, req, a); err != nil {
		return err
	}
	s.metrics.observeResponse(a.Output)
	traceResult(ctx, append([]any{"cache", string(event)}, a.Output.Log...)...)
	req.log = req.log.With("cache", string(event))
	return send(ctx, req, a)
}

// render creates a response. It runs the task again if the task requested pending
// content or was preempted. The request has no slot while it waits.
func (s *server) render(ctx context.Context, req *request) (task.Response, error) {
	for wasPreempted := false; ; {
		a, err := s.renderOnce(ctx, req, wasPreempted)
		var ended *task.Ended
		preempted := errors.As(err, &ended) && ended.Cause == task.Preempted
		wasPreempted = wasPreempted || preempted
		if req.fetch.hasPending() {
			done := s.stages.begin(ctx, fetching)
			err = req.fetch.await(ctx, req.dir)
			done()
			if err != nil {
				return task.Response{}, err
			}
		} else if !preempted {
			return a, err
		}
	}
}

// renderOnce runs the task once it has a slot, and releases the slot when there is
// memory for the response. wasPreempted means that the task was preempted before.
func (s *server) renderOnce(ctx context.Context, req *request, wasPreempted bool) (task.Response, error) {
	endStage := s.stages.begin(ctx, queueing)
	s.metrics.waiting.Inc()
	slot, err := s.scheduler.acquire(ctx, req.tenant, wasPreempted)
	s.metrics.waiting.Dec()
	endStage()
	if err != nil {
		return task.Response{}, timeoutError(ctx, req.dir, waitingForOthers)
	}
	defer slot.release()
	s.metrics.working.Inc()
	defer s.metrics.working.Dec()
	defer s.stages.begin(ctx, working)()
	a, err := s.renderer.render(slot, req)
	if err == nil && !req.fetch.hasPending() {
		err = slot.whileKept(ctx, func(ctx context.Context) error { return s.sender.reserve(ctx, req, a) })
	}
	return a, err
}

// discard reads a request whose response does not depend on its repository.
func (s *server) discard(ctx context.Context, name task.Name, from stream) (err error) {
	req := &request{subject: subject{task: name}, start: time.Now(), log: s.cfg.Log}
	defer func() { err = s.finish(ctx, req, err) }()
	ctx, cancel := limitTime(ctx, s.cfg.Timeout)
	defer cancel()
	got, err := s.receiver.receive(ctx, from, false)
	s.identify(ctx, req, got)
	if err == nil {
		req.log.Debug("request answered", "task", string(name), "duration", time.Since(req.start))
	}
	return err
}

// identify records what was received, and adds what is known of the request to its
// log and trace.
func (s *server) identify(ctx context.Context, req *request, got receivedRequest) {
	req.input, req.tenant, req.repo = got.input, got.tenant, got.repo
	req.app, req.dir, req.project = got.input.Env[appName], got.input.Dir, got.tenant.project()
	if req.dir != "" {
		traceResult(ctx, "application", req.app, "component", req.dir)
		req.log = s.cfg.Log.With("application", req.app, "component", req.dir)
	}
}

// finish records the end of a request, and returns the error for its client.
func (s *server) finish(ctx context.Context, req *request, err error) error {
	err = shorten(err)
	s.metrics.observeRequest(req.task, req.start, err)
	if err != nil {
		traceFailure(ctx, err)
		req.log.Error("request failed", "code", status.Code(err).String(), "error", status.Convert(err).Message(),
			"duration", time.Since(req.start))
	}
	return err
}

// asStatus gives the error of a task the gRPC status of an invalid component,
// unless it has its own.
func asStatus(err error) error {
	if _, known := status.FromError(err); known {
		return err
	}
	return status.Error(codes.InvalidArgument, err.Error())
}

// maxFault is the maximum length of an error message in bytes. It is sent in a
// header, and becomes a condition of the Application.
const maxFault = 32 << 10

// shorten truncates a long error message.
func shorten(err error) error {
	s, known := status.FromError(err)
	if !known || len(s.Message()) <= maxFault {
		return err
	}
	return status.Error(s.Code(), finding.CutMiddle(s.Message(), maxFault))
}
