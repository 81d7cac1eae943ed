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
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// stream is the receiving side of the three calls that carry a repository.
type stream interface {
	Recv() (*wire.AppStreamRequest, error)
}

// paced is a stream that calls stalled when a message does not come in time and
// that is in somebody's way, with the time since when it is waited for. The time
// in which nobody reads does not count.
type paced struct {
	stream
	limit      time.Duration
	isInTheWay func() bool
	stalled    func(since time.Time)
	timer      *time.Timer

	mu    sync.Mutex
	since time.Time // when somebody began to read; zero if nobody reads
}

func inPace(s stream, limit time.Duration, isInTheWay func() bool, stalled func(since time.Time)) stream {
	if limit <= 0 {
		return s
	}
	p := &paced{stream: s, limit: limit, isInTheWay: isInTheWay, stalled: stalled}
	p.timer = time.AfterFunc(limit, p.look)
	p.timer.Stop()
	return p
}

func (p *paced) Recv() (*wire.AppStreamRequest, error) {
	p.reads(time.Now())
	defer p.reads(time.Time{})
	return p.stream.Recv()
}

func (p *paced) reads(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since = since; since.IsZero() {
		p.timer.Stop()
	} else {
		p.timer.Reset(p.limit)
	}
}

// look looks whether a message is late, and again as long as nobody minds.
func (p *paced) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.since.IsZero() || time.Since(p.since) < p.limit: // one came meanwhile
	case p.isInTheWay():
		p.stalled(p.since)
	default:
		p.timer.Reset(p.limit / 4)
	}
}

// progress is how far a request has come whose repository arrives. Another
// goroutine than the one that receives may have to say so.
type progress struct {
	mu    sync.Mutex
	app   string
	dir   string
	doing activity
	bytes int64 // of the repository
}

