package sidecar

import "testing"

// TestGaveUp tells what ends a process by the words of Go 1.26.
func TestGaveUp(t *testing.T) {
	for last, want := range map[string]Cause{
		"fatal error: runtime: out of memory\n\nruntime stack:\nruntime.throw(...)":                                                       Memory,
		"fatal error: runtime: cannot allocate memory\n\nruntime stack:":                                                                  Memory,
		"runtime: out of memory: cannot allocate 1000341504-byte block (8028160 in use)\nfatal error: out of memory\n\ngoroutine 1":       Memory,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\nPC=0x7fb4796d5eec m=0\n\ngoroutine 0":      Memory,
		"runtime: failed to create new OS thread (have 9 already; errno=12)\nfatal error: newosproc\n\nruntime stack:":                    Memory,
		"runtime: goroutine stack exceeds 67108864-byte limit\nruntime: sp=0x1 stack=[0x1, 0x2]\nfatal error: stack overflow\n\nruntime:": Stack,
		"panic: assignment to entry in nil map\n\ngoroutine 7 [running]:":                                                                 Crash,
		"panic: values.yaml says out of memory\n\ngoroutine 7 [running]:":                                                                 Crash,
		"fatal error: concurrent map writes\n\ngoroutine 7 [running]:\nmain.stack overflow":                                               Crash,
		"": Crash,
	} {
		if got := gaveUp(last); got != want {
			t.Errorf("%q: %s, want %s", last, got, want)
		}
	}
}
