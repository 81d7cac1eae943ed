package confine

// Layer is a layer of the sandbox. Layers are independent of each other.
type Layer string

const (
	// Undumpable protects /proc/PID/mem, /proc/PID/environ and ptrace from other
	// processes of the same user.
	Undumpable Layer = "undumpable"
	// Landlock denies files, TCP, and signals and abstract sockets to the outside,
	// as far as the kernel supports it: files from 5.13, TCP from 6.7, signals from
	// 6.12.
	Landlock Layer = "landlock"
	// ResourceLimits deny new file descriptors and core dumps.
	ResourceLimits Layer = "rlimits"
	// Seccomp denies all system calls except those a Go program needs to compute.
	Seccomp Layer = "seccomp"
)

// Gap is a layer that could not be enabled.
type Gap struct {
	Layer Layer
	Why   string
}

func (g Gap) String() string { return string(g.Layer) + ": " + g.Why }