func (p *progress) set(change func(*progress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// is notes what is done from now on.
func (p *progress) is(doing activity) { p.set(func(p *progress) { p.doing = doing }) }

// fault is why a request is over whose context has ended.
func (p *progress) fault(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return deadline(ctx, p.dir, p.doing)
}

// input is what is known of the request.
func (p *progress) input() Input {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Input{Dir: p.dir, Env: map[string]string{appName: p.app}}
}

// metadata reads the first message.
func (s *server) metadata(from stream, p *progress) (in Input, meta *wire.ManifestRequestMetadata, err error) {
	first, err := from.Recv()
	if err != nil {
		return in, nil, brokenStream(err)
	}
	meta = first.GetMetadata()
	if meta == nil {
		return in, nil, drained(from, status.Error(codes.InvalidArgument, "the stream does not begin with metadata"))
	}
	in = Input{Dir: path.Clean(meta.GetAppRelPath()), Env: map[string]string{}}
	size := 0
	for _, e := range meta.GetEnv() {
		if depth := slices.Index(tenantVariables[:], e.GetName()); depth >= 0 {
			in.tenant[depth] = e.GetValue()
		}
		if e != nil && (s.cfg.Variables == nil || s.cfg.Variables(e.GetName())) {
			in.Env[e.GetName()] = e.GetValue()
			size += len(e.GetName()) + len(e.GetValue())
		}
	}
	long := len(in.Dir) > maxName
	if long {
		in.Dir = in.Dir[:40] + "..."
	}
	p.set(func(p *progress) { p.app, p.dir = in.Env[appName], in.Dir })
	if size > maxEnvironment {
		in.Env = map[string]string{appName: in.Env[appName]}
		return in, nil, drained(from, status.Errorf(codes.ResourceExhausted,
			"%s: the Application's variables and parameters are %d bytes, and at most %d are taken; move them into files of values", in.Dir, size, maxEnvironment))
	}
	if long {
		return in, nil, drained(from, status.Errorf(codes.InvalidArgument, "the application's path has %d bytes, and at most %d are taken", len(meta.GetAppRelPath()), maxName))
	}
	return in, meta, nil
}

// receive reads a repository to the end of its stream. It must, even after an
// error: when the server answers early, Argo CD's client reports the broken
// stream ("EOF") instead of the answer (util/cmp/stream.go).
//
// The archive is unpacked while it arrives, and thrown away if the checksum
// turns out wrong. Of an archive that is in memory already, by its checksum,
// only the checksum is computed. The caller releases what it gets.
func (s *server) receive(ctx context.Context, from stream, p *progress) (in Input, repo *held, err error) {
	defer s.begin(ctx, receiving)()
	in, meta, err := s.metadata(from, p)
	if err != nil {
		return in, nil, err
	}
	if repo, err = s.repository(ctx, from, meta.GetChecksum(), p); err != nil {
		return in, nil, err
	}
	if !fs.ValidPath(in.Dir) {
		repo.release()
		return in, nil, status.Errorf(codes.InvalidArgument, "the application's path %q leaves the repository", meta.GetAppRelPath())
	}
	in.Repo = repo.tree
	return in, repo, nil
}

// inTime has something received, but no longer than ctx: a client may send
// slowly, or stop to send and stay. Returning from the call ends the stream, and
// so what still reads it, whose outcome is given to late.
func inTime[T any](ctx context.Context, s *server, from stream, p *progress, receive func(context.Context, stream) T, late func(T)) (out T, err error) {
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	p.is(receivingIt)
	inTheWay := func() bool {
		p.mu.Lock()
		begun := p.bytes > 0
		p.mu.Unlock()
		return begun && s.repositories.wanted()
	}
	from = inPace(from, s.cfg.Stall, inTheWay, func(since time.Time) {
		p.mu.Lock()
		defer p.mu.Unlock()
		give(&overdue{limit: stallTime, allows: s.cfg.Stall, since: since, bytes: p.bytes})
	})
	arrived := make(chan T, 1)
	go func() { arrived <- receive(ctx, from) }()
	select {
	case out := <-arrived:
		return out, nil
	case <-ctx.Done():
	}
	err = p.fault(ctx)
	select {
	case out := <-arrived: // has noticed
		return out, nil
	case <-time.After(timeToAnswer / 2):
	}
	go func() { late(<-arrived) }()
	return out, err
}

// receiveInTime is receive, but no longer than ctx.
func (s *server) receiveInTime(ctx context.Context, from stream) (Input, *held, error) {
	type arrived struct {
		in   Input
		repo *held
		err  error
	}
	var p progress
	a, err := inTime(ctx, s, from, &p, func(ctx context.Context, from stream) (a arrived) {
		a.in, a.repo, a.err = s.receive(ctx, from, &p)
		return a
	}, func(a arrived) {
		if a.repo != nil {
			a.repo.release()
		}
	})
	if err != nil {
		return p.input(), nil, err
	}
	return a.in, a.repo, a.err
}

// heedInTime reads a stream whose repository is of no interest, no longer than a
// request may take.
func (s *server) heedInTime(ctx context.Context, from stream) (Input, error) {
	var p progress
	fault, err := inTime(ctx, s, from, &p, func(_ context.Context, from stream) error {
		if _, _, err := s.metadata(from, &p); err != nil {
			return err
		}
		return drain(from)
	}, func(error) {})
	if err == nil {
		err = fault
	}
	return p.input(), err
}

// begun is a stream whose first message has been read.
type begun struct {
	stream
	first *wire.AppStreamRequest
	fault error
	given bool
}

func (b *begun) Recv() (*wire.AppStreamRequest, error) {
	if b.given && b.fault == nil {
		return b.stream.Recv()
	}
	first := b.first
	b.given, b.first = true, nil
	return first, b.fault
}

// repository is what a stream holds. No memory is set aside for it before its first
// bytes are there: Argo CD's client may have to work for long before it sends them.
func (s *server) repository(ctx context.Context, from stream, checksum string, p *progress) (*held, error) {
	first, err := from.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, brokenStream(err)
	}
	from = &begun{stream: from, first: first, fault: err}
	known, place, err := s.repositories.await(ctx, checksum, func(a activity) { p.is(a) })
	if err != nil {
		return nil, drained(from, p.fault(ctx))
	}
	p.is(receivingIt)
	if known != nil {
		return s.known(known, from, p)
	}
	grow := func(bytes int64) error {
		if bytes <= place.took {
			return nil
		}
		p.is(waitingForMemory)
		if err := place.grow(ctx, bytes); err != nil {
			return p.fault(ctx)
		}
		p.is(receivingIt)
		return nil
	}
	t, err := s.unpackStream(from, checksum, p, func(r io.Reader) (*tree, error) {
		return guarded(s.cfg.Log, "the repository", func() (*tree, error) { return s.read(r, s.cfg.Limits, grow) })
	})
	return s.repositories.arrived(place, t), err
}

// known makes sure that a stream holds a repository that is there.
func (s *server) known(repo *held, from stream, p *progress) (*held, error) {
	hash := sha256.New()
	err := s.chunks(from, p, func(chunk []byte) { hash.Write(chunk) })
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
func (s *server) chunks(from stream, p *progress, use func([]byte)) error {
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
		p.set(func(p *progress) { p.bytes += int64(len(chunk)) })
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
func (s *server) unpackStream(from stream, checksum string, p *progress, unpack func(io.Reader) (*tree, error)) (*tree, error) {
	var (
		hash    = sha256.New()
		start   []byte
		further *further
	)
	err := s.chunks(from, p, func(chunk []byte) {
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
	if _, known := status.FromError(fault); fault != nil && known {
		return nil, fault // it knows better why the stream broke
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
			return nil, status.Errorf(codes.ResourceExhausted, "%s: %v", p.input().Dir, fault)
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

// drained reads a stream to its end, so that the client takes the error that was
// found before. If it is gone, the log should still tell.
func drained(s stream, found error) error {
	drain(s)
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
