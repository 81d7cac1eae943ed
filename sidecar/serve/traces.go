package serve

import (
	"cmp"
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
	"golang.org/x/time/rate"

	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// traces is the trace export of a server.
type traces struct {
	provider trace.TracerProvider // nil if disabled
	protocol string               // for the log
	flush    func()               // at shutdown
}

// TimeToFlush limits the export of the last traces at shutdown. Together with
// --drain-timeout it is less than Kubernetes' default of 30 seconds.
const TimeToFlush = 3 * time.Second

// newTraces reads OpenTelemetry's environment variables, which the SDK supports
// except for those that enable it. As OpenTelemetry requires, invalid values do not
// prevent the server from starting: they are logged, and traces are disabled.
func newTraces(ctx context.Context, log *slog.Logger, release string) traces {
	none := traces{protocol: "none", flush: func() {}}
	protocol, fault := traceProtocol()
	if fault != "" {
		log.Error("tracing is off", "error", fault)
	}
	if protocol == "" {
		return none
	}
	fetch.TrustPublicRoots()
	// An exporter that cannot deliver logs each batch.
	few := &rate.Sometimes{Interval: time.Minute}
	otel.SetErrorHandler(errorHandler{log, few})
	otel.SetLogger(logr.FromSlogHandler(messageHandler{log.Handler(), few}))

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
		log.Warn("a part of OTEL_RESOURCE_ATTRIBUTES is left out", "error",
			"it is not a comma-separated list of key=value; fix: correct OTEL_RESOURCE_ATTRIBUTES")
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

// traceFault formats an error of the SDK for the log: with the collector's URL
// without credentials, and without values of variables.
func traceFault(err error) string {
	text, _, _ := strings.Cut(err.Error(), "missing value:")
	return finding.WithoutCredentials(strings.TrimSpace(text))
}

// traceProtocol returns the protocol of traces, "" if they are disabled or,
// according to fault, not supported.
func traceProtocol() (protocol, fault string) {
	if off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); off {
		return "", ""
	}
	if cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) == "" {
		return "", ""
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return "", ""
	default:
		return "", fmt.Sprintf("OTEL_TRACES_EXPORTER is %q; use otlp or none", exporter)
	}
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")); protocol {
	case ProtocolGRPC, ProtocolHTTP:
		return protocol, ""
	case "":
		return ProtocolHTTP, ""
	default:
		return "", fmt.Sprintf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; use %s or %s", protocol, ProtocolGRPC, ProtocolHTTP)
	}
}

// errorHandler logs the errors of the SDK, but few of them.
type errorHandler struct {
	log *slog.Logger
	few *rate.Sometimes
}

// Handle implements otel.ErrorHandler.
func (h errorHandler) Handle(err error) {
	h.few.Do(func() { h.log.Warn("OpenTelemetry reports a fault; traces may be lost", "error", traceFault(err)) })
}

// messageHandler logs only the messages of a library, without attributes: the SDK logs
// invalid variables with their values, including headers with credentials.
type messageHandler struct {
	slog.Handler
	few *rate.Sometimes
}

// Handle implements slog.Handler.
func (w messageHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	bare := slog.NewRecord(r.Time, r.Level, "OpenTelemetry: "+r.Message, r.PC)
	if r.Level >= slog.LevelWarn {
		bare.AddAttrs(slog.String("remedy", "correct the variables OTEL_*"))
	}
	w.few.Do(func() { err = w.Handler.Handle(ctx, bare) })
	return err
}

// WithAttrs implements slog.Handler.
func (w messageHandler) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w messageHandler) WithGroup(string) slog.Handler { return w }

const (
	ProtocolGRPC = "grpc"
	ProtocolHTTP = "http/protobuf"
)
