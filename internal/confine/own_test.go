package confine

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// TestOwnMemory ends a process that fills memory, in one step or in many, and no other.
func TestOwnMemory(t *testing.T) {
	debug.FreeOSMemory()
	limit := ownMemory() + 200<<20
	for name, use := range map[string]func(ended chan struct{}) int{
		"one large text": func(ended chan struct{}) int {
			text := strings.Repeat("x", 400<<20)
			<-ended
			return len(text)
		},
		"many small ones": func(ended chan struct{}) int {
			var all [][]byte
			for {
				select {
				case <-ended:
					return len(all)
				default:
					all = append(all, make([]byte, 1<<20))
				}
			}
		},
	} {
		ended := make(chan struct{})
		stop := Own(limit, 100, func() { close(ended) })
		if use(ended) == 0 {
			t.Errorf("%s: nothing was used", name)
		}
		stop()
		debug.FreeOSMemory()
	}
	before := debug.SetGCPercent(100)
	debug.SetGCPercent(before)
	stop := Own(0, 100, func() { t.Error("no limit was exceeded") })
	stop()
	limit = ownMemory() + 200<<20
	stop = Own(limit, 100, func() { t.Error("the limit was exceeded") })
	garbage := 0
	for i := range 2000 { // what is garbage does not count
		garbage += len(make([]byte, 1<<20))
		if i%64 != 0 || i == 0 {
			continue
		}
		// However busy the machine is: there is enough now for the next look to start the collector.
		for i == 64 && debug.SetGCPercent(-1) == -1 {
			<-time.After(CheckInterval)
		}
		debug.SetGCPercent(before)
		runtime.GC()
	}
	stop()
	if got := debug.SetGCPercent(before); got != before {
		t.Errorf("the collector is left at %d percent, was %d", got, before)
	}
	if MachineMemory() < 64<<20 && runtime.GOOS == "linux" {
		t.Errorf("a machine of %d bytes", MachineMemory())
	}
}
