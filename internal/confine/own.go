package confine

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Own calls end when the memory of this process exceeds a limit, in bytes, until stop is called.
// Nothing outside of the process watches a program on a laptop or a runner. 0 means no limit.
//
// It counts what the runtime has from the system, so that a single large allocation is found
// before it is filled.
//
// It collects nothing before there is much, and then at percent ([debug.SetGCPercent]).
func Own(limit int64, percent int, end func()) (stop func()) {
	if limit <= 0 {
		debug.SetGCPercent(percent)
		return func() {}
	}
	// A collection that begins with a large allocation keeps this goroutine from running until the
	// program has filled it. So the collector starts when there is something to collect.
	debug.SetGCPercent(-1)
	before := debug.SetMemoryLimit(math.MaxInt64)
	done := make(chan struct{})
	go func() {
		collects := false
		tick := time.NewTicker(CheckInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			switch used := ownMemory(); {
			case used > limit:
				end()
				return
			case !collects && used > min(uncollected, limit/4):
				collects = true
				debug.SetGCPercent(percent)
				debug.SetMemoryLimit(limit / 5 * 4) // from there on, the collector works harder
			}
		}
	}()
	return func() {
		close(done)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(before)
	}
}

// uncollected is the memory from which on it is collected, in bytes.
const uncollected = 256 << 20

// ownMemory returns the memory that the runtime has from the system, in bytes.
func ownMemory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}
