package confine

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// The test binary is also the process that is confined, or is not, and tries.
const (
	tries    = "SANDBOX_TEST_TRIES"
	dir      = "SANDBOX_TEST_DIR"
	listener = "SANDBOX_TEST_LISTENER"
)

func TestMain(m *testing.M) {
	how := os.Getenv(tries)
	if how == "" {
		os.Exit(m.Run())
	}
	if how == "secluded" {
		fmt.Print(secluded())
		return
	}
	if name, ok := strings.CutPrefix(how, "without "); ok {
		if err := refuse(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	from := surroundings{os.Getenv(dir), os.Getenv(listener), os.Getppid()}
	var said report
	if how != "free" {
		for _, gap := range Sandbox() {
			said.Gaps = append(said.Gaps, gap.String())
		}
	}
	said.Tries = map[string]string{}
	for name, try := range attempts {
		said.Tries[name] = ""
		if err := try(from); err != nil {
			said.Tries[name] = err.Error()
		}
	}
	said.Works = fmt.Sprint(works())
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// secluded says what Seclude changes, before and after: whether the process can be
// dumped, and whether descriptor 3 goes to processes that it starts.
func secluded() string {
	look := func() string {
		dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		flags, _ := unix.FcntlInt(3, unix.F_GETFD, 0)
		return fmt.Sprintf("dumpable %d, inherited %t", dumpable, flags&unix.FD_CLOEXEC == 0)
	}
	before := look()
	if err := Seclude(); err != nil {
		return err.Error()
	}
	return before + "; " + look()
}

// refuse makes a system call fail, as the seccomp profile of a container would.
func refuse(name string) error {
	runtime.LockOSThread()
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls:      []seccomp.SyscallGroup{{Action: seccomp.ActionErrno, Names: []string{name}}},
	}})
}

// report is what such a process says: what is missing of its sandbox, and the
// error of each attempt; empty if it worked.
type report struct {
	Gaps  []string
	Tries map[string]string
	Works string
}

type surroundings struct {
	dir, listener string
	parent        int
}

func reads(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 1))
	return err
}

// memoryOfParent reads where the parent has something, as its maps say.
func memoryOfParent(from surroundings) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", from.parent))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(maps), "-")
	address, err := strconv.ParseInt(first, 16, 64)
	if err != nil {
		return err
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", from.parent))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(make([]byte, 8), address)
	return err
}

func connects(network, address string) error {
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("x"))
	return err
}

// attempts are what a process may do that is not confined, and must not do in the
// sandbox.
var attempts = map[string]func(surroundings) error{
	"read a file":            func(surroundings) error { return reads("/etc/passwd") },
	"list a directory":       func(surroundings) error { _, err := os.ReadDir("/"); return err },
	"look at a file":         func(surroundings) error { _, err := os.Stat("/etc/passwd"); return err },
	"change the directory":   func(surroundings) error { return os.Chdir("/proc") },
	"write a file":           func(from surroundings) error { return os.WriteFile(filepath.Join(from.dir, "file"), nil, 0o600) },
	"remove a file":          func(from surroundings) error { return os.Remove(filepath.Join(from.dir, "victim")) },
	"create 1000 files":      manyFiles,
	"open a pipe":            func(surroundings) error { _, _, err := os.Pipe(); return err },
	"memory as a file":       func(surroundings) error { _, err := unix.MemfdCreate("x", 0); return err },
	"TCP":                    func(from surroundings) error { return connects("tcp", from.listener) },
	"UDP":                    func(from surroundings) error { return connects("udp", from.listener) },
	"a Unix socket":          func(from surroundings) error { return connects("unix", filepath.Join(from.dir, "socket")) },
	"an abstract socket":     func(from surroundings) error { return connects("unix", "@"+filepath.Join(from.dir, "socket")) },
	"listen":                 func(surroundings) error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
	"run a program":          runsItself,
	"fork":                   forks,
	"environment of parent":  func(from surroundings) error { return reads(fmt.Sprintf("/proc/%d/environ", from.parent)) },
	"memory of parent":       memoryOfParent,
	"trace the parent":       tracesParent,
	"signal the parent":      func(from surroundings) error { return syscall.Kill(from.parent, syscall.SIGURG) },
	"signal a thread of it":  func(from surroundings) error { return unix.Tgkill(from.parent, from.parent, unix.SIGURG) },
	"hold the parent":        func(from surroundings) error { _, err := unix.PidfdOpen(from.parent, 0); return err },
	"be dumpable again":      func(surroundings) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
	"raise a limit":          func(surroundings) error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}) },
	"memory that holds code": mapsCode,
	"a ring of io_uring":     ioUring,
	"priority":               func(surroundings) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 1) },
	"signals by a pipe":      func(from surroundings) error { _, err := unix.FcntlInt(1, unix.F_SETOWN, from.parent); return err },
}

