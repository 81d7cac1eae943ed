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

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// A request is one span, which continues the repo-server's trace; the stages of
// it are spans below that one. In them stands what the log says of a request,
// and so nothing secret.

// tracing makes a gRPC server trace its calls, but for those about health: a
// probe calls all the time. Without a provider there is no price to pay for
// each of the thousands of messages that bring a repository.
func tracing(to trace.TracerProvider) []grpc.ServerOption {
	if to == nil {
		return nil
	}
	plugin := "/" + wire.ConfigManagementPluginService_ServiceDesc.ServiceName + "/"
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(to),
		otelgrpc.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}), // Argo CD's
		otelgrpc.WithFilter(func(call *stats.RPCTagInfo) bool { return strings.HasPrefix(call.FullMethodName, plugin) }),
	))}
}

// tracerOf makes the spans of stages.
func tracerOf(from trace.TracerProvider) trace.Tracer {
	if from == nil {
		from = noop.NewTracerProvider()
	}
	return from.Tracer("github.com/ladder-cmp/ladder/sidecar")
}

// stages measure the parts of the time that a request takes, for metrics and traces.
type stages struct {
	tracer  trace.Tracer
	metrics *metrics
}

// begin begins a stage of a request. The function that it returns ends it.
func (s stages) begin(ctx context.Context, what stage) (end func()) {
	start := time.Now()
	_, span := s.tracer.Start(ctx, string(what))
	return func() {
		span.End()
		s.metrics.took(what, start)
	}
}

// traceFailure notes in the span of a request that there is no answer, and whose fault
// that is. The reason is for the log and the Application: what is wrong with a
// component is told in words of the component, and traces go far.
func traceFailure(ctx context.Context, err error) {
	message := "the request failed with " + status.Code(err).String() + "; the log says why"
	if status.Code(err) == grpccodes.InvalidArgument {
		message = "the component is invalid; the log has the details"
	}
	trace.SpanFromContext(ctx).SetStatus(codes.Error, message)
}

// traceResult adds what the log says of a request to its span.
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
			span.SetAttributes(name.String(fmt.Sprint(value)))
		}
	}
}
