package program

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Process is a server that runs until it is stopped.
type Process struct {
	Log   string        // file of its output
	Ended chan struct{} // closed when it has ended

	name string
	cmd  *exec.Cmd
	err  error // how it ended, once it has
}

// Start runs a program with its output in dir/name.log. It does not outlive the test
// binary, even if that is killed.
func Start(dir, name, path string, args ...string) (*Process, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	return StartCommand(dir, name, cmd)
}

// StartCommand is Start for a command that the caller has prepared.
func StartCommand(dir, name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{name: name, Log: filepath.Join(dir, name+".log"), cmd: cmd, Ended: make(chan struct{})}
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	cmd.Stderr = out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A signal from the terminal is for the tests, which stop their servers in order.
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL

	started := make(chan error)
	go func() {
		// The signal comes when the thread that started it ends, so the thread stays.
		runtime.LockOSThread()
		defer out.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.Ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

// Await calls ready until it returns no error. It fails early if the process ends.
func (p *Process) Await(ctx context.Context, ready func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.Ended:
			return p.Died()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w; its log is %s", p.name, context.Cause(ctx), err, p.Log)
		}
	}
}

// Stop ends the process and waits for its end.
func (p *Process) Stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Ended:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		<-p.Ended
		return fmt.Errorf("%s did not stop within 20 s and was killed; its log is %s", p.name, p.Log)
	}
	return nil
}

// Died says how a process ended that should run, with the end of its log.
func (p *Process) Died() error {
	text, _ := os.ReadFile(p.Log)
	return fmt.Errorf("%s ended (%v); its log %s ends with: %s", p.name, p.err, p.Log, lastLines(string(text), 5))
}

// FreePorts returns ports of loopback that nobody listened on a moment ago.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // after all have been found, so that they differ
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
