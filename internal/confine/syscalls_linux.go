package confine

import (
	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// This is an allow-list: new kernels add system calls that a deny-list would miss
// (such as io_uring), and those of another architecture (32 bits on amd64) have
// other numbers. Go's runtime needs few, and they rarely change; a call that a new
// Go release needs fails with EPERM, and then the tests of the whole program fail.
//
// Sources: the runtime's calls are those of runtime/sys_linux_*.s, os_linux.go and
// internal/runtime/syscall/linux of Go 1.26; strace of the rendering tests showed
// no others. With cgo, which only tests use, threads are glibc's.

// alwaysAllowed are the calls that are allowed with any arguments, most frequent first.
var alwaysAllowed = []string{
	"futex", "read", "write", "epoll_pwait", "epoll_wait", "nanosleep", "sched_yield", "madvise", "munmap",
	"getpid", "gettid", "rt_sigreturn", "rt_sigprocmask", "rt_sigaction", "sigaltstack", "restart_syscall",
	"clock_gettime", "clock_nanosleep", "gettimeofday", "time", "getrandom",
	"epoll_ctl", "epoll_pwait2", "ppoll", "poll", "close", "fstat",
	"pread64", "sched_getaffinity", // the CPU limit, which the runtime reads every second
	"mincore", "exit", "exit_group",
	"brk", "mremap", "set_robust_list", "rseq", "writev", // glibc
	"getuid", "geteuid", "getgid", "getegid", "getcwd",
}

// unsupported are calls that fail with ENOSYS, so that glibc uses older ones.
var unsupported = []string{"clone3"}

// newNamespaces are flags of clone for anything but threads.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_VFORK | unix.CLONE_PTRACE

// policy returns the filter for a process.
func policy(pid int) (seccomp.Policy, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Policy{}, err
	}
	known := func(names []string) (here []string) {
		for _, name := range names {
			if _, ok := info.SyscallNames[name]; ok { // some exist only on amd64
				here = append(here, name)
			}
		}
		return here
	}
	is := func(argument uint32, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.Equal, Value: value}
	}
	without := func(argument uint32, bits uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsNotSet, Value: bits}
	}
	return seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, // EPERM
		Syscalls: []seccomp.SyscallGroup{
			{Action: seccomp.ActionAllow, Names: known(alwaysAllowed)},
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known(unsupported)},
			{Action: seccomp.ActionAllow, NamesWithCondtions: []seccomp.NameWithConditions{
				// Memory that is not executable.
				{Name: "mmap", Conditions: seccomp.ArgumentConditions{without(2, unix.PROT_EXEC)}},
				{Name: "mprotect", Conditions: seccomp.ArgumentConditions{without(2, unix.PROT_EXEC)}},
				// Threads, and the signals by which the runtime preempts them.
				{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet,
					Value: unix.CLONE_THREAD}, without(0, newNamespaces)}},
				{Name: "tgkill", Conditions: seccomp.ArgumentConditions{is(0, uint64(pid))}},
				// The type of a descriptor, for os.NewFile.
				{Name: "fcntl", Conditions: seccomp.ArgumentConditions{is(1, unix.F_GETFL)}},
				{Name: "fcntl", Conditions: seccomp.ArgumentConditions{is(1, unix.F_GETFD)}},
				// The runtime names its memory.
				{Name: "prctl", Conditions: seccomp.ArgumentConditions{is(0, unix.PR_SET_VMA)}},
			}},
		},
	}, nil
}
