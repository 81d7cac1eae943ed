package wholefile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestReplace: a link goes, and what it leads to stays; of what cannot be replaced,
// nothing is left beside it.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, step := range []error{
		root.WriteFile("victim", []byte("kept"), 0o600),
		root.Symlink("victim", "link"),
		root.MkdirAll("dir/full", 0o755),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	for range 2 {
		if err := wholefile.Replace(root, "link", []byte("new"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if got := text(t, filepath.Join(dir, "victim")); got != "kept" {
		t.Errorf("what the link leads to is %q", got)
	}
	info, err := root.Lstat("link")
	if err != nil || info.Mode() != 0o640 || text(t, filepath.Join(dir, "link")) != "new" {
		t.Errorf("%v, %v", info, err)
	}
	if err := wholefile.Replace(root, "dir", []byte("new"), 0o640); err == nil {
		t.Error("a directory is replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestBeside: no two have the same name.
func TestBeside(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	seen := map[string]bool{}
	for range 100 {
		name, err := wholefile.WriteTemp(root, "a", nil, 0o600)
		if err != nil || seen[name] {
			t.Fatalf("%s twice, %v", name, err)
		}
		seen[name] = true
	}
}

// TestWriteFileOfTheSystem: an open descriptor is written where it is, and a file in /dev/shm, where
// people put what is secret, is replaced like any other.
func TestWriteFileOfTheSystem(t *testing.T) {
	shared, err := os.MkdirTemp("/dev/shm", "")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(shared)
	file, other := filepath.Join(shared, "seed"), filepath.Join(shared, "other")
	if err := os.WriteFile(file, []byte("a longer text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, other); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.WriteFile(file, []byte("text"), 0o600); err != nil || text(t, file) != "text" || text(t, other) != "a longer text" {
		t.Errorf("%v: %q, and what it was is %q", err, text(t, file), text(t, other))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	open, err := os.OpenFile(other, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	descriptor := fmt.Sprint("/proc/self/fd/", open.Fd())
	if err := wholefile.WriteFile(descriptor, []byte("A"), 0o600); err != nil || text(t, other) != "A longer text" {
		t.Errorf("%v: %q", err, text(t, other))
	}
}
