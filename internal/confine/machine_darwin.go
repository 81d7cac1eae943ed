package confine

import "golang.org/x/sys/unix"

// MachineMemory returns the memory of this machine in bytes; 0 if unknown.
func MachineMemory() int64 {
	bytes, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(bytes)
}
