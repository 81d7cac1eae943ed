package confine

import (
	"os"
	"strconv"
	"strings"
)

// MachineMemory returns the memory of this machine, or of the container around this process, in
// bytes; 0 if unknown.
func MachineMemory() int64 {
	least := int64(0)
	note := func(bytes int64, err error) {
		if err == nil && bytes > 0 && (least == 0 || bytes < least) {
			least = bytes
		}
	}
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			note(kib<<10, err)
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, _ := os.ReadFile(file)
		note(strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)) // "max" is not a number
	}
	return least
}
