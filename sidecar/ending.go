package sidecar

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/internal/confine"
)

// fate is why a worker has ended before its job did, for the log and for who
// asked.
func (p *process) fate(ctx context.Context, dir string) (Cause, error) {
	if took := p.took.Load(); took > 0 {
		return Memory, status.Errorf(codes.ResourceExhausted,
			"%s: rendering took %d MiB of memory when it was stopped, and may take %d; raise --worker-memory, or make the component smaller", dir, took>>20, p.limit>>20)
	}
	if ctx.Err() != nil {
		e := overtime(ctx, dir)
		return e.cause, e.fault
	}
	last := p.last.String()
	if last == "" && !p.cmd.ProcessState.Exited() {
		return Crash, status.Errorf(codes.Unavailable, "%s: the worker process that rendered it was killed from outside, as the kernel does when a container's memory is used up; compare the container's memory limit with --worker-memory and --parallel", dir)
	}
	switch cause := gaveUp(last); {
	case cause == Stack:
		return Stack, status.Errorf(codes.ResourceExhausted,
			"%s: templates call each other without end, or a value holds itself: their stack exceeded %d MiB; end the recursion (more stack comes with --worker-memory)", dir, p.limit/confine.StackShare>>20)
	case cause == Memory && p.limit > 0:
		return Memory, status.Errorf(codes.ResourceExhausted,
			"%s: rendering asked for far more memory at once than the %d MiB that it may take; raise --worker-memory, or make the component smaller", dir, p.limit>>20)
	case cause == Memory:
		return Memory, status.Errorf(codes.ResourceExhausted,
			"%s: rendering asked for more memory than the system has; make the component smaller, and set --worker-memory", dir)
	}
	// What it said is for the log alone: a worker serves one Application after the other,
	// and what it says may be of another.
	return Crash, status.Errorf(codes.Internal, "%s: the worker process that rendered it ended; this is a bug of the plugin, its log has the details", dir)
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
func gaveUp(last string) Cause {
	reason, _, _ := strings.Cut(strings.TrimSpace(last), "\n\n")
	says := func(words string) bool { return strings.Contains(reason, words) }
	switch {
	case strings.HasPrefix(reason, "panic: "):
		return Crash
	case slices.ContainsFunc(wantOfStack, says):
		return Stack
	case slices.ContainsFunc(wantOfMemory, says):
		return Memory
	}
	return Crash
}

// overtime is the fault of a rendering whose context has ended.
func overtime(ctx context.Context, dir string) *ended {
	e := &ended{Deadline, deadline(ctx, dir, rendering)}
	if over, known := context.Cause(ctx).(*overdue); known && over.limit == renderTime {
		e.cause = RenderTimeout
	} else if context.Cause(ctx) == errYield {
		e.cause = Yielded
	} else if errors.Is(ctx.Err(), context.Canceled) {
		e.cause = Canceled
	}
	return e
}

// complaint keeps the beginning of what is written to it, where Go says why a
// program ends, and drops the rest.
type complaint struct {
	mu   sync.Mutex
	text []byte
}

const maxComplaint = 4 << 10

func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p[:min(len(p), maxComplaint-len(c.text))]...)
	return len(p), nil
}

func (c *complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

// forget drops what was said until now, which is not of the next job.
func (c *complaint) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = nil
}

// firstLine is the line that says why the process has ended.
func (c *complaint) firstLine() string {
	line, _, _ := strings.Cut(strings.TrimSpace(c.String()), "\n")
	if line == "" {
		return "it was killed"
	}
	return line
}
