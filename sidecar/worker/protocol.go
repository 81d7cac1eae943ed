package worker

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// The server and a worker exchange messages over a pair of pipes, in turns. This is
// the complete protocol:
//
//	server                     worker
//	setup                  ->
//	                       <-  ready
//	job                    ->
//	                       <-  question about the repository, or request to fetch
//	reply, or fetched      ->
//	                       ...
//	                       <-  result

// toWorker is a message from the server. One field is set.
type toWorker struct {
	Setup   *setup
	Job     *job
	Reply   *repository.Reply // to a Question
	Fetched *fetchReply       // to a Fetch
}

// setup is the first message.
type setup struct {
	Text   []byte // the configuration of the tasks
	Memory int64  // the limit, in bytes; 0 means none
}

// job is a task to run.
type job struct {
	Task task.Name
	Dir  string
	Env  map[string]string
	// Fetches means that the server can fetch.
	Fetches bool
	Secret  []byte
}

// fetchReply is the reply to a fetchRequest.
type fetchReply struct {
	Digest string
	About  []byte
	Data   []byte
	Size   int64 // of the data, if it is sent in parts
	Fault  *repository.Fault
}

// fromWorker is a message from a worker. One field is set.
type fromWorker struct {
	Ready    *ready
	Question *repository.Question
	Fetch    *fetchRequest
	Result   *result
}

// ready means that the worker accepts jobs.
type ready struct {
	Gaps []confine.Gap // in its sandbox
}

// fetchRequest requests the content of a key, or a part of its data that starts at
// an offset.
type fetchRequest struct {
	Key  string
	Part bool
	From int64
}

// result is the result of a job.
type result struct {
	Response task.Response
	Fault    string     // why there is no response
	Code     codes.Code // of the fault, if any
	Panic    string     // with the stack, for the log
}

func resultOf(a task.Response, err error) *result {
	if err == nil {
		return &result{Response: a}
	}
	if s, ok := status.FromError(err); ok {
		return &result{Fault: s.Message(), Code: s.Code()}
	}
	return &result{Fault: err.Error()}
}

func (r *result) response() (task.Response, error) {
	switch {
	case r.Code != codes.OK:
		return task.Response{}, status.Error(r.Code, r.Fault)
	case r.Fault != "":
		return task.Response{}, errors.New(r.Fault)
	}
	return r.Response, nil
}

// link is an end of the connection.
type link struct {
	enc *gob.Encoder
	out *bufio.Writer
	dec *gob.Decoder
	in  *boundedReader
}

// maxLinkMessage limits a message. A response of task.MaxMessage fits with its
// overhead.
const maxLinkMessage = task.MaxMessage + task.MaxMessage/4

func newLink(in io.Reader, out io.Writer) *link {
	writer := bufio.NewWriterSize(out, 64<<10)
	reader := &boundedReader{from: bufio.NewReaderSize(in, 64<<10)}
	return &link{gob.NewEncoder(writer), writer, gob.NewDecoder(reader), reader}
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

// boundedReader limits a reader. It is an io.ByteReader, so that the decoder does not
// read beyond the message.
type boundedReader struct {
	from *bufio.Reader
	left int
}

var errLongMessage = fmt.Errorf("a message is larger than %d MiB", maxLinkMessage>>20)

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongMessage
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *boundedReader) ReadByte() (byte, error) {
	if b.left <= 0 {
		return 0, errLongMessage
	}
	c, err := b.from.ReadByte()
	b.left--
	return c, err
}
