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
	"maps"
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

// receiver receives requests with their repositories.
type receiver struct {
	defaults     map[string]string      // see Config.Defaults
	variables    func(name string) bool // which variables of the environment to keep; nil keeps all
	limits       repository.Limits
	stall        time.Duration // see Config.Stall
	repositories *repositories
	stages       stages
	log          *slog.Logger
}

func newReceiver(cfg Config, all *repositories, stages stages) *receiver {
	return &receiver{defaults: cfg.Defaults, variables: cfg.Variables, limits: cfg.Limits, stall: cfg.Stall, repositories: all,
		stages: stages, log: cfg.Log}
}

// receivedRequest is a request that has been read from the stream. The caller must
// release repo, if it is set.
type receivedRequest struct {
	input  task.Input
	tenant tenant
	repo   *heldTree // nil without a repository, or after an error
	err    error
}

// receive reads a request, with its repository if that is needed, to the end of the
// stream, but not beyond ctx: a client may send slowly, or stop sending without
// closing. It must read to the end even after an error: if the server answers early,
// Argo CD's client reports the broken stream ("EOF") instead of the response
// (util/cmp/stream.go). Returning from the call ends the stream, and with it a pending
// read.
//
// On error the input contains what is known of the request.
func (r *receiver) receive(ctx context.Context, from stream, needsRepository bool) (receivedRequest, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	a := &arrival{receiver: r, ctx: ctx, end: end, doing: receivingRepository}
	a.from = watchStalls(from, r.stall, a.blocksOthers, a.endStalled)
	done := make(chan receivedRequest, 1)
	go func() {
		if needsRepository {
			done <- a.readAll()
		} else {
			done <- a.readWithoutRepository()
		}
	}()
	select {
	case got := <-done:
		return got, got.err
	case <-ctx.Done():
	}
	err := a.timeout()
	select {
	case got := <-done: // the reader has noticed
		return got, got.err
	case <-time.After(timeToRespond / 2):
	}
	go func() {
		if got := <-done; got.repo != nil {
			got.repo.release()
		}
	}()
	return receivedRequest{input: a.known()}, err
}

// arrival is a request being received. Its progress may be read by another
// goroutine.
type arrival struct {
	*receiver
	ctx      context.Context
	end      context.CancelCauseFunc
	from     stream
	reserved *reservation // memory reserved for the repository

	mu    sync.Mutex
	app   string
	dir   string
	doing activity
	bytes int64 // of the repository
}

// setActivity records the current activity.
func (a *arrival) setActivity(doing activity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doing = doing
}

// timeout returns why the request's context has ended.
func (a *arrival) timeout() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return timeoutError(a.ctx, a.dir, a.doing)
}

// known returns what is known of the request.
func (a *arrival) known() task.Input {
	a.mu.Lock()
	defer a.mu.Unlock()
	return task.Input{Dir: a.dir, Env: map[string]string{appName: a.app}}
}

// blocksOthers reports whether others wait for memory that the repository uses.
func (a *arrival) blocksOthers() bool {
	a.mu.Lock()
	hasStarted := a.bytes > 0
	a.mu.Unlock()
	return hasStarted && a.repositories.isContended()
}

// endStalled ends a request whose client sends nothing.
func (a *arrival) endStalled(since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(&timeoutCause{limit: stallTime, duration: a.stall, since: since, bytes: a.bytes})
}

