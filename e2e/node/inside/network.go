package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// network gives the node an address on a link whose other end nobody uses, and a
// default route that leads nowhere, without which kube-proxy and the kubelet find no
// address.
func network(spec protocol.Spec) error {
	for _, args := range []string{
		"link set lo up",
		"link add eth0 type veth peer name sink0",
		"link set eth0 up",
		"link set sink0 up",
		"addr add " + spec.Address + " dev eth0",
		"route add default via " + spec.Gateway + " dev eth0",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	for key, value := range spec.Sysctls {
		path := filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return fmt.Errorf("setting %s: %w", key, err)
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
