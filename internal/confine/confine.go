// Package confine limits the resources of processes that read untrusted input. The
// server starts one for each rendering and each fetch, and continues if it has to
// be killed.
//
// Its sandbox removes permissions that such a process does not need: files, sockets,
// other processes. It keeps open file descriptors, memory, threads, the clock and
// random numbers. A worker renders untrusted content of tenants. A template that
// bypasses Go's memory safety, through a bug of a parser or of the compiler, only
// has a process that can compute and write to its pipes.
package confine

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// StackShare is the share of a process's memory that one stack may use, as its
// inverse. The runtime doubles stacks and copies them, so it briefly needs three
// times as much.
const StackShare = 8

// relaxedGCPercent is the heap growth between collections, in percent, while memory is far
// from the limit: most processes finish before the first collection.
const relaxedGCPercent = 400

// Memory makes the garbage collector work harder near a limit, in bytes, at which
// Watch kills the process, and less far from it. Infinite recursion ends before the
// limit, with a message of its own. 0 means no limit.
func Memory(limit int64) {
	if limit <= 0 {
		return
	}
	debug.SetMemoryLimit(limit / 5 * 4)
	debug.SetGCPercent(relaxedGCPercent)
	debug.SetMaxStack(int(limit / StackShare))
	limitLeap(limit)
}

// Limits are the other limits of a process, besides Memory. 0 means no limit.
type Limits struct {
	CPU       time.Duration // of processor time
	FileBytes int64         // size of the largest file it writes
	OpenFiles int
}

// Apply limits this process, where the system supports it (Linux). It also disables
// core dumps.
func (l Limits) Apply() { l.apply() }

// CheckInterval is the interval for checking the memory of a process. In that time a process
// can allocate some ten megabytes.
const CheckInterval = 10 * time.Millisecond

// MemoryOf returns the private memory of a process in bytes; 0 if unknown. See
// proc(5), statm.
func MemoryOf(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}