// readAll reads the request and its repository.
//
// The archive is unpacked while it is received, and discarded if the checksum is
// wrong. If the repository is already in memory, only the checksum is computed.
func (a *arrival) readAll() (got receivedRequest) {
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

func (a *arrival) readWithoutRepository() receivedRequest {
	got, _ := a.readMetadata()
	if got.err == nil {
		got.err = drain(a.from)
	}
	return got
}

// maxEnvironment limits the variables of a request, in bytes. An Application as a
// whole has at most 1.5 MB, the limit of etcd; the API versions of the cluster are
// added to this.
const maxEnvironment = 4 << 20

// readMetadata reads the first message.
func (a *arrival) readMetadata() (got receivedRequest, meta *wire.ManifestRequestMetadata) {
	first, err := a.from.Recv()
	if err != nil {
		return receivedRequest{err: brokenStream(err)}, nil
	}
	meta = first.GetMetadata()
	if meta == nil {
		return receivedRequest{err: drainAndReturn(a.from, status.Error(codes.InvalidArgument, "the stream does not start with metadata"))}, nil
	}
	env, size := map[string]string{}, 0
	maps.Copy(env, a.defaults)
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
		got.err = drainAndReturn(a.from, status.Errorf(codes.ResourceExhausted,
			"%s: the Application's variables and parameters are %d bytes; the limit is %d; move them into values files", dir, size, maxEnvironment))
	case isLong:
		got.err = drainAndReturn(a.from, status.Errorf(codes.InvalidArgument,
			"the Application's path is %d bytes; the limit is %d", len(meta.GetAppRelPath()), repository.MaxPath))
	}
	return got, meta
}

// readRepository reads the messages after the metadata. It reserves no memory
// before their first bytes arrive, since Argo CD's client may work for a long time
// before it sends them.
func (a *arrival) readRepository(checksum string) (*heldTree, error) {
	first, err := a.from.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, brokenStream(err)
	}
	a.from = &peekedStream{stream: a.from, first: first, fault: err}
	known, reserved, err := a.repositories.await(a.ctx, checksum, a.setActivity)
	if err != nil {
		return nil, drainAndReturn(a.from, a.timeout())
	}
	a.setActivity(receivingRepository)
	if known != nil {
		return a.confirm(known)
	}
	a.reserved = reserved
	t, err := a.unpackStream(checksum)
	return a.repositories.finish(reserved, t), err
}

// unpackStream reads the chunks of the archive, and unpacks it into reserved
// memory.
func (a *arrival) unpackStream(checksum string) (*repository.Tree, error) {
	sum, pipe := sha256.New(), startPipedUnpack(a.unpack)
	err := a.eachChunk(func(chunk []byte) {
		sum.Write(chunk)
		pipe.write(chunk)
	})
	t, fault := pipe.end()
	if _, known := status.FromError(fault); fault != nil && known {
		return nil, fault // it explains why the stream ended
	}
	if err == nil {
		err = compare(sum, checksum)
	}
	if err != nil {
		return nil, err
	}
	if fault != nil {
		return nil, a.unpackError(fault)
	}
	return t, nil
}

// unpack unpacks the archive, for which it reserves memory.
func (a *arrival) unpack(r io.Reader) (t *repository.Tree, err error) {
	defer recoverPanic(a.log, "the repository", &err)
	return repository.Unpack(r, a.limits, a.grow)
}

// grow reserves memory for a tree of the given size.
func (a *arrival) grow(bytes int64) error {
	if bytes <= a.reserved.bytes {
		return nil
	}
	a.setActivity(waitingForMemory)
	if err := a.reserved.grow(a.ctx, bytes); err != nil {
		return a.timeout()
	}
	a.setActivity(receivingRepository)
	return nil
}

func (a *arrival) unpackError(err error) error {
	switch _, known := status.FromError(err); {
	case known:
		return err
	case errors.Is(err, repository.ErrLimit):
		return status.Errorf(codes.ResourceExhausted, "%s: %v", a.known().Dir, err)
	}
	return status.Error(codes.InvalidArgument, err.Error())
}

// confirm checks that the stream contains a repository that is in memory.
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
			return drainAndReturn(a.from, status.Error(codes.InvalidArgument, "the stream holds a message without a file"))
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

// peekedStream is a stream whose next message was read in advance.
type peekedStream struct {
	stream
	first    *wire.AppStreamRequest
	fault    error
	consumed bool
}

func (p *peekedStream) Recv() (*wire.AppStreamRequest, error) {
	if p.consumed && p.fault == nil {
		return p.stream.Recv()
	}
	first := p.first
	p.consumed, p.first = true, nil
	return first, p.fault
}

// drainAndReturn reads a stream to its end, so that the client accepts an error that
// was found before. If that fails, the log still contains the error.
func drainAndReturn(s stream, found error) error {
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

// brokenStream returns the error for an interrupted stream or an expired deadline.
func brokenStream(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Unavailable, fmt.Sprintf("the repository did not arrive: %v", err))
}
