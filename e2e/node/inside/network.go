package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// network gives the node an address. If it has no router, this is on a link whose other
// end nobody uses, with a default route that leads nowhere: without these kube-proxy and the
// kubelet find no address.
func network(spec protocol.Spec) error {
	commands := []string{"link set lo up"}
	if spec.Router == nil {
		commands = append(commands, "link add eth0 type veth peer name sink0", "link set sink0 up")
	} else if err := awaitLink("eth0"); err != nil {
		return err
	}
	if err := ip(nil, append(commands,
		"link set eth0 up",
		"addr add "+spec.Address+" dev eth0",
		"route add default via "+spec.Gateway+" dev eth0",
	)...); err != nil {
		return err
	}
	for key, value := range spec.Sysctls {
		path := filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return fmt.Errorf("setting %s: %w", key, err)
		}
	}
	return nil
}

// ip runs commands of ip(8), through another program if prefix names one.
func ip(prefix []string, commands ...string) error {
	for _, args := range commands {
		words := slices.Concat(prefix, []string{"ip"}, strings.Fields(args))
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	return nil
}

func forwards(spec protocol.Spec) error {
	for from, to := range spec.Forwards {
		listener, err := net.Listen(protocol.Network(from), from)
		if err != nil {
			return err
		}
		go forward(listener, to)
	}
	return nil
}

func forward(listener net.Listener, to string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "inside:", err)
			return
		}
		go protocol.Connect(client, to)
	}
}

// pollTimeout is how long a node and its router wait for each other.
const pollTimeout = 20 * time.Second

// awaitLink waits until a link is in this network.
func awaitLink(name string) error {
	for end := time.Now().Add(pollTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := net.InterfaceByName(name); err == nil {
			return nil
		}
	}
	return fmt.Errorf("link %s did not appear", name)
}

// connect tells others of process 1 of a node, and gives it a link to its router. Both
// ends are made in their networks: the host's has no part in it.
func connect(dir string, pid int, router *protocol.Router) error {
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return err
	}
	if router == nil {
		return nil
	}
	routerPID, err := readPID(router.Dir)
	if err != nil {
		return err
	}
	return ip([]string{"nsenter", "--target=" + routerPID, "--net"},
		fmt.Sprintf("link add %s type veth peer name eth0 netns %d", router.Link, pid),
		fmt.Sprintf("addr add %s dev %s", router.Address, router.Link),
		fmt.Sprintf("link set %s up", router.Link),
		fmt.Sprintf("route add %s via %s", router.Pods, router.Via),
	)
}

// readPID waits for the number of another node's process 1.
func readPID(dir string) (pid string, err error) {
	for end := time.Now().Add(pollTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(dir, "pid")); err == nil && len(text) > 0 {
			return string(text), nil
		}
	}
	return "", fmt.Errorf("finding the router: %w", err)
}
