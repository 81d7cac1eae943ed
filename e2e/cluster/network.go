package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// DialFunc leads a connection of the API server into the network of Services.
// The address is a ClusterIP and a port. An error is what a connection that
// nobody answers is.
type DialFunc func(ctx context.Context, address string) (net.Conn, error)

// network is the HTTP CONNECT proxy through which the API server reaches Services.
type network struct {
	server *http.Server
	dir    string // of the socket
	socket string

	mu   sync.RWMutex
	dial DialFunc
}

// newNetwork listens on a socket of its own folder, because the path of a socket
// must be short. (Over plain TCP the API server's egress ends in a panic.)
func newNetwork() (*network, error) {
	dir, err := os.MkdirTemp("", "services")
	if err != nil {
		return nil, fmt.Errorf("opening the network of Services: %w", err)
	}
	n := &network{dir: dir, socket: filepath.Join(dir, "socket")}
	listener, err := net.Listen("unix", n.socket)
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("opening the network of Services: %w", err)
	}
	n.server = &http.Server{Handler: n}
	go n.server.Serve(listener)
	return n, nil
}

func (n *network) close() error {
	return errors.Join(n.server.Close(), os.RemoveAll(n.dir))
}

func (n *network) route(dial DialFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dial = dial
}

func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	// The address is in the request line; the Host header names the proxy.
	backend, refusal := n.connect(r.Context(), r.RequestURI)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if refusal == nil {
			backend.Close()
		}
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if refusal != nil {
		// The API server repeats the status line to its client, and nothing else.
		fmt.Fprintf(client, "HTTP/1.1 502 %s\r\n\r\n", strings.Join(strings.Fields(refusal.Error()), " "))
		client.Close()
		return
	}
	io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go pipe(client, backend)
	go pipe(backend, client)
}

func (n *network) connect(ctx context.Context, address string) (net.Conn, error) {
	n.mu.RLock()
	dial := n.dial
	n.mu.RUnlock()
	if dial == nil {
		return nil, errors.New("no network of Services runs")
	}
	return dial(ctx, address)
}

func pipe(to, from net.Conn) {
	io.Copy(to, from)
	to.Close()
	from.Close()
}
