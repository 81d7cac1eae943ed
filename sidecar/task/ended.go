package task

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/status"
)

// Cause is the reason why a task was ended early.
type Cause string

const (
	// RenderTimeout: the time limit of a rendering was exceeded.
	RenderTimeout Cause = "render-timeout"
	// Deadline: the deadline of the request passed.
	Deadline Cause = "deadline"
	// Canceled: the client canceled the request.
	Canceled Cause = "canceled"
	// Memory: it exceeded its memory limit.
	Memory Cause = "memory"
	// Preempted: it made room for others, and will start again.
	Preempted Cause = "yielded"
	// Stack: infinite recursion.
	Stack Cause = "stack"
	// Crash: anything else.
	Crash Cause = "crash"
)

// Causes lists all causes.
var Causes = []Cause{RenderTimeout, Deadline, Canceled, Preempted, Memory, Stack, Crash}

// CauseOf returns why the context of a task has ended. For causes other than
// Deadline and Canceled, the context's cause must be an Ended.
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

// Ended is the error of a task that was ended early.
type Ended struct {
	Cause Cause
	// Err is the message for users, with a gRPC status; or the error of the task's
	// context, whose cause the server knows.
	Err error
}

func (e *Ended) Error() string { return e.Err.Error() }
func (e *Ended) Unwrap() error { return e.Err }

// GRPCStatus returns the status of Err.
func (e *Ended) GRPCStatus() *status.Status { return status.Convert(e.Err) }

// IsRepeatable reports whether the task caused its own end, and would do so again.
func (e *Ended) IsRepeatable() bool {
	return e.Cause == RenderTimeout || e.Cause == Memory || e.Cause == Stack
}

// PanicMessage is the message for a client whose task panicked. about describes the
// task.
func PanicMessage(about string, panic any) string {
	return fmt.Sprintf("%s: internal error: %v; this is a bug of the plugin, its log has the details", about, panic)
}
