package serve

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestTraceSecrets gives the SDK variables with secrets in them that it cannot read,
// about each of which it complains in the log.
func TestTraceSecrets(t *testing.T) {
	const planted = "hunter2"
	for name, vars := range map[string][]string{
		"a header":        {"OTEL_EXPORTER_OTLP_HEADERS=authorization=" + planted + "%ZZ"},
		"no header":       {"OTEL_EXPORTER_OTLP_TRACES_HEADERS=" + planted},
		"a header's name": {"OTEL_EXPORTER_OTLP_HEADERS=a " + planted + "=b"},
		"an endpoint":     {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://user:" + planted + "@host name:x/%ZZ"},
		"a collector": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://user:" + planted + "@127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=10",
			"OTEL_EXPORTER_OTLP_TIMEOUT=50"},
		"a key of ours":      {"OTEL_EXPORTER_OTLP_CLIENT_KEY=/" + planted, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/" + planted},
		"an attribute":       {"OTEL_RESOURCE_ATTRIBUTES=" + planted},
		"a span's attribute": {"OTEL_RESOURCE_ATTRIBUTES=a=b," + planted + "%ZZ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			for _, v := range vars {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			var out bytes.Buffer
			to := newTraces(t.Context(), slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})), "test")
			if to.provider != nil {
				_, span := to.provider.Tracer("test").Start(t.Context(), "a")
				span.End()
			}
			to.flush()
			if text := out.String(); strings.Contains(text, planted) || text == "" {
				t.Errorf("the log says %q, want a complaint without %s", text, planted)
			}
		})
	}
}

// TestTraceProtocol is about the variables that turn traces on and off.
func TestTraceProtocol(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://otel:4318"
	for _, test := range []struct{ vars, want, fault string }{
		{"", "", ""},
		{endpoint, ProtocolHTTP, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://otel:4318/v1/traces", ProtocolHTTP, ""},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "", ""},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", ProtocolGRPC, ""},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf", ProtocolHTTP, ""},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "", `OTEL_EXPORTER_OTLP_PROTOCOL is "http/json"; use grpc or http/protobuf`},
		{endpoint + " OTEL_TRACES_EXPORTER=otlp", ProtocolHTTP, ""},
		{endpoint + " OTEL_TRACES_EXPORTER=none", "", ""},
		{endpoint + " OTEL_TRACES_EXPORTER=zipkin", "", `OTEL_TRACES_EXPORTER is "zipkin"; use otlp or none`},
		{endpoint + " OTEL_SDK_DISABLED=true", "", ""},
		{endpoint + " OTEL_SDK_DISABLED=false", ProtocolHTTP, ""},
	} {
		for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT",
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
			t.Setenv(name, "")
		}
		for _, v := range strings.Fields(test.vars) {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
		}
		if got, fault := traceProtocol(); got != test.want || fault != test.fault {
			t.Errorf("%s: %q, %q, want %q, %q", test.vars, got, fault, test.want, test.fault)
		}
	}
}

// TestWordsOnly logs a library that says the same all the time: rarely, and without
// its attributes.
func TestWordsOnly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(messageHandler{slog.NewTextHandler(&out, nil), &rate.Sometimes{Interval: time.Minute}})
	for range 5 {
		log.Warn("again", "header", "hunter2")
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "again") || strings.Contains(text, "hunter2") {
		t.Errorf("the log says\n%s", text)
	}
}
