// Package task defines the tasks of a plugin server with their inputs and outputs.
// The server and its worker processes communicate in these terms; neither knows
// about charts or waves.
package task

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Input is a request: a repository, the Application's directory in it, and the
// Application's environment with the variables that Argo CD sets for a plugin.
type Input struct {
	Repo fs.FS
	Dir  string
	Env  map[string]string
	// Secret is secret data of the server for the task; nil means none. It must not
	// be written anywhere.
	Secret []byte
	// Fetch returns content that the repository does not contain; nil if
	// unavailable. A task must return an error if Fetch does.
	Fetch func(ctx context.Context, key string) (Found, error)

	// FetchPart reads a part of a file found by Fetch, starting at an offset; nil
	// if unavailable. It is for running tasks in other processes.
	FetchPart func(key string, from int64) ([]byte, error)
	// Slot is the slot of the task, also for running tasks in other processes; nil
	// outside of a server.
	Slot Slot
}

// Slot is the permission to run a task concurrently with others. Whoever runs the
// task calls its methods.
type Slot interface {
	// OnPreempt sets the function to call when the task must make room for
	// others. If that has already happened, it is called immediately. It runs in
	// its own goroutine.
	OnPreempt(do func())
	// Uses records the memory used by the task, in bytes.
	Uses(bytes int64)
	// RelieveMemory reports that all tasks together use too much memory.
	RelieveMemory()
}

// Found is the content of a key for Input.Fetch.
type Found struct {
	// Digest identifies the content.
	Digest string
	// About is metadata for the tasks, Data the content itself.
	About, Data []byte
	// Open opens a file with the content if Data is empty, since a server does not
	// keep what it only passes on. Size is its size in bytes. Open may be called
	// until the file is removed; an open file remains readable.
	Open func() (File, error)
	Size int64
}

// File is a file opened by Found.Open.
type File interface {
	io.ReaderAt
	io.Closer
}

// Output is a response with its log entries.
type Output struct {
	Manifests []string
	// Expanded is the size of the manifests with YAML aliases expanded, in bytes; 0
	// means that there are none.
	Expanded int
	// Log contains key and value pairs for the log line of the request: strings,
	// numbers, booleans. It must not contain secrets.
	Log []any
	// Measures are counts for metrics, by name.
	Measures map[string]int
	// Remarks are additional log lines.
	Remarks []Remark
	// Unused lists environment variables that did not affect the response although
	// they could have: with other values it would be the same.
	Unused []string
	// Until is when the response changes without a change of the input; the zero time
	// means never.
	Until time.Time
}

// Remark is a log line. It must not contain secrets.
type Remark struct {
	Level slog.Level
	Text  string
}

// Runner runs the tasks of the plugin. It is safe for concurrent use, and returns
// soon after its context ends.
type Runner interface {
	// Run runs a task. Errors with a gRPC status come from the machine, others from
	// the component.
	Run(ctx context.Context, name Name, in Input) (Response, error)
}

// Name is the name of a task.
type Name string

const (
	// Generate renders manifests.
	Generate Name = "generate"
	// Match reports whether there is anything to render.
	Match Name = "match"
	// Parameters is a request that runs no task.
	Parameters Name = "parameters"
)

// Response is the result of a task.
type Response struct {
	Output  Output // of Generate
	Matched bool   // of Match
}

// MaxMessage is the maximum size of a message for Argo CD's client, in bytes
// (ARGOCD_GRPC_MAX_SIZE_MB, 100 MiB by default).
const MaxMessage = 100 << 20

// maxResponse is the maximum size of a response's manifests. The rest is reserved for
// overhead.
const maxResponse = MaxMessage / 10 * 9

// CheckSize refuses a response that Argo CD's client would refuse with a gRPC error, or that
// would exceed Argo CD's memory once aliases are expanded. dir is the directory of the component.
func (r Response) CheckSize(dir string) error {
	size := 0
	for _, m := range r.Output.Manifests {
		size += len(m)
	}
	switch {
	case size > maxResponse:
		return status.Errorf(codes.ResourceExhausted,
			"%s: the manifests are %d MiB; the limit is %d MiB, because Argo CD accepts messages of at most %d MiB; fix: split the component",
			dir, size>>20, maxResponse>>20, MaxMessage>>20)
	case r.Output.Expanded > maxResponse:
		return status.Errorf(codes.ResourceExhausted,
			"%s: the manifests are %d bytes with YAML aliases expanded; the limit is %d; fix: split the component, or use fewer aliases",
			dir, r.Output.Expanded, maxResponse)
	}
	return nil
}
