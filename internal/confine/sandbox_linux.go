package confine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock"
	landlocked "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Sandbox confines all threads of the process permanently. It returns the layers that
// the kernel or the container does not support; the others are effective.
//
// There is no limit on the number of processes (RLIMIT_NPROC), since the kernel
// counts all threads of the user, including those in other containers: seccomp
// denies new processes instead. There is no limit on CPU time (RLIMIT_CPU), since a
// worker is used for many renderings: the server ends each after its time limit.
func Sandbox() []Gap {
	load()
	// The seccomp filter applies to all threads if the calling one has
	// no_new_privs.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var gaps []Gap
	for _, layer := range []struct {
		name  Layer
		enter func() error
	}{
		{Undumpable, undump},
		{Landlock, enterLandlock}, // first, since it needs a descriptor and system calls of its own
		{ResourceLimits, limitResources},
		{Seccomp, filter},
	} {
		if err := layer.enter(); err != nil {
			gaps = append(gaps, Gap{layer.name, err.Error()})
		}
	}
	return gaps
}

// load initializes lazily what the sandbox would prevent: the poller of the
// runtime, whose failure would end the process, and the local time zone.
func load() {
	time.AfterFunc(time.Hour, func() {}).Stop()
	_ = time.Now().Local().String()
}

// Seclude protects a process that starts others and is not confined itself: it
// prevents other processes of the user from tracing it and from reading its memory
// and environment, and its children from inheriting descriptors.
func Seclude() error {
	err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // before Linux 5.11
		err = nil
	}
	return errors.Join(undump(), err)
}

// SandboxFetcher confines all threads of a fetch process permanently: it keeps the
// network and open descriptors, and can only read the given files and directories,
// as far as they exist. It cannot write files, start processes, gain privileges or,
// from Linux 6.12, signal other processes. It returns the layers that are not
// supported; the others are effective.
//
// There is no seccomp filter: a resolver and TLS need many system calls, and the
// network, which a filter would protect, is available anyway.
func SandboxFetcher(readable ...string) []Gap {
	var gaps []Gap
	if err := Seclude(); err != nil {
		gaps = append(gaps, Gap{Undumpable, err.Error()})
	}
	if err := landlockFetcher(readable); err != nil {
		gaps = append(gaps, Gap{Landlock, err.Error()})
	}
	return gaps
}

func landlockFetcher(readable []string) error {
	kernel := landlock.V11.BestEffort()
	// ReadDir only applies to directories, and the kernel refuses it in a rule for
	// a file.
	const file, directory = landlocked.AccessFSReadFile, landlocked.AccessFSReadFile | landlocked.AccessFSReadDir
	var rules []landlock.Rule
	for _, path := range readable {
		info, err := os.Stat(path)
		switch {
		case err != nil: // its reader will not find it either
		case info.IsDir():
			rules = append(rules, landlock.PathAccess(directory, path))
		default:
			rules = append(rules, landlock.PathAccess(file, path))
		}
	}
	if err := errors.Join(kernel.RestrictPaths(rules...), kernel.RestrictScoped()); err != nil {
		return err
	}
	return verifyLandlock()
}

// undump makes the process undumpable. See PR_SET_DUMPABLE(2const), ptrace(2).
func undump() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

func enterLandlock() error {
	err := landlock.V11.BestEffort().Restrict()
	if err != nil {
		return err
	}
	return verifyLandlock()
}

// verifyLandlock returns an error if files are not denied: BestEffort also succeeds if
// the kernel has no Landlock.
func verifyLandlock() error {
	if f, err := os.Open("/"); err == nil {
		f.Close()
		return errors.New(
			"not available: it requires Linux 5.13 or later with landlock in /sys/kernel/security/lsm, and a seccomp profile that allows it")
	}
	return nil
}

// limitResources denies new file descriptors.
func limitResources() error {
	var faults []error
	for _, resource := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_CORE} {
		faults = append(faults, unix.Setrlimit(resource, &unix.Rlimit{}))
	}
	return errors.Join(faults...)
}

func filter() error {
	rules, err := policy(os.Getpid())
	if err != nil {
		return err
	}
	load := seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, Policy: rules}
	if err := seccomp.LoadFilter(load); err != nil {
		return fmt.Errorf("not available: %w; it requires a kernel with seccomp filters, and a seccomp profile that allows them", err)
	}
	return nil
}
