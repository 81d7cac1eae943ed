// Package task says what a plugin server has done for a request: its tasks, what they
// are given, and what they come to. The server and the processes that work for it speak
// in these terms; neither knows of charts or waves.
package task

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Input is a request: a repository, the directory of the Application in it and
// the Application's environment, with the variables that Argo CD gives to a
// plugin.
type Input struct {
	Repo fs.FS
	Dir  string
	Env  map[string]string
	// Secret is what the task may know of the server's secrets; nil is nothing. It must
	// not be written anywhere.
	Secret []byte
	// Fetch gets what a repository does not hold; nil if nobody has it. A task that
	// gets an error ends with one.
	Fetch func(ctx context.Context, key string) (Found, error)

	// FetchPart, for those who run tasks in other processes, reads a part of what
	// Fetch has found in a file, from a byte on; nil if nobody has it.
	FetchPart func(key string, from int64) ([]byte, error)
	// Slot, for them, too, is what the server has given to the task; nil outside of a
	// server.
	Slot Slot
}

// Slot is a task's right to run beside others. Its methods are called by who runs the
// task.
type Slot interface {
	// OnStepAside says what to do when others are to go first. If that has happened
	// already, it is done at once. It is done in a goroutine of its own.
	OnStepAside(do func())
	// Uses notes what memory the task takes, in bytes.
	Uses(bytes int64)
	// RelieveMemory says that all tasks together take too much memory.
	RelieveMemory()
}

// Found is what a key of Input.Fetch stands for.
type Found struct {
	// Digest tells the rest apart from what the key stood for at another time.
	Digest string
	// About is for the tasks, Data the thing itself.
	About, Data []byte
	// Open opens a file with Data, if Data is not here: a server does not hold what it
	// only hands on. Size is that of the file. It can be called until the file is gone,
	// and what was opened can be read on then.
	Open func() (File, error)
	Size int64
}

// File is what Found.Open opens.
type File interface {
	io.ReaderAt
	io.Closer
}

// Output is an answer, with what the log says about it.
type Output struct {
	Manifests []string
	// Expanded is how many bytes the manifests come to where their aliases are followed;
	// 0 is as many as they are.
	Expanded int
	// Log holds key and value pairs for the line about the request: strings,
	// numbers, booleans. Nothing secret may be in it.
	Log []any
	// Measures are sizes of the answer, for metrics, by what is counted.
	Measures map[string]int
	// Remarks are lines of their own behind that one.
	Remarks []Remark
	// Unused names variables of the environment that made no difference,
	// though they could have: with other values the answer is the same.
	Unused []string
	// Until is when the answer is another one though nothing has changed; the zero time is
	// never.
	Until time.Time
}

// Remark is a line of the log. Nothing secret may be in it, either.
type Remark struct {
	Level slog.Level
	Text  string
}

// Tasks are what the plugin does. The functions are called by several
// goroutines. They return soon after their context has ended.
type Tasks struct {
	// Generate renders manifests.
	Generate func(context.Context, Input) (Output, error)
	// Match says whether there is anything to render.
	Match func(context.Context, Input) (bool, error)
}

// Name is that of a request of Argo CD's.
type Name string

const (
	// Generate and Match are those of Tasks.
	Generate Name = "generate"
	Match    Name = "match"
	// Parameters needs no work.
	Parameters Name = "parameters"
)

// Answer is what a task comes to.
type Answer struct {
	Output  Output // of Generate
	Matched bool   // of Match
}

// Run does a task. Errors with a gRPC status are those of the machine, others those of
// the component.
func (t Tasks) Run(ctx context.Context, name Name, in Input) (Answer, error) {
	switch name {
	case Generate:
		out, err := t.Generate(ctx, in)
		if err == nil {
			err = checkSize(in.Dir, out.Manifests)
		}
		return Answer{Output: out}, err
	case Match:
		matched, err := t.Match(ctx, in)
		return Answer{Matched: matched}, err
	}
	return Answer{}, fmt.Errorf("unknown task %q", name)
}

// MaxMessage is the largest message that Argo CD's client sends or takes, in bytes
// (ARGOCD_GRPC_MAX_SIZE_MB, 100 MiB by default).
const MaxMessage = 100 << 20

// maxAnswer is how much the manifests of an answer may be. Some are kept for what
// stands around them.
const maxAnswer = MaxMessage / 10 * 9

// checkSize refuses an answer that Argo CD's client would refuse with a message
// about gRPC.
func checkSize(dir string, manifests []string) error {
	size := 0
	for _, m := range manifests {
		size += len(m)
	}
	if size > maxAnswer {
		return status.Errorf(codes.ResourceExhausted, "%s: the manifests are %d MiB, and may be %d, since Argo CD takes no message of more than %d; fix: split the component",
			dir, size>>20, maxAnswer>>20, MaxMessage>>20)
	}
	return nil
}
