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

// whyEnded is why a worker has ended before its job did, for the log and for who
// asked.
func (p *process) whyEnded(ctx context.Context, dir string) *task.Ended {
	if p.took > 0 {
		return ended(task.Memory, codes.ResourceExhausted,
			"%s: rendering took %d MiB of memory when it was stopped, and may take %d; fix: raise --worker-memory, or make the component smaller", dir, p.took>>20, p.limit>>20)
	}
	if ctx.Err() != nil {
		return &task.Ended{Cause: task.CauseOf(ctx), Err: ctx.Err()}
	}
	last := p.stderr.String()
	if last == "" && !p.cmd.ProcessState.Exited() {
		return ended(task.Crash, codes.Unavailable, "%s: the worker process that rendered it was killed from outside, as the kernel does when a container's memory is used up; compare the container's memory limit with --worker-memory and --parallel", dir)
	}
	switch cause := gaveUp(last); {
	case cause == task.Stack:
		return ended(task.Stack, codes.ResourceExhausted,
			"%s: templates call each other without end, or a value holds itself: their stack exceeded %d MiB; end the recursion (more stack comes with --worker-memory)", dir, p.limit/confine.StackShare>>20)
	case cause == task.Memory && p.limit > 0:
		return ended(task.Memory, codes.ResourceExhausted,
			"%s: rendering asked for far more memory at once than the %d MiB that it may take; fix: raise --worker-memory, or make the component smaller", dir, p.limit>>20)
	case cause == task.Memory:
		return ended(task.Memory, codes.ResourceExhausted,
			"%s: rendering asked for more memory than the system has; fix: make the component smaller, and set --worker-memory", dir)
	}
	// What it said is for the log alone: a worker serves one Application after the other,
	// and what it says may be of another.
	return ended(task.Crash, codes.Internal, "%s: the worker process that rendered it ended; this is a bug of the plugin, its log has the details", dir)
}

func ended(cause task.Cause, code codes.Code, format string, args ...any) *task.Ended {
	return &task.Ended{Cause: cause, Err: status.Errorf(code, format, args...)}
}

// What Go's runtime says when it gives up for want of memory. confine.Memory has the
// system refuse a process far more than it may take, and what is refused then may be
// anything: the memory of a slice, what the runtime keeps about it, or the stack of a
// new thread. There is nothing else to tell it by: the runtime exits with status 2 for
// this as for a panic, lets no code of ours run, and the memory that was used until
// then (rusage) may be little.
//
// Sources, of Go 1.26: throw in runtime/mem_linux.go, malloc.go, mheap.go, mcache.go,
// mpagealloc.go and stack.go; newosproc in runtime/os_linux.go; and
// x_cgo_thread_start in runtime/cgo, where a program is built with cgo.
var (
	wantOfMemory = []string{"out of memory", "cannot allocate memory", "failed to create new OS thread", "pthread_create failed"}
	wantOfStack  = []string{"stack exceeds", "stack overflow"} // newstack in runtime/stack.go
)

// gaveUp is why the runtime of a process ended it, by its last words: Stack, Memory or
// Crash. Only what precedes the traces of goroutines counts, which name functions, and
// a panic is a crash, since its text may be anybody's.
func gaveUp(last string) task.Cause {
	reason, _, _ := strings.Cut(strings.TrimSpace(last), "\n\n")
	says := func(words string) bool { return strings.Contains(reason, words) }
	switch {
	case strings.HasPrefix(reason, "panic: "):
		return task.Crash
	case slices.ContainsFunc(wantOfStack, says):
		return task.Stack
	case slices.ContainsFunc(wantOfMemory, says):
		return task.Memory
	}
	return task.Crash
}
