package suite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dir is a directory of the repository's testdata.
func (w world) dir(name string) string { return filepath.Join(w.root, "testdata", name) }

// directories lists those in a directory of testdata, of which there must be
// some.
func (w world) directories(t *testing.T, name string) []string {
	t.Helper()
	entries, err := os.ReadDir(w.dir(name))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) < 5 {
		t.Fatalf("only %d directories in testdata/%s", len(names), name)
	}
	return names
}

// repository makes a checkout with the component shop at a path, and files.
func (w world) repository(t *testing.T, path string, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, path), os.DirFS(filepath.Join(w.dir("components"), "shop"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(root, name), []byte(text))
	}
	return root
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	manyFiles = 5000
	manyBytes = 16 << 20
)

// large makes a repository of many files and many megabytes with the component
// shop in it. They are noise, so that they do not shrink on their way.
func (w world) large(t *testing.T) string {
	t.Helper()
	root := w.repository(t, "shop", nil)
	random := rand.NewChaCha8([32]byte{})
	data := make([]byte, manyBytes)
	random.Read(data)
	write(t, filepath.Join(root, "media", "film"), data)
	for i := range manyFiles {
		name := fmt.Sprintf("src/%d/%d.txt", i%100, i)
		write(t, filepath.Join(root, name), data[i*512:][:512])
	}
	return root
}

// slow makes a repository with a chart that takes longer to render than any
// test waits.
func slow(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "slow", "Chart.yaml"), []byte("apiVersion: v2\nname: slow\nversion: 1.0.0\n"))
	const depth = 4
	write(t, filepath.Join(root, "slow", "templates", "slow.yaml"),
		[]byte(strings.Repeat("{{ range until 1000 }}", depth)+strings.Repeat("{{ end }}", depth)))
	return root
}
