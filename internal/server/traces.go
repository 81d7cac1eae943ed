package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/roots"
)

// traces is where the traces of a server go, if somewhere.
type traces struct {
	provider trace.TracerProvider // nil if they go nowhere
	protocol string               // for the log
	flush    func()               // before the end
}

// TimeToFlush is how long the last traces may take at the end. With --drain-timeout it
// is less than the 30 seconds that Kubernetes gives by default.
const TimeToFlush = 3 * time.Second

// newTraces reads the variables of OpenTelemetry, all of which the SDK knows but
// those about what is on. As OpenTelemetry wants it, no value of theirs keeps the
// server from starting: the log says what is wrong, and there are no traces.
func newTraces(ctx context.Context, log *slog.Logger, release string) traces {
	none := traces{protocol: "none", flush: func() {}}
	protocol, fault := traceProtocol()
	if fault != "" {
		log.Error("tracing is off", "error", fault)
	}
	if protocol == "" {
		return none
	}
	roots.Trust()
	// An exporter that cannot deliver complains about each batch.
	few := slog.New(&sparse{Handler: log.Handler(), last: &lastLine{}})
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		few.Warn("OpenTelemetry reports a fault; traces may be lost", "error", traceFault(err))
	}))
	otel.SetLogger(logr.FromSlogHandler(wordsOnly{few.Handler()}))

	client := otlptracehttp.NewClient()
	if protocol == ProtocolGRPC {
		client = otlptracegrpc.NewClient()
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		log.Error("tracing is off", "error", fmt.Sprintf("%s; correct the variables OTEL_EXPORTER_OTLP_*", traceFault(err)))
		return none
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "ladder"), attribute.String("service.version", release)),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv())
	if err != nil {
		log.Warn("a part of OTEL_RESOURCE_ATTRIBUTES is left out", "error", "not all of it is key=value with commas between; correct it")
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return traces{provider, protocol, func() {
		ctx, cancel := context.WithTimeout(context.Background(), TimeToFlush)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("the last traces were not delivered", "error", traceFault(err))
		}
	}}
}

// traceFault is what the log says of an error of the SDK: the address of a collector
// without credentials, and no part of a variable.
func traceFault(err error) string {
	text, _, _ := strings.Cut(err.Error(), "missing value:")
	return finding.WithoutCredentials(strings.TrimSpace(text))
}

// traceProtocol is how traces travel, "" if they are not wanted or, as the fault
// says, cannot be had.
func traceProtocol() (protocol, fault string) {
	if off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); off {
		return "", ""
	}
	if firstSet("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		return "", ""
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return "", ""
	default:
		return "", fmt.Sprintf("OTEL_TRACES_EXPORTER is %q; use otlp or none", exporter)
	}
	switch protocol := firstSet("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case ProtocolGRPC, ProtocolHTTP:
		return protocol, ""
	case "":
		return ProtocolHTTP, ""
	default:
		return "", fmt.Sprintf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; use %s or %s", protocol, ProtocolGRPC, ProtocolHTTP)
	}
}

// firstSet is the value of the first variable that has one.
func firstSet(names ...string) string {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// wordsOnly keeps what a library says and drops what it says it of: the SDK logs
// the variables that it cannot read with their values, among them the headers with
// which a collector is to let us in.
type wordsOnly struct{ slog.Handler }

// Handle implements slog.Handler.
func (w wordsOnly) Handle(ctx context.Context, r slog.Record) error {
	bare := slog.NewRecord(r.Time, r.Level, "OpenTelemetry: "+r.Message, r.PC)
	if r.Level >= slog.LevelWarn {
		bare.AddAttrs(slog.String("remedy", "correct the variables OTEL_*"))
	}
	return w.Handler.Handle(ctx, bare)
}

// WithAttrs implements slog.Handler.
func (w wordsOnly) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w wordsOnly) WithGroup(string) slog.Handler { return w }

const (
	ProtocolGRPC = "grpc"
	ProtocolHTTP = "http/protobuf"
)
