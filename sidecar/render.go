package sidecar

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// renderer runs tasks.
type renderer struct {
	tasks task.Runner
	log   *slog.Logger
}

// render runs the task of a request once, within the context of its slot. If it was
// ended early, the error is a task.Ended.
func (r *renderer) render(slot *slot, req *request) (a task.Response, err error) {
	defer recoverPanic(r.log, req.dir, &err)
	in := req.input
	in.Slot = slot
	a, err = r.tasks.Run(slot.ctx, req.task, in)
	a.Output.Cut()
	if err == nil {
		err = a.CheckSize(req.dir)
	}
	if err != nil && errors.Is(err, slot.ctx.Err()) {
		err = &task.Ended{Cause: task.CauseOf(slot.ctx), Err: timeoutError(slot.ctx, req.dir, rendering)}
	}
	return a, err
}

// recoverPanic is deferred to keep a panic in one request from ending the server: the
// panic becomes the error. about describes the work, for messages.
func recoverPanic(log *slog.Logger, about string, err *error) {
	if r := recover(); r != nil {
		log.Error("a request panicked", "about", about, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, task.PanicMessage(about, r))
	}
}
