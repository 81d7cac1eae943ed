package worker

import (
	"os"
	"strconv"
	"syscall"
)

// nicer is how much nicer than the server a process is that is aside: it gets about
// a tenth of what another gets beside it, and all that others leave. See
// setpriority(2); the system call counts from 20 down.
const (
	nicer   = 10
	nicest  = 19
	highest = 20
)

// yieldProcessors has a process go on with what others leave of the processors.
// The system counts in threads, and those that come later are like the ones that
// made them; a second look finds those that came meanwhile.
func yieldProcessors(pid int) {
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return
	}
	nice := min(highest-own+nicer, nicest)
	for range 2 {
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return // it has ended
		}
		for _, thread := range threads {
			if id, err := strconv.Atoi(thread.Name()); err == nil {
				// Where it does not work, they share the processors.
				syscall.Setpriority(syscall.PRIO_PROCESS, id, nice)
			}
		}
	}
}
