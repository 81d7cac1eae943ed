package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// Listen creates the socket at path, which the repo-server finds by its name. It
// replaces the socket of a server that no longer runs, but neither a socket that a
// server listens on nor any other file. Closing the listener removes the socket.
func Listen(path string) (net.Listener, error) {
	// A longer path exceeds the size of a socket address.
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("listen on %s: the path has more than %d characters; fix: shorten it", path, maxSocketPath)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("listen on %s: the path exists and is not a socket; fix: move it away", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, fmt.Errorf("listen on %s: another plugin server is already listening; fix: stop it", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, listenFault(path, err)
		}
	}
	lis, err := net.Listen("unix", path)
	if err != nil {
		return nil, listenFault(path, err)
	}
	// The repo-server runs as the same user or in the same group.
	if err := os.Chmod(path, 0o770); err != nil {
		lis.Close()
		return nil, listenFault(path, err)
	}
	file, err := os.Lstat(path)
	if err != nil {
		lis.Close()
		return nil, listenFault(path, err)
	}
	own := lis.(*net.UnixListener)
	own.SetUnlinkOnClose(false)
	return &socket{own, path, file}, nil
}

const maxSocketPath = 107

// socket is a listener that knows its file. It ignores a newer socket of another
// server at the same path.
type socket struct {
	*net.UnixListener
	path string
	file fs.FileInfo
}

// exists reports whether the repo-server still finds this socket.
func (s *socket) exists() bool {
	file, err := os.Lstat(s.path)
	return err == nil && os.SameFile(file, s.file)
}

func (s *socket) Close() error {
	if s.exists() {
		os.Remove(s.path)
	}
	return s.UnixListener.Close()
}

// socketCheckInterval is the interval for checking that the socket exists.
const socketCheckInterval = time.Second

// socketKeeper recreates a socket that was removed. Otherwise the repo-server could
// no longer reach the server, and nothing would report that.
type socketKeeper struct {
	log   *slog.Logger
	serve func(net.Listener) error
	// lost is called with true when a socket cannot be recreated, because the path
	// is taken or its directory was removed, and with false when it exists again.
	lost  func(bool)
	fault string // why it cannot be created; "" if it exists
}

// keep maintains a listener's socket until ctx ends.
func (k *socketKeeper) keep(ctx context.Context, first net.Listener) {
	now, known := first.(*socket)
	if !known {
		return
	}
	ticks := time.NewTicker(socketCheckInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			now = k.check(now)
		}
	}
}

// check checks that a socket exists, and returns the current one.
func (k *socketKeeper) check(now *socket) *socket {
	if now.exists() {
		if k.fault != "" { // it was moved away for a while
			k.fault = ""
			k.lost(false)
			k.log.Warn("the socket is back", "socket", now.path)
		}
		return now
	}
	lis, err := Listen(now.path)
	if err != nil {
		if err.Error() != k.fault {
			k.fault = err.Error()
			k.lost(true)
			k.log.Error("the socket was removed and cannot be recreated", "error", k.fault)
		}
		return now
	}
	k.fault = ""
	k.lost(false)
	k.log.Warn("the socket was removed, and has been recreated", "socket", now.path)
	go k.serve(lis)
	return lis.(*socket)
}

// listenFault explains why a socket cannot be created at a path.
func listenFault(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("listen on %s: no such directory; fix: create it", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("listen on %s: permission denied; fix: allow this user to write to the directory", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("listen on %s: not a directory; fix: move the file away", path)
	}
	return fmt.Errorf("listen on %s: %w; fix: check the directory", path, err)
}

// Probe checks whether the server behind a socket is serving, for probes of a
// container without a shell or a client.
func Probe(ctx context.Context, path string) error {
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	res, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		if _, missing := os.Lstat(path); missing != nil {
			return fmt.Errorf("no plugin server is listening on %s, which does not exist", path)
		}
		return fmt.Errorf("no plugin server is listening on %s", path)
	}
	if res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("the plugin server on %s accepts no requests: it is stopping", path)
	}
	return nil
}
