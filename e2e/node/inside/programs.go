package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// events are written one at a time.
type events struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (e *events) tell(event protocol.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.enc.Encode(event) // nobody listens any more if that fails, and the end of input follows
}

// programs runs what it is asked for until nothing more can be.
func programs(in io.Reader, out io.Writer) error {
	sent := &events{enc: json.NewEncoder(out)}
	for requests := json.NewDecoder(in); ; {
		var run protocol.Run
		if err := requests.Decode(&run); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		go func() {
			await(run.After)
			event := protocol.Event{Name: run.Name, Ended: true}
			cmd, err := start(run)
			if err == nil {
				sent.tell(protocol.Event{Name: run.Name})
				err = cmd.Wait()
			}
			if err != nil {
				event.Error = err.Error()
			}
			sent.tell(event)
		}()
	}
}

// await waits until a socket accepts connections. Who started the node gives up when
// that takes too long, and ends it.
func await(socket string) {
	for socket != "" {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func start(run protocol.Run) (*exec.Cmd, error) {
	log, err := os.OpenFile(run.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(run.Path, run.Args...)
	cmd.Env = append(os.Environ(), run.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, cmd.Start()
}
