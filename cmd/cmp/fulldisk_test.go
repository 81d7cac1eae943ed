package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/sidecartest"
)

// TestFullDisk serves where nothing can be written, neither in the directories
// that programs write to nor to the log: all kinds of components are rendered, and
// faults told, as ever.
func TestFullDisk(t *testing.T) {
	dir, err := os.MkdirTemp("", "cmp") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0) // every write fails with ENOSPC
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := exec.Command("cmp", "serve", "--plugin-dir", dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/dev/full", "HOME=/dev/full", "XDG_CACHE_HOME=/dev/full",
		"XDG_CONFIG_HOME=/dev/full", "XDG_DATA_HOME=/dev/full"}
	cmd.Stdout, cmd.Stderr = full, full
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	socket := filepath.Join(dir, "ladder.sock")
	eventually(t, "the server serves", func() bool { return sidecar.Probe(t.Context(), socket) == nil })
	client, err := sidecartest.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	archive, err := sidecartest.Pack(componentsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, component := range []string{"shop", "bookshelf-prod"} {
		out, err := client.GenerateManifest(t.Context(),
			sidecartest.Request{Archive: archive, Dir: component, Env: map[string]string{"ARGOCD_APP_NAME": component}})
		if err != nil || len(out) == 0 {
			t.Errorf("%s: %v", component, err)
		}
	}
	wrong := sidecartest.PackEntries(sidecartest.File("app/a.yaml", "a: 1\n"))
	if _, err := client.GenerateManifest(t.Context(), sidecartest.Request{Archive: wrong, Dir: "app"}); err == nil ||
		!strings.Contains(err.Error(), "app/a.yaml:1: ") {
		t.Errorf("a component with a fault: %v", err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Errorf("cmp serve: %v", err)
	}
}
