// Package sandbox takes from a process what rendering does not need: files,
// sockets, other processes. What stays are the file descriptors that are open,
// memory, threads, the clock and random numbers.
//
// A worker renders what tenants commit. A template that breaks out of Go's memory
// safety, through a fault of a parser or of the compiler, finds itself in a process
// that can compute and write to its pipes, and nothing else.
package sandbox

// Layer is a part of the sandbox. Each holds without the others.
type Layer string

const (
	// Undumpable closes /proc/PID/mem, /proc/PID/environ and ptrace to other
	// processes of the same user.
	Undumpable Layer = "undumpable"
	// Landlock refuses files, TCP, and signals and abstract sockets to the outside,
	// as far as the kernel knows it: files from 5.13, TCP from 6.7, signals from 6.12.
	Landlock Layer = "landlock"
	// Limits refuse new file descriptors and core dumps.
	Limits Layer = "rlimits"
	// Seccomp refuses all system calls but those that a Go program computes with.
	Seccomp Layer = "seccomp"
)

// Gap is a layer that could not be put on.
type Gap struct {
	Layer Layer
	Why   string
}

func (g Gap) String() string { return string(g.Layer) + ": " + g.Why }
