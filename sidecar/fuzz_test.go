package sidecar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// script is a stream that a client might send: each byte says what comes next.
type script struct {
	moves   []byte
	archive []byte
	ended   bool // the end, or a fault of the stream, was read
	// leave is called before the move of that number.
	leave func()
	at    int
}

var errGone = status.Error(codes.Canceled, "the client is gone")

func (s *script) Recv() (*wire.AppStreamRequest, error) {
	if s.at--; s.at < 0 && s.leave != nil {
		s.leave()
		s.leave = nil
	}
	if len(s.moves) == 0 {
		s.ended = true
		return nil, io.EOF
	}
	move := s.moves[0]
	s.moves = s.moves[1:]
	chunk := func(c []byte) (*wire.AppStreamRequest, error) {
		return &wire.AppStreamRequest{Request: &wire.AppStreamRequest_File{File: &wire.File{Chunk: c}}}, nil
	}
	switch move % 8 {
	case 0, 1:
		sum := sha256.Sum256(s.archive)
		meta := &wire.ManifestRequestMetadata{
			AppRelPath: []string{".", "app", "../x", "/x", "a\x00", "\xff", strings.Repeat("a/", 3000)}[int(move/8)%7],
			Checksum:   hex.EncodeToString(sum[:]), Env: []*wire.EnvEntry{nil, {Name: "A", Value: "b"}}}
		if move%8 == 1 {
			meta.Checksum = "wrong"
		}
		return &wire.AppStreamRequest{Request: &wire.AppStreamRequest_Metadata{Metadata: meta}}, nil
	case 2:
		return &wire.AppStreamRequest{}, nil
	case 3:
		s.ended = true
		return nil, errGone
	case 4:
		return chunk(nil)
	case 5:
		rest := s.archive
		s.archive = nil
		return chunk(rest)
	}
	n := min(int(move), len(s.archive))
	part := s.archive[:n]
	s.archive = s.archive[n:]
	return chunk(part)
}

// FuzzReceive sends streams of any order and content. Whatever comes, the stream
// is read to its end, an error is one for the client, and no memory stays taken.
func FuzzReceive(f *testing.F) {
	var good bytes.Buffer
	z := gzip.NewWriter(&good)
	w := tar.NewWriter(z)
	w.WriteHeader(&tar.Header{Name: "app/a.yaml", Typeflag: tar.TypeReg, Size: 3, Mode: 0o644})
	w.Write([]byte("a: "))
	w.Close()
	z.Close()
	for _, moves := range []string{"\x08\x05", "\x08\x0e\x16\x1e\x05", "\x01\x05", "\x05", "\x08\x02\x05", "\x08\x0e\x03", "\x10\x05",
		"\x18\x05", "\x30\x05", "", "\x08\x08\x05"} {
		f.Add([]byte(moves), good.Bytes())
		f.Add([]byte(moves), good.Bytes()[:good.Len()/2])
	}
	f.Add([]byte("\x08\x05\x07"), good.Bytes())
	limits := repository.Limits{Bytes: 1 << 19, Files: 100, Depth: 10, Ratio: 100}
	s := newServer(Config{Memory: 1 << 20, Limits: limits, Log: slog.New(slog.DiscardHandler), Cache: 1 << 20, Stall: time.Hour,
		Metrics: prometheus.NewRegistry()})
	s.receiver.repositories.keep = time.Hour // until it is forgotten
	f.Fuzz(func(t *testing.T, moves, archive []byte) {
		// The second time it may be there already.
		arrived := 0
		for range 2 {
			known := testutil.ToFloat64(s.metrics.known)
			from := &script{moves: moves, archive: archive}
			got, err := s.receiver.receive(context.Background(), from, true)
			if !from.ended {
				t.Error("the stream was not read to its end")
			}
			if (err == nil) == (got.repo == nil) {
				t.Errorf("a repository %v beside the error %v", got.repo, err)
			}
			if _, known := status.FromError(err); !known && !errors.Is(err, io.EOF) {
				t.Errorf("no error for a client: %v", err)
			}
			if got.repo != nil {
				if !fs.ValidPath(got.input.Dir) {
					t.Errorf("the path %q was let through", got.input.Dir)
				}
				if again := testutil.ToFloat64(s.metrics.known) > known; again != (arrived > 0) {
					t.Errorf("it was known: %v, after it had come %d times", again, arrived)
				}
				arrived++
				got.repo.release()
			}
		}
		// And a third time the request ends at one of the moves.
		ctx, cancel := context.WithCancel(context.Background())
		from := &script{moves: moves, archive: archive, leave: cancel, at: len(archive) % (len(moves) + 1)}
		if got, _ := s.receiver.receive(ctx, from, true); got.repo != nil {
			got.repo.release()
		}
		cancel()
		for end := time.Now().Add(5 * time.Minute); s.empty() != 0; <-time.After(time.Millisecond) {
			if time.Now().After(end) { // it hangs
				t.Fatalf("%d bytes stay taken", s.empty())
			}
		}
	})
}

// empty forgets the repositories that nobody uses, and returns what is left.
func (s *server) empty() int64 {
	r := s.receiver.repositories
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.idle) > 0 {
		r.drop(r.idle[0])
	}
	return r.used + int64(len(r.byChecksum)+len(r.arriving)+len(r.waiting)+len(r.growing))
}
