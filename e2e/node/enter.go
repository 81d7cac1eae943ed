package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
	"github.com/ladder-cmp/ladder/e2e/program"
)

// inside is process 1 of the node, as seen from here.
type inside struct {
	dir     string
	process *program.Process
	stdin   io.WriteCloser

	mu    sync.Mutex
	ended map[string]string // programs that have ended, and how
}

// enter starts the node's process 1. Programs that others look for on PATH, as
// containerd does for its shim, are in the directories of path.
func enter(bin, dir string, path ...string) (*inside, error) {
	cmd := exec.Command(bin, "join", dir)
	cmd.Env = append(os.Environ(), "PATH="+strings.Join(append(path, "/usr/sbin", "/usr/bin", "/sbin", "/bin"), ":"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	read, write := io.Pipe()
	cmd.Stdout = write
	p, err := program.StartCommand(dir, "inside", cmd)
	if err != nil {
		return nil, err
	}
	in := &inside{dir: dir, process: p, stdin: stdin, ended: map[string]string{}}
	go in.listen(read)
	return in, nil
}

// listen notes which programs end.
func (in *inside) listen(events io.Reader) {
	for sent := json.NewDecoder(events); ; {
		var event protocol.Event
		if sent.Decode(&event) != nil {
			return
		}
		if event.Ended {
			in.mu.Lock()
			in.ended[event.Name] = event.Error
			in.mu.Unlock()
		}
	}
}

// run starts a program in the node. That it ends is seen by await.
func (in *inside) run(name, path string, args ...string) error {
	return in.request(protocol.Run{Name: name, Path: path, Args: args})
}

// request is run for what needs more than a name and arguments.
func (in *inside) request(run protocol.Run) error {
	run.Log = in.log(run.Name)
	text, err := json.Marshal(run)
	if err != nil {
		return err
	}
	if _, err := in.stdin.Write(append(text, '\n')); err != nil {
		return errors.Join(fmt.Errorf("starting %s: %w", run.Name, err), in.failed())
	}
	return nil
}

func (in *inside) log(name string) string { return filepath.Join(in.dir, name+".log") }

// await calls ready until it returns no error, as long as every program runs.
func (in *inside) await(ctx context.Context, what string, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if failed := in.failed(); failed != nil {
			return failed
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; logs are in %s", what, err, in.dir)
		}
	}
}

// failed says which programs ended that should run.
func (in *inside) failed() error {
	select {
	case <-in.process.Ended:
		return in.process.Died()
	default:
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	var faults []error
	for name, how := range in.ended {
		text, _ := os.ReadFile(in.log(name))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		faults = append(faults, fmt.Errorf("%s ended (%s); its log %s ends with: %s",
			name, how, in.log(name), strings.Join(lines[max(0, len(lines)-5):], "\n")))
	}
	return errors.Join(faults...)
}

// stop ends everything in the node: without its process 1 the kernel kills the rest.
func (in *inside) stop() error {
	in.stdin.Close()
	select {
	case <-in.process.Ended:
		return nil
	case <-time.After(10 * time.Second):
		return in.process.Stop()
	}
}
