package argocd

import (
	"net"
	"os/exec"
	"time"

	"github.com/ladder-cmp/ladder/e2e/program"
)

// start starts a program under a name, which Argo CD's program acts by.
func start(dir, path, name string, env []string, args ...string) (*program.Process, error) {
	return program.StartCommand(dir, name, &exec.Cmd{Path: path, Args: append([]string{name}, args...), Dir: dir, Env: env})
}

// listeningAt returns a condition that is true when a socket accepts connections.
func listeningAt(socket string) func() error {
	return func() error {
		conn, err := net.DialTimeout("unix", socket, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	}
}

// listening returns a condition that is true when an address accepts connections.
func listening(address string) func() error {
	return func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	}
}
