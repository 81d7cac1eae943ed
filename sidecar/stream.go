package sidecar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// stream is the receiving side of the three calls that carry a repository.
type stream interface {
	Recv() (*wire.AppStreamRequest, error)
}

// receive reads a repository to the end of its stream. It must, even after an
// error: when the server answers early, Argo CD's client reports the broken
// stream ("EOF") instead of the answer (util/cmp/stream.go).
//
// The archive is unpacked while it arrives, and thrown away if the checksum
// turns out wrong. Of an archive that is in memory already, by its checksum,
// only the checksum is computed. The caller releases what it gets.
func (s *server) receive(ctx context.Context, from stream) (in Input, repo *held, err error) {
	defer s.begin(ctx, receiving)()
	first, err := from.Recv()
	if err != nil {
		return Input{}, nil, brokenStream(err)
	}
	meta := first.GetMetadata()
	if meta == nil {
		return Input{}, nil, errors.Join(drain(from), status.Error(codes.InvalidArgument, "the stream does not begin with metadata"))
	}
	in = Input{Dir: path.Clean(meta.GetAppRelPath()), Env: map[string]string{}}
	for _, e := range meta.GetEnv() {
		if e != nil && (s.cfg.Variables == nil || s.cfg.Variables(e.GetName())) {
			in.Env[e.GetName()] = e.GetValue()
		}
	}
	if repo, err = s.repository(ctx, from, meta.GetChecksum()); err != nil {
		return in, nil, err
	}
	if !fs.ValidPath(in.Dir) {
		repo.release()
		return in, nil, status.Errorf(codes.InvalidArgument, "the application's path %q leaves the repository", meta.GetAppRelPath())
	}
	in.Repo = repo.tree
	return in, repo, nil
}

// repository is what a stream holds.
func (s *server) repository(ctx context.Context, from stream, checksum string) (*held, error) {
	if known := s.repositories.find(checksum); known != nil {
		nothing := func(io.Reader) (*tree, error) { return nil, nil }
		if _, err := s.unpackStream(from, checksum, nothing); err != nil {
			known.release()
			return nil, err
		}
		s.metrics.known.Inc()
		return known, nil
	}
	if err := s.repositories.await(ctx); err != nil {
		return nil, errors.Join(drain(from), deadline(ctx, "waiting for the memory that other repositories take"))
	}
	t, err := s.unpackStream(from, checksum, func(r io.Reader) (*tree, error) {
		return guarded(s.cfg.Log, "the repository", func() (*tree, error) { return s.read(r, s.cfg.Limits) })
	})
	return s.repositories.arrived(t, checksum), err
}

// unpackStream reads the chunks of the archive.
func (s *server) unpackStream(from stream, checksum string, unpack func(io.Reader) (*tree, error)) (*tree, error) {
	type result struct {
		tree *tree
		err  error
	}
	pr, pw := io.Pipe()
	done := make(chan result, 1)
	go func() {
		t, err := unpack(pr)
		pr.CloseWithError(errUnpacked) // lets the writer go on draining
		done <- result{t, err}
	}()
	hash := sha256.New()
	var broken error
	for broken == nil {
		msg, err := from.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			broken = brokenStream(err)
			break
		}
		if msg.GetFile() == nil {
			broken = errors.Join(drain(from), status.Error(codes.InvalidArgument, "the stream holds a message without a file"))
			break
		}
		chunk := msg.GetFile().GetChunk()
		s.metrics.received.Add(float64(len(chunk)))
		hash.Write(chunk)
		if _, err := pw.Write(chunk); err != nil && !errors.Is(err, errUnpacked) {
			broken = err
		}
	}
	pw.Close()
	unpacked := <-done
	if broken != nil {
		return nil, broken
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != checksum {
		return nil, status.Errorf(codes.DataLoss, "the repository arrived damaged: its checksum is %s, not %s", got, checksum)
	}
	if unpacked.err != nil {
		code := codes.InvalidArgument
		if errors.Is(unpacked.err, errLimit) {
			code = codes.ResourceExhausted
		}
		return nil, status.Error(code, unpacked.err.Error())
	}
	return unpacked.tree, nil
}

var errUnpacked = errors.New("unpacking has ended")

// drain reads a stream to its end.
func drain(s stream) error {
	for {
		if _, err := s.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return brokenStream(err)
		}
	}
}

// brokenStream is what to return when the client is gone or its deadline has
// passed.
func brokenStream(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Unavailable, fmt.Sprintf("the repository did not arrive: %v", err))
}
