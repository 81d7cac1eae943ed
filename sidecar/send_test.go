package sidecar_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// TestAnswersOnTheirWay asks often for a large response and does not read it. So
// many are on their way as there is memory for, and the others wait; who leaves
// makes room, and small responses go past.
func TestAnswersOnTheirWay(t *testing.T) {
	const size = 4 << 20
	registry := prometheus.NewRegistry()
	h := start(t, func(c *sidecar.Config) {
		c.Metrics, c.Cache, c.Responses = registry, 1<<30, 5*size // two, each with its message
		c.Tasks = sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
			if in.Dir == "small" {
				return task.Output{Manifests: []string{"ok"}}, nil
			}
			return task.Output{Manifests: []string{strings.Repeat("x", size)}}, nil
		}}
	})
	// The window keeps gRPC from reading for a client that does not.
	ask := func(ctx context.Context) grpc.ClientStreamingClient[wire.AppStreamRequest, wire.ManifestResponse] {
		t.Helper()
		conn, err := grpc.NewClient("unix:"+h.socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*size)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		stream, err := wire.NewConfigManagementPluginServiceClient(conn).GenerateManifest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		stream.Send(&wire.AppStreamRequest{
			Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: good().Checksum}}})
		stream.Send(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: good().Tgz}}})
		stream.CloseSend()
		return stream
	}
	state := func(sending, waiting float64) func() bool {
		return func() bool {
			got := metric(t, registry, "ladder_answers_sending_bytes")
			if got > 5*size {
				t.Fatalf("%v bytes are on their way", got)
			}
			return got == sending*2*size && metric(t, registry, "ladder_answers_waiting") == waiting
		}
	}
	leaving, leave := context.WithCancel(t.Context())
	ask(leaving)
	eventually(t, "one is on its way", state(1, 0))
	first := ask(t.Context())
	eventually(t, "two are on their way", state(2, 0))
	others := []grpc.ClientStreamingClient[wire.AppStreamRequest, wire.ManifestResponse]{ask(t.Context()), ask(t.Context()), ask(t.Context())}
	eventually(t, "the others wait", state(2, 3))
	late, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := h.GenerateManifest(late, sidecartest.Request{Archive: good(), Dir: "app"})
	wants(t, err, codes.DeadlineExceeded,
		"app: the plugin is busy: the repo-server's deadline passed while the plugin was waiting for memory that other responses use")
	if _, err := h.GenerateManifest(t.Context(), sidecartest.Request{Archive: good(), Dir: "small"}); err != nil {
		t.Errorf("a small one: %v", err)
	}
	leave()
	eventually(t, "another goes in place of who left", state(2, 2))
	answered := make(chan error)
	for _, stream := range append(others, first) {
		go func() { answered <- stream.RecvMsg(new(wire.ManifestResponse)) }()
	}
	for range len(others) + 1 {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	eventually(t, "all are gone", state(0, 0))
}

// TestSlotsDoNotWaitForAnswers: renderings of a project whose responses wait for memory, because
// nobody reads them, leave the slots to other projects, however many they are.
func TestSlotsDoNotWaitForAnswers(t *testing.T) {
	const size = 1 << 20
	registry := prometheus.NewRegistry()
	h := start(t, func(c *sidecar.Config) {
		c.Responses, c.Parallel, c.Metrics = 3*size, 2, registry
		c.Tasks = sidecartest.Tasks{Generate: func(_ context.Context, in task.Input) (task.Output, error) {
			if in.Env["ARGOCD_APP_PROJECT_NAME"] == "good" {
				return task.Output{Manifests: []string{"ok"}}, nil
			}
			return task.Output{Manifests: []string{strings.Repeat("x", size)}}, nil
		}}
	})
	conn, err := grpc.NewClient("unix:"+h.socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range 16 {
		stream, err := wire.NewConfigManagementPluginServiceClient(conn).GenerateManifest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		env := []*wire.EnvEntry{{Name: "ARGOCD_APP_PROJECT_NAME", Value: "evil"}, {Name: "ARGOCD_APP_NAME", Value: strings.Repeat("a", i+1)}}
		stream.Send(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_Metadata{
			Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: good().Checksum, Env: env}}})
		stream.Send(&wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: good().Tgz}}})
		stream.CloseSend()
	}
	eventually(t, "they fill the slots and the background", func() bool {
		return metric(t, registry, "ladder_renderings_aside") == 8 && metric(t, registry, "ladder_requests_working") == 10
	})
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := h.GenerateManifest(ctx, sidecartest.Request{Archive: good(), Dir: "app",
			Env: map[string]string{"ARGOCD_APP_PROJECT_NAME": "good", "ARGOCD_APP_NAME": strings.Repeat("g", i+1)}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
}
