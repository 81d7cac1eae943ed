package worker

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// endCause returns why a worker ended before its job did, for the log and the
// client.
func (p *process) endCause(ctx context.Context, dir string) *task.Ended {
	if p.killedAt > 0 {
		return newEnded(task.Memory, codes.ResourceExhausted,
			"%s: rendering was stopped at %d MiB of memory; the limit is %d; fix: raise --worker-memory, or make the component smaller", dir,
			p.killedAt>>20, p.limit>>20)
	}
	if ctx.Err() != nil {
		return &task.Ended{Cause: task.CauseOf(ctx), Err: ctx.Err()}
	}
	last := p.stderr.String()
	if last == "" && !p.cmd.ProcessState.Exited() {
		return newEnded(task.Crash, codes.Unavailable,
			"%s: the worker process that rendered it was killed from outside, as the kernel does when a container's memory is used up; "+
				"compare the container's memory limit with --worker-memory and --parallel", dir)
	}
	switch cause := runtimeCause(last); {
	case cause == task.Stack:
		return newEnded(task.Stack, codes.ResourceExhausted,
			"%s: templates call each other endlessly, or a value contains itself: their stack exceeded %d MiB; "+
				"end the recursion, or raise --worker-memory for a larger stack", dir, p.limit/confine.StackShare>>20)
	case cause == task.Memory && p.limit > 0:
		return newEnded(task.Memory, codes.ResourceExhausted,
			"%s: a rendering tried to allocate far more memory at once than its limit of %d MiB; "+
				"fix: raise --worker-memory, or make the component smaller", dir, p.limit>>20)
	case cause == task.Memory:
		return newEnded(task.Memory, codes.ResourceExhausted,
			"%s: a rendering tried to allocate more memory than the system has; fix: make the component smaller, and set --worker-memory", dir)
	}
	// Its output is only logged: a worker serves different Applications, and the
	// output may be about another one.
	return newEnded(task.Crash, codes.Internal,
		"%s: the worker process that rendered it ended; this is a bug of the plugin, its log has the details",
		dir)
}

func newEnded(cause task.Cause, code codes.Code, format string, args ...any) *task.Ended {
	return &task.Ended{Cause: cause, Err: status.Errorf(code, format, args...)}
}

// Messages of Go's runtime when it fails to allocate memory. confine.Memory sets a
// limit far above what the process may use, and any allocation can fail: the memory
// of a slice, the runtime's bookkeeping, or the stack of a new thread. Nothing else
// identifies this case: the runtime exits with status 2 as for a panic, runs no
// code of ours, and the memory used until then (rusage) may be small.
//
// Sources, of Go 1.26: throw in runtime/mem_linux.go, malloc.go, mheap.go,
// mcache.go, mpagealloc.go and stack.go; newosproc in runtime/os_linux.go; and, where a
// program is built with cgo, x_cgo_thread_start in runtime/cgo, and sighandler in
// runtime/signal_unix.go: a fault in C, such as in a thread that got no memory. One in
// Go is a panic.
var (
	memoryMessages = []string{"out of memory", "cannot allocate memory", "failed to create new OS thread",
		"pthread_create failed", "SIGSEGV: segmentation violation\nPC="}
	stackMessages = []string{"stack exceeds", "stack overflow"} // newstack in runtime/stack.go
)

// runtimeCause returns why the runtime ended a process, from its last output: Stack,
// Memory or Crash. Only the text before the goroutine traces counts, since those
// contain function names, and a panic is a Crash, since its text is arbitrary.
func runtimeCause(last string) task.Cause {
	reason, _, _ := strings.Cut(strings.TrimSpace(last), "\n\n")
	contains := func(words string) bool { return strings.Contains(reason, words) }
	switch {
	case strings.HasPrefix(reason, "panic: "):
		return task.Crash
	case slices.ContainsFunc(stackMessages, contains):
		return task.Stack
	case slices.ContainsFunc(memoryMessages, contains):
		return task.Memory
	}
	return task.Crash
}
