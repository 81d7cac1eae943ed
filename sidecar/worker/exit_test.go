package worker

import (
	"testing"

	"github.com/ladder-cmp/ladder/sidecar/task"
)

// TestGaveUp tells what ends a process by the words of Go 1.26.
func TestGaveUp(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]task.Cause{
		"fatal error: runtime: out of memory\n\nruntime stack:\nruntime.throw(...)": task.Memory,
		"fatal error: runtime: cannot allocate memory\n\nruntime stack:":            task.Memory,
		"runtime: out of memory: cannot allocate 1000341504-byte block (8028160 in use)\n" +
			"fatal error: out of memory\n\ngoroutine 1": task.Memory,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n" +
			"PC=0x7fb4796d5eec m=0\n\ngoroutine 0": task.Memory,
		"SIGSEGV: segmentation violation\nPC=0x7fb4796d5eec m=3 sigcode=1 addr=0x18\n\n" +
			"goroutine 0 gp=0xc000402000 m=3 mp=0xc000400008": task.Memory,
		"panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1": task.Crash,
		"runtime: failed to create new OS thread (have 9 already; errno=12)\nfatal error: newosproc\n\nruntime stack:":   task.Memory,
		"runtime: goroutine stack exceeds 67108864-byte limit\nruntime: sp=0x1 stack=[0x1, 0x2]\n" +
			"fatal error: stack overflow\n\nruntime:": task.Stack,
		"panic: assignment to entry in nil map\n\ngoroutine 7 [running]:":                   task.Crash,
		"panic: values.yaml says out of memory\n\ngoroutine 7 [running]:":                   task.Crash,
		"fatal error: concurrent map writes\n\ngoroutine 7 [running]:\nmain.stack overflow": task.Crash,
		"": task.Crash,
	} {
		if got := runtimeCause(last); got != want {
			t.Errorf("%q: %s, want %s", last, got, want)
		}
	}
}
