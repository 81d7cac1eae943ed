package sidecar

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// A request is a span, which continues the repo-server's trace; its stages are
// child spans. They contain the attributes of log lines, but not error messages,
// which may quote content of a component.

// tracing makes a gRPC server trace its calls, except for health checks, which
// probes call constantly. Without a provider there is no overhead for the thousands
// of messages of a repository.
func tracing(to trace.TracerProvider) []grpc.ServerOption {
	if to == nil {
		return nil
	}
	plugin := "/" + wire.ConfigManagementPluginService_ServiceDesc.ServiceName + "/"
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(to),
		otelgrpc.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}), // the format of Argo CD
		otelgrpc.WithFilter(func(call *stats.RPCTagInfo) bool { return strings.HasPrefix(call.FullMethodName, plugin) }),
	))}
}

// tracerOf returns the tracer for stages.
func tracerOf(from trace.TracerProvider) trace.Tracer {
	if from == nil {
		from = noop.NewTracerProvider()
	}
	return from.Tracer("github.com/ladder-cmp/ladder/sidecar")
}

// stages measures the stages of requests, for metrics and traces.
type stages struct {
	tracer  trace.Tracer
	metrics *metrics
}

// begin starts a stage of a request. The returned function ends it.
func (s stages) begin(ctx context.Context, what stage) (end func()) {
	start := time.Now()
	_, span := s.tracer.Start(ctx, string(what))
	return func() {
		span.End()
		s.metrics.observeStage(what, start)
	}
}

// traceFailure records the failure of a request in its span, with a status but
// without the message: messages about a component quote its content, and traces may
// be sent to other systems.
func traceFailure(ctx context.Context, err error) {
	message := "the request failed with " + status.Code(err).String() + "; the log says why"
	if status.Code(err) == grpccodes.InvalidArgument {
		message = "the component is invalid; the log has the details"
	}
	trace.SpanFromContext(ctx).SetStatus(codes.Error, message)
}

// traceResult adds the log attributes of a request to its span.
func traceResult(ctx context.Context, pairs ...any) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		name := attribute.Key(fmt.Sprintf("ladder.%v", pairs[i]))
		switch value := pairs[i+1].(type) {
		case int:
			span.SetAttributes(name.Int(value))
		case bool:
			span.SetAttributes(name.Bool(value))
		default:
			span.SetAttributes(name.String(finding.CutMiddle(fmt.Sprint(value), task.MaxLine)))
		}
	}
}
