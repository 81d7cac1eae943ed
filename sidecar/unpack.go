package sidecar

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/repository"
)

// unpackStream reads the chunks of the archive, and unpacks it into reserved
// memory.
func (a *arrival) unpackStream(checksum string) (*repository.Tree, error) {
	sum, pipe := sha256.New(), startPipedUnpack(a.unpackSafely)
	err := a.eachChunk(func(chunk []byte) {
		sum.Write(chunk)
		pipe.Write(chunk)
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

func (a *arrival) unpackSafely(r io.Reader) (*repository.Tree, error) {
	return recoverPanic(a.log, "the repository", func() (*repository.Tree, error) { return a.unpack(r, a.limits, a.grow) })
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

// pipedUnpack unpacks data concurrently as it is written.
type pipedUnpack struct {
	*bufio.Writer
	pipe *io.PipeWriter
	tree *repository.Tree
	err  error
	done chan struct{}
}

func startPipedUnpack(unpack func(io.Reader) (*repository.Tree, error)) *pipedUnpack {
	pr, pw := io.Pipe()
	p := &pipedUnpack{Writer: bufio.NewWriterSize(pw, 64<<10), pipe: pw, done: make(chan struct{})}
	go func() {
		p.tree, p.err = unpack(pr)
		// Data after the end of the archive, or after an error, is ignored.
		pr.CloseWithError(io.ErrClosedPipe)
		close(p.done)
	}()
	return p
}

func (p *pipedUnpack) end() (*repository.Tree, error) {
	_ = p.Flush() // fails if the reader is gone
	p.pipe.Close()
	<-p.done
	return p.tree, p.err
}
