package sidecar

import (
	"bufio"
	"io"

	"github.com/ladder-cmp/ladder/sidecar/repository"
)

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