func manyFiles(from surroundings) error {
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(from.dir, fmt.Sprint("many-", i)), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func runsItself(surroundings) error {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = []string{} // else it would try all of this again
	return cmd.Run()
}

func forks(surroundings) error {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
	_, err := syscall.Wait4(int(pid), nil, 0, nil)
	return err
}

func tracesParent(from surroundings) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(from.parent); err != nil {
		return err
	}
	if err := unix.PtraceInterrupt(from.parent); err != nil {
		return err
	}
	if _, err := unix.Wait4(from.parent, nil, unix.WALL, nil); err != nil {
		return err
	}
	return unix.PtraceDetach(from.parent)
}

func mapsCode(surroundings) error {
	code, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		unix.Munmap(code)
	}
	return err
}

func ioUring(surroundings) error {
	var params [120]byte // struct io_uring_params
	ring, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(ring))
}

// works does what rendering does: it computes in many goroutines, allocates,
// collects, waits, and is interrupted.
func works() error {
	var all sync.WaitGroup
	sums := make([]int, 16)
	for i := range sums {
		all.Go(func() {
			runtime.LockOSThread() // each a thread of its own
			var kept [][]byte
			for n := range 200 {
				kept = append(kept, make([]byte, 64<<10))
				sums[i] += len(kept[n/2])
			}
			<-time.After(time.Millisecond)
		})
	}
	runtime.GC()
	all.Wait()
	for _, sum := range sums {
		if sum != 200*64<<10 {
			return fmt.Errorf("a sum is %d", sum)
		}
	}
	return nil
}

// try runs the attempts in a process of their own.
func try(t *testing.T, how string) report {
	t.Helper()
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "victim"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var address string
	for _, at := range []struct{ network, address string }{{"tcp", "127.0.0.1:0"}, {"unix", filepath.Join(from, "socket")},
		{"unix", "@" + filepath.Join(from, "socket")}} {
		lis, err := net.Listen(at.network, at.address)
		if err != nil {
			t.Fatal(err)
		}
		defer lis.Close()
		if at.network == "tcp" {
			address = lis.Addr().String()
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{tries + "=" + how, dir + "=" + from, listener + "=" + address}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", how, err, out)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%s: %v: %s", how, err, out)
	}
	if r.Works != fmt.Sprint(nil) {
		t.Errorf("%s: what rendering needs: %s", how, r.Works)
	}
	return r
}

// TestSandbox tries to get out, and does the same without a sandbox, by which it
// shows that the attempts are some.
func TestSandbox(t *testing.T) {
	free, confined := try(t, "free"), try(t, "confined")
	for _, gap := range confined.Gaps {
		if !strings.HasPrefix(gap, string(Landlock)) { // not all kernels have it
			t.Errorf("missing: %s", gap)
		}
	}
	worked := 0
	for name, fault := range free.Tries {
		if fault == "" {
			worked++
		} else {
			t.Logf("not possible here without a sandbox, either: %s: %s", name, fault)
		}
		if confined.Tries[name] == "" {
			t.Errorf("possible in the sandbox: %s", name)
		}
	}
	// What an unprivileged user of a container may not do: trace its parent, io_uring.
	if worked < len(attempts)-6 {
		t.Errorf("only %d of %d attempts work without a sandbox", worked, len(attempts))
	}
}

// TestSeclude is about the server, which is not confined.
func TestSeclude(t *testing.T) {
	stray, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.ExtraFiles = []string{tries + "=secluded"}, []*os.File{stray}
	out, err := cmd.Output()
	if want := "dumpable 1, inherited true; dumpable 0, inherited false"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}

// TestGaps: where a container's profile refuses a layer, the others hold, the
// process works, and says what is missing.
func TestGaps(t *testing.T) {
	for refused, tt := range map[string]struct {
		gap   Layer
		holds []string
	}{
		"seccomp":                 {Seccomp, []string{"create 1000 files", "open a pipe", "TCP", "a Unix socket", "environment of parent"}},
		"landlock_create_ruleset": {Landlock, []string{"read a file", "TCP", "run a program", "fork", "signal the parent", "memory of parent"}},
		"prlimit64":               {ResourceLimits, []string{"read a file", "open a pipe", "TCP"}},
	} {
		r := try(t, "without "+refused)
		found := false
		for _, gap := range r.Gaps {
			found = found || strings.HasPrefix(gap, string(tt.gap)+": ")
		}
		if !found {
			t.Errorf("without %s the gaps are %q", refused, r.Gaps)
		}
		for _, name := range tt.holds {
			if r.Tries[name] == "" {
				t.Errorf("without %s: possible: %s", refused, name)
			}
		}
	}
}
