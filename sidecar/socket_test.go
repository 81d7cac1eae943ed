package sidecar_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/sidecar"
)

// TestLostSocket puts something else in the place of the socket, and takes its
// directory away: as long as the server cannot be reached it says so, and then
// no more. What stands there is left alone, also in the end.
func TestLostSocket(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	operations, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	h := start(t, func(c *sidecar.Config) {
		c.Operations, c.Metrics, c.Log = operations, registry, slog.New(slog.NewTextHandler(&log, nil))
	})
	lost := func() bool {
		return metric(t, registry, "ladder_socket_lost") == 1 &&
			strings.Contains(readiness(t, operations), "503 Service Unavailable: the repo-server does not reach the server")
	}
	found := func() bool {
		// What does not respond yet has no metrics either.
		return sidecar.Probe(t.Context(), h.socket) == nil && metric(t, registry, "ladder_socket_lost") == 0 &&
			strings.HasPrefix(readiness(t, operations), "200 OK")
	}
	eventually(t, "it is well", found)

	aside := h.socket + ".aside"
	rename(t, h.socket, aside)
	if err := os.WriteFile(h.socket, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a file stands there", lost)
	rename(t, aside, h.socket)
	eventually(t, "the socket is back", found)

	dir := filepath.Dir(h.socket)
	rename(t, dir, dir+".aside")
	defer os.RemoveAll(dir + ".aside")
	eventually(t, "the directory is gone", lost)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the directory is there again", found)

	if err := os.Remove(h.socket); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	eventually(t, "another server took its place", lost)
	h.stop()
	<-h.served
	if _, err := os.Lstat(h.socket); err != nil {
		t.Errorf("the other's socket: %v", err)
	}
	for _, want := range []string{"the path exists and is not a socket; fix: move it away",
		"the socket is back", "no such directory; fix: create it", "the socket was removed, and has been recreated",
		"another plugin server is already listening; fix: stop it"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}

// readiness is the status and the text that the readiness probe gets.
func readiness(t *testing.T, operations net.Listener) string {
	t.Helper()
	res, err := http.Get("http://" + operations.Addr().String() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.Status + ": " + string(text)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	if err := sidecar.Probe(t.Context(), h.socket); err != nil {
		t.Errorf("a running server: %v", err)
	}
	h.stop()
	<-h.served
	if err := sidecar.Probe(t.Context(), h.socket); err == nil ||
		!strings.Contains(err.Error(), "no plugin server is listening on "+h.socket) {
		t.Errorf("a server that has ended: %v", err)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	if _, err := h.CheckPluginConfiguration(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.Listen(h.socket); err == nil || !strings.Contains(err.Error(), "another plugin server is already listening") {
		t.Errorf("a second server on the socket: %v", err)
	}

	// A socket whose server died without removing it.
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stale := filepath.Join(dir, "stale.sock")
	dead, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	lis, err := sidecar.Listen(stale)
	if err != nil {
		t.Fatalf("a stale socket was not replaced: %v", err)
	}
	defer lis.Close()
	info, err := os.Stat(stale)
	if err != nil || info.Mode().Perm() != 0o770 {
		t.Errorf("mode %v, %v; want 0770", info.Mode(), err)
	}
	if _, err := sidecar.Listen(filepath.Join(dir, "missing", "x.sock")); err == nil {
		t.Error("no error for a directory that is not there")
	}
}
