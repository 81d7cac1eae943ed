//go:build !linux && !darwin

package confine

// MachineMemory returns 0: the memory of this machine is unknown.
func MachineMemory() int64 { return 0 }
