package sidecar

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/repository"
)

// atOnce is the size up to which an archive is unpacked when all of it is there.
// Larger ones are unpacked as they arrive, which costs a change of goroutines
// for each chunk.
const atOnce = 1 << 20

// unpackStream reads the chunks of the archive, and unpacks it into the memory that is
// set aside.
func (a *arrival) unpackStream(checksum string) (*repository.Tree, error) {
	var (
		sum    = sha256.New()
		start  []byte
		behind *pipedUnpack
	)
	err := a.eachChunk(func(chunk []byte) {
		sum.Write(chunk)
		if behind == nil && len(start)+len(chunk) <= atOnce {
			start = append(start, chunk...)
			return
		}
		if behind == nil {
			behind = startPipedUnpack(a.unpackGuarded)
			behind.Write(start)
			start = nil
		}
		behind.Write(chunk)
	})
	var t *repository.Tree
	var fault error
	if behind != nil {
		t, fault = behind.end()
	}
	if _, known := status.FromError(fault); fault != nil && known {
		return nil, fault // it knows better why the stream broke
	}
	if err == nil {
		err = compare(sum, checksum)
	}
	if err != nil {
		return nil, err
	}
	if behind == nil {
		t, fault = a.unpackGuarded(bytes.NewReader(start))
	}
	if fault != nil {
		return nil, a.unpackError(fault)
	}
	return t, nil
}

func (a *arrival) unpackGuarded(r io.Reader) (*repository.Tree, error) {
	return guarded(a.log, "the repository", func() (*repository.Tree, error) { return a.unpack(r, a.limits, a.grow) })
}

// grow sets memory aside for a tree of that size.
func (a *arrival) grow(bytes int64) error {
	if bytes <= a.set.took {
		return nil
	}
	a.is(waitingForMemory)
	if err := a.set.grow(a.ctx, bytes); err != nil {
		return a.timeout()
	}
	a.is(receivingIt)
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

// pipedUnpack unpacks what is written to it, at the same time.
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
		// What is written behind the end of the archive, or behind a fault, is
		// for nobody.
		pr.CloseWithError(io.ErrClosedPipe)
		close(p.done)
	}()
	return p
}

func (p *pipedUnpack) end() (*repository.Tree, error) {
	_ = p.Flush() // fails where nobody reads any more
	p.pipe.Close()
	<-p.done
	return p.tree, p.err
}
