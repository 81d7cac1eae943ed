package sidecar

import (
	"bufio"
	"bytes"
	"io"

	"github.com/ladder-cmp/ladder/sidecar/repository"
)

// pipedUnpack unpacks data concurrently as it is written. It unpacks a small archive
// only at its end, in the goroutine that writes it: to wake another one takes longer.
type pipedUnpack struct {
	unpack func(io.Reader) (*repository.Tree, error)
	first  *bytes.Buffer // what was written before another goroutine started
	rest   *bufio.Writer // nil until then
	pipe   *io.PipeWriter
	tree   *repository.Tree
	err    error
	done   chan struct{}
}

// pieceSize is the size of a small archive, and how much is handed over at once.
const pieceSize = 32 << 10

func startPipedUnpack(unpack func(io.Reader) (*repository.Tree, error)) *pipedUnpack {
	return &pipedUnpack{unpack: unpack, first: &bytes.Buffer{}}
}

// write never fails: data after the end of the archive, or after an error, is ignored.
func (p *pipedUnpack) write(chunk []byte) {
	if p.rest == nil && p.first.Len()+len(chunk) <= pieceSize {
		p.first.Write(chunk)
		return
	}
	if p.rest == nil {
		p.start()
	}
	_, _ = p.rest.Write(chunk)
}

func (p *pipedUnpack) start() {
	pr, pw := io.Pipe()
	from := io.MultiReader(p.first, bufio.NewReaderSize(pr, pieceSize))
	p.first, p.rest, p.pipe, p.done = nil, bufio.NewWriterSize(pw, pieceSize), pw, make(chan struct{})
	go func() {
		p.tree, p.err = p.unpack(from)
		pr.CloseWithError(io.ErrClosedPipe)
		close(p.done)
	}()
}

func (p *pipedUnpack) end() (*repository.Tree, error) {
	if p.rest == nil {
		return p.unpack(p.first)
	}
	_ = p.rest.Flush() // fails if the reader is gone
	p.pipe.Close()
	<-p.done
	return p.tree, p.err
}
