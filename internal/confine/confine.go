// Package confine bounds what a process takes that reads what others wrote: the server
// starts one for each rendering and each fetch, and goes on when it has to be ended.
package confine

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// StackShare is the part of a process's memory that one stack may take, as its
// inverse. The runtime doubles stacks and copies them, so that three times as
// much is needed for a moment.
const StackShare = 8

// patience is how far the heap may grow between collections, in percent, while
// it is far from the limit: most processes end what they do before one.
const patience = 400

// Memory makes the garbage collector of this process work harder near a limit, in
// bytes, at which Watch ends the process, and less far from it; and endless recursion
// end by itself before the limit, with a message of its own. 0 is no limit.
func Memory(limit int64) {
	if limit <= 0 {
		return
	}
	debug.SetMemoryLimit(limit / 5 * 4)
	debug.SetGCPercent(patience)
	debug.SetMaxStack(int(limit / StackShare))
	limitLeap(limit)
}

// Limits are what else a process may take, beside Memory. 0 is no limit.
type Limits struct {
	CPU       time.Duration // of processor time
	FileBytes int64         // of the largest file that it writes
	OpenFiles int
}

// Apply bounds this process, where the system can (Linux). It writes no core, either.
func (l Limits) Apply() { l.apply() }

// Pace is how often the memory of a process is looked at. In that time a process
// can take some ten megabytes.
const Pace = 10 * time.Millisecond

// MemoryOf is the memory that a process has to itself, in bytes; 0 where the
// system does not tell. See proc(5), statm.
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
