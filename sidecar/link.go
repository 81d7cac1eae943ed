package sidecar

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"

	"github.com/ladder-cmp/ladder/internal/sandbox"
)

// The server and a worker talk over a pair of sockets, in turns: the server
// begins a job; the worker asks about the repository, is told, and at the end
// says what came of it.

// toWorker is a message of the server's. One of the fields is set.
type toWorker struct {
	Setup *setup
	Job   *job
	Reply *reply
}

// setup is the first message.
type setup struct {
	Text   []byte // what Tasks are made of
	Memory int64  // the limit, in bytes; 0 is none
}

// job is something to do.
type job struct {
	Task task
	Dir  string
	Env  map[string]string
	// Fetches means that questions may be about things from elsewhere.
	Fetches bool
}

// fromWorker is a message of a worker's. One of the fields is set.
type fromWorker struct {
	Ready    bool
	Gaps     []sandbox.Gap // with Ready
	Question *question
	Done     *done
}

// done is the end of a job.
type done struct {
	Answer answer
	Fault  string     // why there is no answer
	Code   codes.Code // of the fault, if it has one
	Panic  string     // with the stack, for the log
}

// link is one end of the connection.
type link struct {
	enc *gob.Encoder
	out *bufio.Writer
	dec *gob.Decoder
	in  *bounded
}

// maxLinkMessage bounds a message. An answer of maxMessage fits, with what
// stands around it.
const maxLinkMessage = maxMessage + maxMessage/4

func newLink(conn io.ReadWriter) *link {
	out := bufio.NewWriterSize(conn, 64<<10)
	in := &bounded{from: bufio.NewReaderSize(conn, 64<<10)}
	return &link{gob.NewEncoder(out), out, gob.NewDecoder(in), in}
}

func (l *link) send(message any) error {
	if err := l.enc.Encode(message); err != nil {
		return err
	}
	return l.out.Flush()
}

func (l *link) receive(message any) error {
	l.in.left = maxLinkMessage
	return l.dec.Decode(message)
}

// bounded reads no more than what is left. It is an io.ByteReader, so that the
// decoder reads no further than the message.
type bounded struct {
	from *bufio.Reader
	left int
}

var errLongMessage = fmt.Errorf("a message of more than %d MB", maxLinkMessage>>20)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongMessage
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *bounded) ReadByte() (byte, error) {
	if b.left <= 0 {
		return 0, errLongMessage
	}
	c, err := b.from.ReadByte()
	b.left--
	return c, err
}
