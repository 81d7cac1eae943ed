package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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

// paced is a stream that calls stalled when a message does not come in time.
// The time in which nobody reads does not count.
type paced struct {
	stream
	limit time.Duration
	timer *time.Timer
}

func inPace(s stream, limit time.Duration, stalled func()) stream {
	if limit <= 0 {
		return s
	}
	timer := time.AfterFunc(limit, stalled)
	timer.Stop()
	return &paced{s, limit, timer}
}

func (p *paced) Recv() (*wire.AppStreamRequest, error) {
	p.timer.Reset(p.limit)
	defer p.timer.Stop()
	return p.stream.Recv()
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
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	from = inPace(from, s.cfg.Stall, func() { give(errStalled) })
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
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	from = inPace(from, s.cfg.Stall, func() { give(errStalled) })
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
		return s.known(known, from)
	}
	if err := s.repositories.await(ctx); err != nil {
		return nil, drained(from, deadline(ctx, "waiting for the memory that other repositories take"))
	}
	if known := s.repositories.find(checksum); known != nil { // arrived meanwhile
		s.repositories.arrived(nil, checksum)
		return s.known(known, from)
	}
	t, err := s.unpackStream(from, checksum, func(r io.Reader) (*tree, error) {
		return guarded(s.cfg.Log, "the repository", func() (*tree, error) { return s.read(r, s.cfg.Limits) })
	})
	return s.repositories.arrived(t, checksum), err
}

// known makes sure that a stream holds a repository that is there.
func (s *server) known(repo *held, from stream) (*held, error) {
	hash := sha256.New()
	err := s.chunks(from, func(chunk []byte) { hash.Write(chunk) })
	if err == nil {
		err = damaged(hash, repo.checksum)
	}
	if err != nil {
		repo.release()
		return nil, err
	}
	s.metrics.known.Inc()
	return repo, nil
}

// chunks reads a stream to its end.
func (s *server) chunks(from stream, use func([]byte)) error {
	for {
		msg, err := from.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenStream(err)
		}
		if msg.GetFile() == nil {
			return drained(from, status.Error(codes.InvalidArgument, "the stream holds a message without a file"))
		}
		chunk := msg.GetFile().GetChunk()
		s.metrics.received.Add(float64(len(chunk)))
		use(chunk)
	}
}

func damaged(hash hash.Hash, checksum string) error {
	if got := hex.EncodeToString(hash.Sum(nil)); got != checksum {
		return status.Errorf(codes.DataLoss, "the repository arrived damaged: its checksum is %s, not %s", got, checksum)
	}
	return nil
}

// atOnce is the size up to which an archive is unpacked when all of it is there.
// Larger ones are unpacked as they arrive, which costs a change of goroutines
// for each chunk.
const atOnce = 1 << 20

// unpackStream reads the chunks of the archive.
func (s *server) unpackStream(from stream, checksum string, unpack func(io.Reader) (*tree, error)) (*tree, error) {
	var (
		hash    = sha256.New()
		start   []byte
		further *further
	)
	err := s.chunks(from, func(chunk []byte) {
		hash.Write(chunk)
		if further == nil && len(start)+len(chunk) <= atOnce {
			start = append(start, chunk...)
			return
		}
		if further == nil {
			further = goFurther(unpack)
			further.Write(start)
			start = nil
		}
		further.Write(chunk)
	})
	var t *tree
	var fault error
	if further != nil {
		t, fault = further.end()
	}
	if err == nil {
		err = damaged(hash, checksum)
	}
	if err != nil {
		return nil, err
	}
	if further == nil {
		t, fault = unpack(bytes.NewReader(start))
	}
	if fault != nil {
		switch _, known := status.FromError(fault); {
		case known:
			return nil, fault
		case errors.Is(fault, errLimit):
			return nil, status.Error(codes.ResourceExhausted, fault.Error())
		}
		return nil, status.Error(codes.InvalidArgument, fault.Error())
	}
	return t, nil
}

// further unpacks what is written to it, at the same time.
type further struct {
	*bufio.Writer
	pipe *io.PipeWriter
	tree *tree
	err  error
	done chan struct{}
}

func goFurther(unpack func(io.Reader) (*tree, error)) *further {
	pr, pw := io.Pipe()
	f := &further{Writer: bufio.NewWriterSize(pw, 64<<10), pipe: pw, done: make(chan struct{})}
	go func() {
		f.tree, f.err = unpack(pr)
		// What is written behind the end of the archive, or behind a fault, is
		// for nobody.
		pr.CloseWithError(io.ErrClosedPipe)
		close(f.done)
	}()
	return f
}

func (f *further) end() (*tree, error) {
	f.Flush()
	f.pipe.Close()
	<-f.done
	return f.tree, f.err
}

// maxEnvironment bounds the variables of a request, in bytes. An Application as
// a whole has at most 1.5 MB, which is what etcd takes; to this come the API
// versions of the cluster.
const maxEnvironment = 4 << 20

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
