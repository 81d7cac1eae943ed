package task

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/status"
)

// Cause is why a task was ended before it was done.
type Cause string

const (
	// RenderTimeout: the time for a rendering was over.
	RenderTimeout Cause = "render-timeout"
	// Deadline: the time of the request was over.
	Deadline Cause = "deadline"
	// Canceled: the client gave up.
	Canceled Cause = "canceled"
	// Memory: it took more than it may.
	Memory Cause = "memory"
	// Yielded: others went first, and it begins again.
	Yielded Cause = "yielded"
	// Stack: a recursion without end.
	Stack Cause = "stack"
	// Crash: anything else.
	Crash Cause = "crash"
)

// Causes are all there are.
var Causes = []Cause{RenderTimeout, Deadline, Canceled, Yielded, Memory, Stack, Crash}

// CauseOf is why the context of a task has ended. Whoever ends one for a Cause other
// than Deadline or Canceled makes an Ended the context's cause.
func CauseOf(ctx context.Context) Cause {
	var ended *Ended
	switch {
	case errors.As(context.Cause(ctx), &ended):
		return ended.Cause
	case errors.Is(ctx.Err(), context.Canceled):
		return Canceled
	}
	return Deadline
}

// Ended is the error of a task that had to be ended.
type Ended struct {
	Cause Cause
	// Err says so to users, with a gRPC status; or it is that of the task's context,
	// of whose end the server knows more.
	Err error
}

func (e *Ended) Error() string { return e.Err.Error() }
func (e *Ended) Unwrap() error { return e.Err }

// GRPCStatus is that of Err.
func (e *Ended) GRPCStatus() *status.Status { return status.Convert(e.Err) }

// ByItself reports whether the task had to be ended for what it did, which it would do
// again.
func (e *Ended) ByItself() bool {
	return e.Cause == RenderTimeout || e.Cause == Memory || e.Cause == Stack
}

// Panicked says that a task panicked, to who asked for it. about is what the task was
// at.
func Panicked(about string, panic any) string {
	return fmt.Sprintf("%s: internal error: %v; this is a bug of the plugin, its log has the details", about, panic)
}
