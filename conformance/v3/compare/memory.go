package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// pace is how often the memory of a server is looked at.
const pace = 10 * time.Millisecond

// watchMemory looks at the memory of a server and of all processes that it has
// started, until the returned function is called, which returns the peak in
// bytes.
func (s *server) watchMemory() func() int64 {
	end, peak := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		most := treeMemory(s.cmd.Process.Pid)
		for {
			select {
			case <-end:
				peak <- max(most, treeMemory(s.cmd.Process.Pid))
				return
			case <-tick.C:
				most = max(most, treeMemory(s.cmd.Process.Pid))
			}
		}
	}()
	return func() int64 { close(end); return <-peak }
}

// treeMemory is the resident memory of a process and its descendants. What
// processes of one program share, which is the program itself, counts once.
func treeMemory(pid int) int64 {
	var own int64
	shared := map[string]int64{}
	for _, pid := range descendants(pid) {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		text, err := os.ReadFile(filepath.Join(proc, "statm"))
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 3 {
			continue // it has ended
		}
		resident, _ := strconv.ParseInt(fields[1], 10, 64)
		files, _ := strconv.ParseInt(fields[2], 10, 64)
		program, _ := os.Readlink(filepath.Join(proc, "exe"))
		own += resident - files
		shared[program] = max(shared[program], files)
	}
	for _, files := range shared {
		own += files
	}
	return own * int64(os.Getpagesize())
}

// cpuTime returns the processor time of a server and of all processes that it has started.
func (s *server) cpuTime() time.Duration {
	ticks := int64(0)
	for _, pid := range descendants(s.cmd.Process.Pid) {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, numbers, _ := strings.Cut(string(text), ") ") // after its name
		fields := strings.Fields(numbers)
		if err != nil || len(fields) < 15 {
			continue // it has ended
		}
		for _, field := range fields[11:15] { // of it and of its ended children, as user and in the kernel
			n, _ := strconv.ParseInt(field, 10, 64)
			ticks += n
		}
	}
	const perSecond = 100 // USER_HZ
	return time.Duration(ticks) * time.Second / perSecond
}

// descendants are a process and all below it.
func descendants(pid int) []int {
	all := []int{pid}
	// Each thread has children of its own. See proc(5).
	lists, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, descendants(child)...)
			}
		}
	}
	return all
}
