package suite

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// enoughPings are more than gRPC's server takes from a client that pings more
// often than it may: two such pings are forgiven, and the first ping of all
// cannot be one. With the fourth it hangs up.
const enoughPings = 5

// beginPingedStream opens a stream, holds it open until the client has pinged
// often, and only then sends the repository. A server that thinks the pings
// too many hangs up. The returned case waits for the answer.
func (w world) beginPingedStream(t *testing.T) func(*testing.T) {
	t.Helper()
	socket, pings := countPings(t, w.serve.socket())
	plugin := w.dialSocket(t, socket)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	seen := 0
	answered := make(chan error, 1)
	go func() {
		_, err := plugin.GenerateManifest(ctx, Repository{Root: w.dir("components"), Path: "shop", Sending: func(message int) {
			for message == 1 && seen < enoughPings {
				if _, connected := <-pings; !connected {
					return
				}
				seen++
			}
		}})
		answered <- err
	}()
	return func(t *testing.T) {
		if err := <-answered; err != nil {
			t.Errorf("after %d pings: %v", seen, err)
		}
	}
}

// countPings puts itself before a socket. It returns a socket that leads to
// the first one, and a channel on which each ping of a client is heard until
// its connection ends.
func countPings(t *testing.T, socket string) (string, <-chan struct{}) {
	t.Helper()
	front := filepath.Join(socketDir(t), "front.sock")
	lis, err := net.Listen("unix", front)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	pings := make(chan struct{}, 1000)
	go func() {
		defer close(pings)
		client, err := lis.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("unix", socket)
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			io.Copy(client, server)
			client.Close() // ends the forwarding below
		}()
		forward(server, client, func() { pings <- struct{}{} })
	}()
	return front, pings
}

// forward copies what an HTTP/2 client sends and calls ping for each of its
// pings (RFC 9113, sections 3.4, 4.1 and 6.7).
func forward(to io.Writer, from io.Reader, ping func()) error {
	const (
		preface  = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		pingType = 0x6
		ack      = 0x1
	)
	if _, err := io.CopyN(to, from, int64(len(preface))); err != nil {
		return err
	}
	for {
		var head [9]byte // length (24 bits), type, flags, stream
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return err
		}
		if head[3] == pingType && head[4]&ack == 0 {
			ping()
		}
		if _, err := to.Write(head[:]); err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(head[:4]) >> 8
		if _, err := io.CopyN(to, from, int64(length)); err != nil {
			return err
		}
	}
}
