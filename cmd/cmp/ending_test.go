package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// TestEndWhileBusy sends SIGTERM while one request works that would never end:
// it gets the drain time, then it is ended, and no process is left.
func TestEndWhileBusy(t *testing.T) {
	s := startServe(t, "LADDER_SERVE_DRAIN_TIMEOUT=300ms")
	endless := make(chan error, 1)
	go func() {
		_, err := s.GenerateManifest(context.Background(), sidecartest.Request{
			Archive: sidecartest.PackEntries(templated(`{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`)...),
			Dir:     "app", Env: map[string]string{"ARGOCD_APP_NAME": "app"}})
		endless <- err
	}()
	eventually(t, "the request begins", func() bool { return strings.Contains(s.get(t, "/metrics"), "\nladder_requests_working 1\n") })
	workers := s.children()
	if len(workers) == 0 {
		t.Fatal("there are no workers")
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-endless; status.Code(err) != codes.Unavailable && status.Code(err) != codes.Canceled {
		t.Errorf("the request ended with %v", err)
	}
	<-s.ended
	for _, pid := range workers {
		if text, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.Contains(string(text), workerName) {
			t.Errorf("worker %s is left", pid)
		}
	}
	if _, err := os.Lstat(s.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestKilledServer kills a server with what it cannot see coming: its workers
// end with it, and the next server takes the socket that it left.
func TestKilledServer(t *testing.T) {
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	begin := func() *exec.Cmd {
		cmd := exec.Command("cmp", "serve", "--plugin-dir", dir)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server begins", func() bool { return exec.Command("cmp", "serve", "--check", "--plugin-dir", dir).Run() == nil })
		return cmd
	}
	first := begin()
	workers := (&served{cmd: first}).children()
	out, err := exec.Command("cmp", "serve", "--plugin-dir", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another plugin server is already listening; fix: stop it") {
		t.Errorf("a second server: %s, %v", out, err)
	}
	first.Process.Kill()
	first.Wait()
	if _, err := os.Lstat(filepath.Join(dir, "ladder.sock")); err != nil {
		t.Errorf("a killed server cannot remove its socket, but %v", err)
	}
	second := begin()
	eventually(t, "the workers of a killed server end", func() bool {
		return !slices.ContainsFunc(workers, func(pid string) bool {
			text, err := os.ReadFile("/proc/" + pid + "/cmdline")
			return err == nil && strings.Contains(string(text), workerName)
		})
	})
	second.Process.Signal(syscall.SIGTERM)
	if err := second.Wait(); err != nil {
		t.Error(err)
	}
}
