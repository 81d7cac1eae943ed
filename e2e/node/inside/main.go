// Command inside is process 1 of a node: it runs in namespaces and cgroups of its own, mounts
// what a node's programs expect to find, gives the node a network, and runs programs
// when it is told to on its standard input. When its standard input ends, or it is
// killed, everything in it ends.
//
// It is started twice: `inside join DIR` moves itself into the cgroups that DIR/node.json
// names, and starts `inside init DIR` in new namespaces, so that those begin with these
// cgroups as their roots.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "inside:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: inside join|init DIR")
	}
	text, err := os.ReadFile(filepath.Join(args[1], "node.json"))
	if err != nil {
		return err
	}
	var spec protocol.Spec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	if args[0] == "join" {
		return join(args[1], spec)
	}
	return initialize(spec)
}

// join starts init in the node's cgroups and in separate namespaces, connects it to its
// router, and waits for its end.
func join(dir string, spec protocol.Spec) error {
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, cgroup := range spec.Cgroups {
		if err := os.WriteFile(filepath.Join(cgroup, "cgroup.procs"), self, 0); err != nil {
			return fmt.Errorf("joining a cgroup: %w", err)
		}
	}
	cmd := exec.Command("/proc/self/exe", "init", dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID | syscall.CLONE_NEWCGROUP,
		Pdeathsig: syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := connect(dir, cmd.Process.Pid, spec.Router); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd.Wait()
}

func initialize(spec protocol.Spec) error {
	for _, step := range []func(protocol.Spec) error{mounts, network, forwards} {
		if err := step(spec); err != nil {
			return err
		}
	}
	return programs(os.Stdin, os.Stdout)
}
