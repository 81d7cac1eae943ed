package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/ladder-cmp/ladder/sidecar/serve"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// spans are what a collector has received.
type spans struct {
	collector.UnimplementedTraceServiceServer
	mu  sync.Mutex
	all []*tracev1.ResourceSpans
}

// Export is the collector over gRPC.
func (s *spans) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, req.GetResourceSpans()...)
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP is the collector over HTTP.
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(body)
	}
	text, err := io.ReadAll(body)
	var req collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &req)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	s.Export(r.Context(), &req)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// named returns the spans with a name and a parent, if one is given.
func (s *spans) named(name string, parent []byte) []*tracev1.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*tracev1.Span
	for _, r := range s.all {
		for _, scope := range r.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				if span.GetName() == name && (parent == nil || bytes.Equal(span.GetParentSpanId(), parent)) {
					found = append(found, span)
				}
			}
		}
	}
	return found
}

// attributesOf are the attributes whose names begin like that, as texts.
func attributesOf(all []*common.KeyValue, prefix string) map[string]string {
	texts := map[string]string{}
	for _, a := range all {
		if name, ok := strings.CutPrefix(a.GetKey(), prefix); ok {
			text := a.GetValue().GetStringValue()
			if _, number := a.GetValue().GetValue().(*common.AnyValue_IntValue); number {
				text = "a number"
			}
			texts[name] = text
		}
	}
	return texts
}

// stop ends the program as Kubernetes does, and waits for it.
func (s *served) stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.ended
}

// collect starts the collector, and returns its address.
func (s *spans) collect(t *testing.T, protocol string) (endpoint string) {
	t.Helper()
	if protocol == serve.ProtocolHTTP {
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		return srv.URL
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	collector.RegisterTraceServiceServer(srv, s)
	go srv.Serve(lis)
	t.Cleanup(srv.Stop)
	return "http://" + lis.Addr().String()
}

// The trace of the repo-server, and a secret that must not be in it.
const traceID, parentID, tracedSecret = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "correct-horse-battery"

// askTraced asks for manifests three times, at last for those of a broken component, and
// probes the server.
func askTraced(t *testing.T, s *served) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+traceID+"-"+parentID+"-01")
	archive := sidecartest.PackEntries(
		sidecartest.File("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n"),
		sidecartest.File("app/templates/secret.yaml",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: {{ .Values.password }}}\n"),
		sidecartest.File("broken/Chart.yaml", "apiVersion: v2\nname: broken\nversion: 1.0.0\n"),
		sidecartest.File("broken/templates/map.yaml", "kind: ConfigMap\nmetadata: {name: a}\n"))
	ask := func(dir string) error {
		out, err := s.GenerateManifest(ctx, sidecartest.Request{Archive: archive, Dir: dir, Env: map[string]string{
			"ARGOCD_APP_NAME": "of-" + dir, "ARGOCD_ENV_LADDER_SET": "password=" + tracedSecret}})
		if err == nil && !strings.Contains(strings.Join(out, ""), tracedSecret) {
			t.Errorf("no secret, which is what this test is about, in %q", out)
		}
		return err
	}
	for _, dir := range []string{"app", "app", "broken"} {
		if err := ask(dir); (err != nil) != (dir == "broken") {
			t.Fatalf("%s: %v", dir, err)
		}
	}
	if _, err := healthpb.NewHealthClient(s.Conn()).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
}

// tracedCall is what the trace says about a request.
type tracedCall struct {
	attributes map[string]string
	stages     []string
	status     tracev1.Status_StatusCode
	message    string
}

// tracedCalls are those of askTraced.
var tracedCalls = []tracedCall{
	{map[string]string{"application": "of-app", "component": "app", "cache": "miss", "renderer": "helm", "objects": "a number",
		"waves": "a number", "findings": "a number"},
		[]string{"receive", "wait", "work"}, tracev1.Status_STATUS_CODE_UNSET, ""},
	{map[string]string{"application": "of-app", "component": "app", "cache": "hit", "renderer": "helm", "objects": "a number",
		"waves": "a number", "findings": "a number"},
		[]string{"receive"}, tracev1.Status_STATUS_CODE_UNSET, ""},
	{map[string]string{"application": "of-broken", "component": "broken"},
		[]string{"receive", "wait", "work"}, tracev1.Status_STATUS_CODE_ERROR, "the component is invalid; the log has the details"},
}

