package argocd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a server that runs until it is stopped. Its output is in a file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// start starts a program under a name, which Argo CD's program acts by.
func start(dir, program, name string, env []string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = &exec.Cmd{Path: program, Args: append([]string{name}, args...), Dir: dir, Env: env, Stdout: out, Stderr: out,
		// A signal from the terminal is for the tests, which then stop their servers
		// in order. Servers do not outlive tests that are killed.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// await waits until ready says so, and fails early if the process ends.
func (p *process) await(ctx context.Context, ready func() bool) error {
	for !ready() {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended (%v); its log is %s", p.name, p.err, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; its log is %s", p.name, context.Cause(ctx), p.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// stop ends the process, gently at first.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// listening returns a condition: something accepts connections at an address.
func listening(address string) func() bool {
	return func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
}

// freePorts returns ports of loopback that nobody listened on a moment ago.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer lis.Close() // after all have been found, so that they differ
		ports = append(ports, lis.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
