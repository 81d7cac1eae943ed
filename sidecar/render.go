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
	tasks         task.Runner
	responseBytes int // see Config.ResponseBytes
	log           *slog.Logger
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
	if err == nil {
		err = r.checkExpanded(req.dir, a.Output)
	}
	if err != nil && errors.Is(err, slot.ctx.Err()) {
		err = &task.Ended{Cause: task.CauseOf(slot.ctx), Err: timeoutError(slot.ctx, req.dir, rendering)}
	}
	return a, err
}

// checkExpanded refuses a response that would exceed Argo CD's memory once aliases
// are expanded.
func (r *renderer) checkExpanded(dir string, out task.Output) error {
	size := 0
	for _, m := range out.Manifests {
		size += len(m)
	}
	size = max(size, out.Expanded)
	if limit := r.responseBytes; limit > 0 && size > limit {
		return status.Errorf(codes.ResourceExhausted,
			"%s: the manifests are %d bytes with YAML aliases expanded; the limit is %d; fix: split the component, or use fewer aliases", dir, size,
			limit)
	}
	return nil
}

// recoverPanic is deferred to keep a panic in one request from ending the server: the
// panic becomes the error. about describes the work, for messages.
func recoverPanic(log *slog.Logger, about string, err *error) {
	if r := recover(); r != nil {
		log.Error("a request panicked", "about", about, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, task.PanicMessage(about, r))
	}
}