// check compares the span of request i, and those below it.
func (c tracedCall) check(t *testing.T, i int, call *tracev1.Span, s *spans) {
	t.Helper()
	if hex.EncodeToString(call.GetTraceId()) != traceID || hex.EncodeToString(call.GetParentSpanId()) != parentID {
		t.Errorf("request %d: trace %x below %x, want the repo-server's", i, call.GetTraceId(), call.GetParentSpanId())
	}
	if diff := gocmp.Diff(c.attributes, attributesOf(call.GetAttributes(), "ladder.")); diff != "" {
		t.Errorf("request %d: attributes (-want +got):\n%s", i, diff)
	}
	var stages []string
	for _, name := range []string{"receive", "wait", "work"} {
		for range s.named(name, call.GetSpanId()) {
			stages = append(stages, name)
		}
	}
	if !slices.Equal(stages, c.stages) {
		t.Errorf("request %d: stages %v, want %v", i, stages, c.stages)
	}
	if call.GetStatus().GetCode() != c.status || call.GetStatus().GetMessage() != c.message {
		t.Errorf("request %d: status %v, want %v with %q", i, call.GetStatus(), c.status, c.message)
	}
}

// TestTraces asks as a repo-server that traces, and looks at what arrives in a
// collector by the end of the server.
func TestTraces(t *testing.T) {
	for _, protocol := range []string{serve.ProtocolGRPC, serve.ProtocolHTTP} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			var got spans
			s := startServe(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+got.collect(t, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol)
			askTraced(t, s)
			s.stop()

			if all := got.named("grpc.health.v1.Health/Check", nil); len(all) > 0 {
				t.Errorf("a probe is traced: %v", all)
			}
			calls := got.named("plugin.ConfigManagementPluginService/GenerateManifest", nil)
			slices.SortFunc(calls, func(a, b *tracev1.Span) int {
				return int(int64(a.GetStartTimeUnixNano()) - int64(b.GetStartTimeUnixNano()))
			})
			if len(calls) != 3 {
				t.Fatalf("%d spans of requests in %v", len(calls), got.all)
			}
			for i, want := range tracedCalls {
				want.check(t, i, calls[i], &got)
			}
			for _, r := range got.all {
				if of := attributesOf(r.GetResource().GetAttributes(), "service."); of["name"] != "ladder" || of["version"] == "" {
					t.Errorf("the spans are of service %v", of)
				}
				if text := r.String(); strings.Contains(text, tracedSecret) {
					t.Errorf("a secret is in the traces: %s", text)
				}
			}
		})
	}
}

// TestNoCollector has a server send traces where nobody listens: requests and the
// end go on as ever, and the log does not fill with it.
func TestNoCollector(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := lis.Addr().String()
	lis.Close()
	for _, protocol := range []string{serve.ProtocolGRPC, serve.ProtocolHTTP} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			// A batch for each span, and little patience.
			s := startServe(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+nobody, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol,
				"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_EXPORT_TIMEOUT=50", "OTEL_EXPORTER_OTLP_TIMEOUT=50")
			archive := sidecartest.PackEntries(sidecartest.File("app/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
			for range 20 {
				if _, err := s.GenerateManifest(t.Context(), sidecartest.Request{Archive: archive, Dir: "app"}); err != nil {
					t.Fatal(err)
				}
				<-time.After(20 * time.Millisecond) // too short only makes the test easier
			}
			s.await(t, "OpenTelemetry reports a fault; traces may be lost")
			s.stop()
			for _, line := range s.lines { // behind the one awaited
				if line["msg"] == "OpenTelemetry reports a fault; traces may be lost" {
					t.Errorf("the log says it again: %v", line)
				}
			}
		})
	}
}
