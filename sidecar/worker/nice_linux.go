package worker

import (
	"os"
	"strconv"
	"syscall"
)

// niceIncrement is the increase of the nice value for a process in the background: it gets about a
// tenth of the CPU of another one, and all that others leave. See setpriority(2);
// the system call counts from 20 down.
const (
	niceIncrement = 10
	nicest        = 19
	highest       = 20
)

// lowerPriority lowers the CPU priority of a process. The system call applies to
// threads, and new threads inherit from their creator; the second pass finds those
// created meanwhile.
func lowerPriority(pid int) {
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return
	}
	nice := min(highest-own+niceIncrement, nicest)
	for range 2 {
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return // the process has ended
		}
		for _, thread := range threads {
			if id, err := strconv.Atoi(thread.Name()); err == nil {
				// If it fails, the processes share the CPU equally.
				syscall.Setpriority(syscall.PRIO_PROCESS, id, nice)
			}
		}
	}
}
