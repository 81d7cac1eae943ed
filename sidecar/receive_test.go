package sidecar

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// messages is a stream that has arrived.
type messages []*wire.AppStreamRequest

func (m *messages) Recv() (*wire.AppStreamRequest, error) {
	if len(*m) == 0 {
		return nil, io.EOF
	}
	next := (*m)[0]
	*m = (*m)[1:]
	return next, nil
}

// TestPanicWhileUnpacking ends one request, whose stream is read to its end all
// the same, and gives back what the request held. It panics as soon as the archive
// needs memory, since it cannot be divided into steps of nothing.
func TestPanicWhileUnpacking(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(Config{Log: slog.New(slog.NewTextHandler(&log, nil)), Memory: 1 << 20, Metrics: prometheus.NewRegistry(),
		Tasks: sidecartest.Tasks{
			Match: func(context.Context, task.Input) (bool, error) {
				t.Error("there was no repository to work on")
				return false, nil
			},
		}})
	known := s.receiver.repositories
	known.step = 0
	archive := sidecartest.PackEntries(sidecartest.File("app/a.yaml", "a: 1"))
	from := &messages{
		{Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Checksum: archive.Checksum}}}}
	for chunk := range slices.Chunk(archive.Tgz, 40) {
		*from = append(*from, &wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: chunk}}})
	}
	err := s.handle(context.Background(), task.Match, from, nil)
	if status.Code(err) != codes.Internal ||
		!strings.Contains(err.Error(), "the repository: internal error: runtime error: integer divide by zero; this is a bug of the plugin") {
		t.Errorf("got %v", err)
	}
	if len(*from) != 0 {
		t.Errorf("%d messages are unread", len(*from))
	}
	if !strings.Contains(log.String(), "stack=") {
		t.Errorf("the log holds no stack:\n%s", log.String())
	}
	if known.used != 0 || len(known.arriving)+len(known.byChecksum) != 0 {
		t.Error("the request still holds memory")
	}
}

// TestDefaults gives a task the variables that the request does not set.
func TestDefaults(t *testing.T) {
	t.Parallel()
	s := newServer(Config{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Defaults: map[string]string{"color": "red", "size": "small"}})
	from := &messages{{Request: &wire.AppStreamRequest_Metadata{
		Metadata: &wire.ManifestRequestMetadata{AppRelPath: "app", Env: []*wire.EnvEntry{{Name: "size", Value: "large"}}}}}}
	got, err := s.receiver.receive(t.Context(), from, false)
	if want := map[string]string{"color": "red", "size": "large"}; err != nil || !maps.Equal(got.input.Env, want) {
		t.Errorf("got %v, %v; want %v", got.input.Env, err, want)
	}
}
