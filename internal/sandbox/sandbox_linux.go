package sandbox

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

// Enter confines the process, all threads of it and for good. It returns the layers
// that are missing, because the kernel or the container refuses them; the others
// hold all the same.
//
// There is no limit on the number of processes (RLIMIT_NPROC), since the kernel
// counts all threads of the user, of other containers, too: seccomp refuses new
// processes instead. There is none on CPU time (RLIMIT_CPU), since a worker lives for
// many renderings: the server ends one at its time.
func Enter() []Gap {
	load()
	// The seccomp filter is put on all threads, if the one that does it has
	// no_new_privs.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var gaps []Gap
	for _, layer := range []struct {
		name  Layer
		enter func() error
	}{
		{Undumpable, undump},
		{Landlock, enterLandlock}, // before the others: it needs a descriptor and calls of its own
		{Limits, limit},
		{Seccomp, filter},
	} {
		if err := layer.enter(); err != nil {
			gaps = append(gaps, Gap{layer.name, err.Error()})
		}
	}
	return gaps
}

// load does what Go puts off until it is needed, and can do no longer in the
// sandbox: the poller of the runtime, without which it ends the process, and the
// local time zone.
func load() {
	time.AfterFunc(time.Hour, func() {}).Stop()
	_ = time.Now().Local().String()
}

// Seclude is for a process that starts others and is not confined itself: processes
// of its user can neither trace it nor read its memory and its environment, and those
// that it starts get no descriptors that it was started with by accident.
func Seclude() error {
	err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // before Linux 5.11
		err = nil
	}
	return errors.Join(undump(), err)
}

// EnterFetching confines a process that fetches, all threads of it and for good: it
// keeps the network and the descriptors that are open, and of the files it can read
// these and what is below them, as far as they exist. It can write and start none,
// gain no privileges, and, from Linux 6.12, signal no other process. It returns the
// layers that are missing; the others hold all the same.
//
// There is no seccomp filter: what a resolver and TLS call is much, and the network is
// the way out that it would close.
func EnterFetching(readable ...string) []Gap {
	var gaps []Gap
	if err := Seclude(); err != nil {
		gaps = append(gaps, Gap{Undumpable, err.Error()})
	}
	if err := landlockFetching(readable); err != nil {
		gaps = append(gaps, Gap{Landlock, err.Error()})
	}
	return gaps
}

func landlockFetching(readable []string) error {
	kernel := landlock.V11.BestEffort()
	// ReadDir is of directories alone, and the kernel refuses a rule that names it for
	// a file.
	const file, directory = landlocked.AccessFSReadFile, landlocked.AccessFSReadFile | landlocked.AccessFSReadDir
	var rules []landlock.Rule
	for _, path := range readable {
		info, err := os.Stat(path)
		switch {
		case err != nil: // it is missing for who reads it, too
		case info.IsDir():
			rules = append(rules, landlock.PathAccess(directory, path))
		default:
			rules = append(rules, landlock.PathAccess(file, path))
		}
	}
	if err := errors.Join(kernel.RestrictPaths(rules...), kernel.RestrictScoped()); err != nil {
		return err
	}
	return landlocks()
}

// undump makes the process undumpable. See PR_SET_DUMPABLE(2const), ptrace(2).
func undump() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

func enterLandlock() error {
	err := landlock.V11.BestEffort().Restrict()
	if err != nil {
		return err
	}
	return landlocks()
}

// landlocks says whether files are refused: BestEffort is content with nothing.
func landlocks() error {
	if f, err := os.Open("/"); err == nil {
		f.Close()
		return errors.New("the kernel has none (Linux 5.13 or later, and landlock in /sys/kernel/security/lsm), or the container's seccomp profile refuses it")
	}
	return nil
}

// limit refuses new file descriptors: those that are open are all.
func limit() error {
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
		return fmt.Errorf("%w; the kernel has none, or the container's seccomp profile refuses it", err)
	}
	return nil
}
