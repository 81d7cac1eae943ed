package sidecar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
	"github.com/ladder-cmp/ladder/sidecar/wire"
)

// stream is the receiving side of the three calls that carry a repository.
type stream interface {
	Recv() (*wire.AppStreamRequest, error)
}

// receiver takes requests, and the repositories that come with them.
type receiver struct {
	variables    func(name string) bool // of the environment that are kept; nil keeps all
	limits       repository.Limits
	stall        time.Duration // see Config.Stall
	repositories *repositories
	stages       stages
	log          *slog.Logger
	// unpack is repository.Unpack, but for tests.
	unpack func(io.Reader, repository.Limits, func(int64) error) (*repository.Tree, error)
}

func newReceiver(cfg Config, all *repositories, stages stages) *receiver {
	return &receiver{variables: cfg.Variables, limits: cfg.Limits, stall: cfg.Stall, repositories: all, stages: stages, log: cfg.Log, unpack: repository.Unpack}
}

// received is a request that has arrived. Whoever gets it releases repo, if there is
// one.
type received struct {
	input  task.Input
	tenant tenant
	repo   *heldTree // nil without one, or after an error
	err    error
}

// receive reads a request and its repository to the end of the stream, but no longer
// than ctx: a client may send slowly, or stop to send and stay. It must read to the
// end, even after an error: when the server answers early, Argo CD's client reports
// the broken stream ("EOF") instead of the answer (util/cmp/stream.go).
//
// With an error the input is what is known of the request.
func (r *receiver) receive(ctx context.Context, from stream) (received, error) {
	return r.inTime(ctx, from, (*arrival).readAll)
}

// discard is receive for a request whose repository is of no interest.
func (r *receiver) discard(ctx context.Context, from stream) (received, error) {
	return r.inTime(ctx, from, (*arrival).readWithoutRepository)
}

// inTime has a request read, but no longer than ctx. Returning from the call ends the
// stream, and so what still reads it.
func (r *receiver) inTime(ctx context.Context, from stream, read func(*arrival) received) (received, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	a := &arrival{receiver: r, ctx: ctx, end: end, doing: receivingIt}
	a.from = inPace(from, r.stall, a.isInTheWay, a.stalled)
	done := make(chan received, 1)
	go func() { done <- read(a) }()
	select {
	case got := <-done:
		return got, got.err
	case <-ctx.Done():
	}
	err := a.timeout()
	select {
	case got := <-done: // has noticed
		return got, got.err
	case <-time.After(timeToAnswer / 2):
	}
	go func() {
		if got := <-done; got.repo != nil {
			got.repo.release()
		}
	}()
	return received{input: a.known()}, err
}

// arrival is a request that arrives. Another goroutine than the one that reads it may
// have to say how far it has come.
type arrival struct {
	*receiver
	ctx  context.Context
	end  context.CancelCauseFunc
	from stream
	set  *reservation // of memory for the repository

	mu    sync.Mutex
	app   string
	dir   string
	doing activity
	bytes int64 // of the repository
}

// is notes what is done from now on.
func (a *arrival) is(doing activity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doing = doing
}

// timeout is why the request is over, whose context has ended.
func (a *arrival) timeout() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return timeoutError(a.ctx, a.dir, a.doing)
}

// known is what is known of the request.
func (a *arrival) known() task.Input {
	a.mu.Lock()
	defer a.mu.Unlock()
	return task.Input{Dir: a.dir, Env: map[string]string{appName: a.app}}
}

// isInTheWay reports whether others wait for what the repository takes.
func (a *arrival) isInTheWay() bool {
	a.mu.Lock()
	begun := a.bytes > 0
	a.mu.Unlock()
	return begun && a.repositories.wanted()
}

// stalled ends a request whose client sends nothing.
func (a *arrival) stalled(since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(&overdue{limit: stallTime, allows: a.stall, since: since, bytes: a.bytes})
}

// readAll reads the request and its repository.
//
// The archive is unpacked while it arrives, and thrown away if the checksum
// turns out wrong. Of an archive that is in memory already, by its checksum,
// only the checksum is computed.
func (a *arrival) readAll() (got received) {
	defer a.stages.begin(a.ctx, receiving)()
	got, meta := a.readMetadata()
	if got.err != nil {
		return got
	}
	if got.repo, got.err = a.readRepository(meta.GetChecksum()); got.err != nil {
		return got
	}
	if !fs.ValidPath(got.input.Dir) {
		got.repo.release()
		got.repo, got.err = nil, status.Errorf(codes.InvalidArgument, "the application's path %q leaves the repository", meta.GetAppRelPath())
		return got
	}
	got.input.Repo = got.repo.tree
	return got
}

