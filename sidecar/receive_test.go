package sidecar

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/wire"

	"github.com/ladder-cmp/ladder/sidecar/repository"

	"github.com/ladder-cmp/ladder/sidecar/task"
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
// the same, and gives back what the request held.
func TestPanicWhileUnpacking(t *testing.T) {
	var log bytes.Buffer
	s := newServer(Config{Log: slog.New(slog.NewTextHandler(&log, nil)), Memory: 1 << 20, Metrics: prometheus.NewRegistry(), Tasks: task.Tasks{
		Match: func(context.Context, task.Input) (bool, error) {
			t.Error("there was no repository to work on")
			return false, nil
		},
	}})
	s.receiver.unpack = func(io.Reader, repository.Limits, func(int64) error) (*repository.Tree, error) {
		panic("index out of range")
	}
	from := &messages{{Request: &wire.AppStreamRequest_Metadata{Metadata: &wire.ManifestRequestMetadata{
		AppRelPath: "app", Checksum: "edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb"}}}} // of "abc\n"
	for _, chunk := range []string{"a", "b", "c\n"} {
		*from = append(*from, &wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: []byte(chunk)}}})
	}
	err := s.handle(context.Background(), task.Match, from, nil)
	if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "the repository: internal error: index out of range; this is a bug of the plugin") {
		t.Errorf("got %v", err)
	}
	if len(*from) != 0 {
		t.Errorf("%d messages are unread", len(*from))
	}
	if !strings.Contains(log.String(), "stack=") {
		t.Errorf("the log holds no stack:\n%s", log.String())
	}
	if s.receiver.repositories.used != 0 {
		t.Error("the request still holds memory")
	}
}
