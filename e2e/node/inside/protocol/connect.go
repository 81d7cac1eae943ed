package protocol

import (
	"io"
	"net"
	"strings"
)

// Network is that of an address of [Spec.Forwards].
func Network(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

// Connect connects a client to an address until both have finished. If nothing
// listens there the client is closed, as a server that has just gone would.
func Connect(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial(Network(address), address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(server, client)
		server.(interface{ CloseWrite() error }).CloseWrite()
	}()
	io.Copy(client, server)
}
