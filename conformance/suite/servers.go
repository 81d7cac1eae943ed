package suite

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// socketDirEnv tells both sides where the sockets are.
	socketDirEnv = "ARGOCD_PLUGINSOCKFILEPATH"
	// keepAliveEnv is half the time between two pings of Argo CD's client.
	// keepAlive makes it ping as often as gRPC allows, every ten seconds.
	keepAliveEnv = "ARGOCD_GRPC_KEEP_ALIVE_MIN"
	keepAlive    = "5s"
	// binaryNameEnv is how Argo CD's one binary learns which of its programs
	// to be, and how the binary of the test does.
	binaryNameEnv = "ARGOCD_BINARY_NAME"
	stockName     = "argocd-cmp-server"
)

// Main runs the tests, or the given argocd-cmp-server where [Run] has started
// this binary anew as that. It is the command of the same name in Argo CD's
// binary; linking it alone spares the test all of Argo CD's other programs.
func Main(m *testing.M, stock func() error) {
	if os.Getenv(binaryNameEnv) != stockName {
		os.Exit(m.Run())
	}
	if err := stock(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// build makes the program from the repository.
func build(t *testing.T, root string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cmp")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/cmp")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/cmp: %v\n%s", err, out)
	}
	return program
}

// server is a plugin server that runs.
type server struct {
	// dir holds its socket.
	dir  string
	stop func() error
}

func (s server) socket() string { return filepath.Join(s.dir, "ladder.sock") }

// use makes this server the one that the repo-server's code finds.
func (s server) use(t *testing.T) {
	t.Helper()
	t.Setenv(socketDirEnv, s.dir)
}

// dial connects Argo CD's client to the server.
func (w world) dial(t *testing.T, s server) Plugin {
	t.Helper()
	return w.dialSocket(t, s.socket())
}

func (w world) dialSocket(t *testing.T, socket string) Plugin {
	t.Helper()
	p, err := w.argo.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// startServe starts cmp serve. When the test ends the server must, too, in an
// orderly way.
func (w world) startServe(t *testing.T, flags ...string) server {
	t.Helper()
	dir := socketDir(t)
	// One stream is held open for longer than a repo-server ever is silent. A template that
	// calls itself uses memory until Helm ends it; how much depends on when it is collected.
	s := start(t, dir, exec.Command(w.cmp, append([]string{"serve", "--plugin-dir", dir, "--worker-memory", "0"}, flags...)...))
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("cmp serve: %v", err)
		}
		if _, err := os.Lstat(s.socket()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("cmp serve left its socket: %v", err)
		}
	})
	return s
}

// startStock starts Argo CD's plugin server with the repository's plugin.yaml.
// As in the image, there is no program but cmp on its PATH.
func (w world) startStock(t *testing.T) server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := socketDir(t)
	cmd := exec.Command(self, "--config-dir-path", w.root, "--loglevel", "warn")
	cmd.Env = append(os.Environ(), binaryNameEnv+"="+stockName, socketDirEnv+"="+dir,
		"PATH="+filepath.Dir(w.cmp), "TMPDIR="+t.TempDir())
	return start(t, dir, cmd)
}

// socketDir makes a directory whose sockets' names are short enough, which
// those of t.TempDir need not be.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start runs a server until it answers on its socket. Its log is shown if the
// test fails.
func start(t *testing.T, dir string, cmd *exec.Cmd) server {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var failure error
	go func() { failure = cmd.Wait(); close(ended) }()
	name := filepath.Base(cmd.Path) + " " + strings.Join(cmd.Args[1:], " ")
	t.Cleanup(func() {
		cmd.Process.Kill() // argocd-cmp-server outlives SIGTERM
		<-ended
		if t.Failed() {
			t.Logf("%s wrote:\n%s", name, log.String())
		}
	})
	s := server{dir: dir, stop: func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		<-ended
		return failure
	}}
	for timeout := time.After(time.Minute); ; {
		if conn, err := net.Dial("unix", s.socket()); err == nil {
			conn.Close()
			return s
		}
		select {
		case <-ended:
			t.Fatalf("%s ended at once: %v\n%s", name, failure, log.String())
		case <-timeout:
			t.Fatalf("%s does not listen on %s", name, s.socket())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Program builds the program until the test ends, and returns its path.
func Program(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return build(t, root)
}

// Start starts the program's plugin server where Argo CD's code finds it, until
// the test ends.
func Start(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w := world{root: root, cmp: build(t, root)}
	w.startServe(t).use(t)
}
