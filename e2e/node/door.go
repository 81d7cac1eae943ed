package node

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/ladder-cmp/ladder/e2e/node/inside/protocol"
)

// door leads connections to a port of loopback into the node's network, through a
// Unix socket, which is not part of any network.
type door struct {
	dir      string // of sockets; their paths must be short
	listener net.Listener
}

func openDoor() (*door, error) {
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	d := &door{dir: dir, listener: listener}
	go d.serve()
	return d, nil
}

func (d *door) address() string         { return d.listener.Addr().String() }
func (d *door) apiserverSocket() string { return filepath.Join(d.dir, "apiserver") }
func (d *door) dnsSocket() string       { return filepath.Join(d.dir, "dns") }
func (d *door) registrySocket() string  { return filepath.Join(d.dir, "registry") }
func (d *door) close() error            { return errors.Join(d.listener.Close(), os.RemoveAll(d.dir)) }

func (d *door) serve() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		go protocol.Connect(client, d.apiserverSocket())
	}
}