func (a *arrival) readWithoutRepository() received {
	got, _ := a.readMetadata()
	if got.err == nil {
		got.err = drain(a.from)
	}
	return got
}

// maxEnvironment bounds the variables of a request, in bytes. An Application as
// a whole has at most 1.5 MB, which is what etcd takes; to this come the API
// versions of the cluster.
const maxEnvironment = 4 << 20

// readMetadata reads the first message.
func (a *arrival) readMetadata() (got received, meta *wire.ManifestRequestMetadata) {
	first, err := a.from.Recv()
	if err != nil {
		return received{err: brokenStream(err)}, nil
	}
	meta = first.GetMetadata()
	if meta == nil {
		return received{err: drained(a.from, status.Error(codes.InvalidArgument, "the stream does not start with metadata"))}, nil
	}
	env, size := map[string]string{}, 0
	for _, e := range meta.GetEnv() {
		if depth := slices.Index(tenantVariables[:], e.GetName()); depth >= 0 {
			got.tenant[depth] = e.GetValue()
		}
		if e != nil && (a.variables == nil || a.variables(e.GetName())) {
			env[e.GetName()] = e.GetValue()
			size += len(e.GetName()) + len(e.GetValue())
		}
	}
	dir := path.Clean(meta.GetAppRelPath())
	isLong := len(dir) > repository.MaxPath
	if isLong {
		dir = dir[:40] + "..."
	}
	a.mu.Lock()
	a.app, a.dir = env[appName], dir
	a.mu.Unlock()
	got.input = task.Input{Dir: dir, Env: env}
	switch {
	case size > maxEnvironment:
		got.input.Env = map[string]string{appName: env[appName]}
		got.err = drained(a.from, status.Errorf(codes.ResourceExhausted,
			"%s: the Application's variables and parameters are %d bytes, and at most %d are taken; move them into files of values", dir, size, maxEnvironment))
	case isLong:
		got.err = drained(a.from, status.Errorf(codes.InvalidArgument, "the application's path has %d bytes, and at most %d are taken", len(meta.GetAppRelPath()), repository.MaxPath))
	}
	return got, meta
}

// readRepository reads what follows the metadata. No memory is set aside for it before
// its first bytes are there: Argo CD's client may have to work for long before it sends
// them.
func (a *arrival) readRepository(checksum string) (*heldTree, error) {
	first, err := a.from.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, brokenStream(err)
	}
	a.from = &peeked{stream: a.from, first: first, fault: err}
	known, set, err := a.repositories.await(a.ctx, checksum, a.is)
	if err != nil {
		return nil, drained(a.from, a.timeout())
	}
	a.is(receivingIt)
	if known != nil {
		return a.confirm(known)
	}
	a.set = set
	t, err := a.unpackStream(checksum)
	return a.repositories.arrived(set, t), err
}

// confirm makes sure that the stream holds a repository that is there.
func (a *arrival) confirm(repo *heldTree) (*heldTree, error) {
	sum := sha256.New()
	err := a.eachChunk(func(chunk []byte) { sum.Write(chunk) })
	if err == nil {
		err = compare(sum, repo.checksum)
	}
	if err != nil {
		repo.release()
		return nil, err
	}
	a.stages.metrics.known.Inc()
	return repo, nil
}

// eachChunk reads the stream to its end.
func (a *arrival) eachChunk(use func([]byte)) error {
	for {
		msg, err := a.from.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenStream(err)
		}
		if msg.GetFile() == nil {
			return drained(a.from, status.Error(codes.InvalidArgument, "the stream holds a message without a file"))
		}
		chunk := msg.GetFile().GetChunk()
		a.stages.metrics.received.Add(float64(len(chunk)))
		a.mu.Lock()
		a.bytes += int64(len(chunk))
		a.mu.Unlock()
		use(chunk)
	}
}

func compare(sum hash.Hash, checksum string) error {
	if got := hex.EncodeToString(sum.Sum(nil)); got != checksum {
		return status.Errorf(codes.DataLoss, "the repository arrived damaged: its checksum is %s, not %s", got, checksum)
	}
	return nil
}

// peeked is a stream whose next message has been read.
type peeked struct {
	stream
	first *wire.AppStreamRequest
	fault error
	given bool
}

func (p *peeked) Recv() (*wire.AppStreamRequest, error) {
	if p.given && p.fault == nil {
		return p.stream.Recv()
	}
	first := p.first
	p.given, p.first = true, nil
	return first, p.fault
}

// drained reads a stream to its end, so that the client takes the error that was
// found before. If it is gone, the log should still tell.
func drained(s stream, found error) error {
	_ = drain(s)
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
