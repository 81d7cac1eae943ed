package confine

import (
	"syscall"
	"time"
)

func (l Limits) apply() {
	set := func(what int, most int64) {
		// If it fails, the deadline and Watch still work.
		_ = syscall.Setrlimit(what, &syscall.Rlimit{Cur: uint64(most), Max: uint64(most)})
	}
	set(syscall.RLIMIT_CORE, 0)
	if l.CPU > 0 {
		set(syscall.RLIMIT_CPU, int64((l.CPU+time.Second-1)/time.Second))
	}
	if l.FileBytes > 0 {
		set(syscall.RLIMIT_FSIZE, l.FileBytes)
	}
	if l.OpenFiles > 0 {
		set(syscall.RLIMIT_NOFILE, int64(l.OpenFiles))
	}
}
