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

// undump makes the process undumpable. See PR_SET_DUMPABLE(2const), ptrace(2).
func undump() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

func enterLandlock() error {
	err := landlock.V11.BestEffort().Restrict()
	if err != nil {
		return err
	}
	// BestEffort is content with nothing.
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
