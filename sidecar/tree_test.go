package sidecar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"testing"
	"testing/fstest"
)

// TestTree runs the standard library's checks of a file system on a tree.
func TestTree(t *testing.T) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, h := range []tar.Header{
		{Name: "./", Typeflag: tar.TypeDir},
		{Name: "a/b/c.txt", Typeflag: tar.TypeReg, Size: 3},
		{Name: "a/d.txt", Typeflag: tar.TypeReg},
		{Name: "empty", Typeflag: tar.TypeDir},
		{Name: "a/link", Typeflag: tar.TypeSymlink, Linkname: "b/c.txt"},
		{Name: "loop", Typeflag: tar.TypeSymlink, Linkname: "loop2"},
		{Name: "loop2", Typeflag: tar.TypeSymlink, Linkname: "loop"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			w.Write([]byte("abc"))
		}
	}
	w.Close()
	z.Close()
	tree, err := unpack(&buf, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(tree, "loop"); err == nil {
		t.Error("a loop of symlinks was read")
	}
	if data, err := fs.ReadFile(tree, "a/link"); err != nil || string(data) != "abc" {
		t.Errorf("through a symlink: %q, %v", data, err)
	}
	if target, err := fs.ReadLink(tree, "a/link"); err != nil || target != "b/c.txt" {
		t.Errorf("ReadLink = %q, %v", target, err)
	}
	if info, err := fs.Lstat(tree, "a/link"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat = %v, %v", info, err)
	}
	sub, err := fs.Sub(tree, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(sub, "b/c.txt", "d.txt", "link"); err != nil {
		t.Error(err)
	}
}
