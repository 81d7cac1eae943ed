package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// process is a server that runs until it is stopped.
type process struct {
	name, log string
	cmd       *exec.Cmd
	ended     chan struct{} // closed when it has ended
	err       error         // how it ended, once it has
}

// start runs a program with its output in dir/name.log.
func start(dir, name, path string, args ...string) (*process, error) {
	log := filepath.Join(dir, name+".log")
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{name: name, log: log, cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	// A test that is killed takes its servers with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	started := make(chan error)
	go func() {
		// The signal comes when the thread that started it ends, so the thread stays.
		runtime.LockOSThread()
		defer out.Close()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

// stop ends the process and waits for its end.
func (p *process) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not stop within 20 s and was killed; its log is %s", p.name, p.log)
	}
	return nil
}

// died says how a process ended that should run, with the end of its log.
func (p *process) died() error {
	text, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s ended (%v); its log %s ends with: %s", p.name, p.err, p.log, lastLines(string(text), 5))
}
