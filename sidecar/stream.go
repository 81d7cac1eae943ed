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
	"time"

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
		return Input{}, nil, drained(from, status.Error(codes.InvalidArgument, "the stream does not begin with metadata"))
	}
	in = Input{Dir: path.Clean(meta.GetAppRelPath()), Env: map[string]string{}}
	size := 0
	for _, e := range meta.GetEnv() {
		if e != nil && (s.cfg.Variables == nil || s.cfg.Variables(e.GetName())) {
			in.Env[e.GetName()] = e.GetValue()
			size += len(e.GetName()) + len(e.GetValue())
		}
	}
	if size > maxEnvironment {
		in.Env = nil
		return in, nil, drained(from, status.Errorf(codes.ResourceExhausted,
			"the Application's variables and parameters are %d bytes, and at most %d are taken; move them into files of values", size, maxEnvironment))
	}
	if len(in.Dir) > maxName {
		in.Dir = in.Dir[:40] + "..."
		return in, nil, drained(from, status.Errorf(codes.InvalidArgument, "the application's path has %d bytes, and at most %d are taken", len(meta.GetAppRelPath()), maxName))
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

// receiveInTime is receive, but no longer than ctx: a client may send slowly, or
// stop to send and stay. Returning from the call ends the stream, and so what
// still reads it.
func (s *server) receiveInTime(ctx context.Context, from stream) (Input, *held, error) {
	type arrival struct {
		in   Input
		repo *held
		err  error
	}
	arrived := make(chan arrival, 1)
	go func() {
		in, repo, err := s.receive(ctx, from)
		arrived <- arrival{in, repo, err}
	}()
	select {
	case a := <-arrived:
		return a.in, a.repo, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-arrived: // has noticed, and knows what it was waiting for
		return a.in, a.repo, a.err
	case <-time.After(timeToAnswer / 2):
	}
	go func() {
		if a := <-arrived; a.repo != nil {
			a.repo.release()
		}
	}()
	return Input{}, nil, deadline(ctx, "receiving the repository")
}

// drainInTime is drain, but no longer than a request may take.
func (s *server) drainInTime(ctx context.Context, from stream) error {
	ctx, cancel := s.limitTime(ctx)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- drain(from) }()
	select {
	case err := <-drained:
		return err
	case <-ctx.Done():
		return deadline(ctx, "receiving the repository")
	}
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
		return nil, drained(from, deadline(ctx, "waiting for the memory that other repositories take"))
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
			broken = drained(from, status.Error(codes.InvalidArgument, "the stream holds a message without a file"))
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

// maxEnvironment bounds the variables of a request, in bytes. An Application as
// a whole has at most 1.5 MB, which is what etcd takes; to this come the API
// versions of the cluster.
const maxEnvironment = 4 << 20

var errUnpacked = errors.New("unpacking has ended")

// drained reads a stream to its end and returns the error that was found
// before, unless the client does not wait for it.
func drained(s stream, found error) error {
	if err := drain(s); err != nil {
		return err
	}
	return found
}

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
