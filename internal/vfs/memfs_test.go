package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// tree returns a file system with files, and with symlinks, written as "name -> target".
func tree(t *testing.T, names ...string) *vfs.Tree {
	t.Helper()
	all := &vfs.Tree{Root: vfs.NewDir(".")}
	for _, name := range names {
		name, target, isLink := strings.Cut(name, " -> ")
		parent, base := ".", name
		if at := strings.LastIndexByte(name, '/'); at >= 0 {
			parent, base = name[:at], name[at+1:]
		}
		dir, err := all.MakeDirs(parent, nil)
		if err != nil {
			t.Fatal(err)
		}
		dir.Children[base] = &vfs.Node{Name: base, Mode: 0o644, Data: []byte("content of " + name)}
		if isLink {
			dir.Children[base] = &vfs.Node{Name: base, Mode: fs.ModeSymlink | 0o777, Target: target}
		}
	}
	return all
}

func TestFileSystem(t *testing.T) {
	t.Parallel()
	if err := fstest.TestFS(tree(t, "a/b/file", "a/other", "top", "a/link -> b/file"), "a/b/file", "a/other", "top", "a/link"); err != nil {
		t.Error(err)
	}
}

// TestSymlinks follows symlinks, but never out of the tree or forever.
func TestSymlinks(t *testing.T) {
	t.Parallel()
	all := tree(t, "a/file", "b/up -> ../a/file", "b/dir -> ../a", "chain -> b/up", "loop -> loop", "two -> one", "one -> two",
		"out -> ../x", "b/out -> ../../x", "absolute -> /a/file", "dangling -> missing", "through -> a/file/x", "around -> b/../a/file")
	for name, want := range map[string]string{"a/file": "a/file", "b/up": "a/file", "b/dir/file": "a/file",
		"chain": "a/file", "around": "a/file",
		"loop": "", "two": "", "out": "", "b/out": "", "absolute": "", "dangling": "", "through": "", "a/file/x": "", "a": "",
		"../x": "", "/a/file": ""} {
		text, err := all.ReadFile(name)
		if want != "" && (err != nil || string(text) != "content of "+want) || want == "" && err == nil {
			t.Errorf("%s contains %q, %v, want that of %q", name, text, err, want)
		}
		var pathErr *fs.PathError
		if err != nil && !errors.As(err, &pathErr) {
			t.Errorf("the error of %s has no path: %v", name, err)
		}
	}
	if _, err := all.ReadFile("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	bad := errors.New("bad")
	all.BadLink = bad
	for _, name := range []string{"out", "loop"} {
		if _, err := all.Stat(name); !errors.Is(err, bad) {
			t.Errorf("%s: %v, want the error of the tree", name, err)
		}
	}
	info, err := all.Lstat("b/up")
	if target, errRead := all.ReadLink("b/up"); err != nil || errRead != nil || info.Mode()&fs.ModeSymlink == 0 || target != "../a/file" {
		t.Errorf("the symlink itself is %v to %s, %v, %v", info, target, err, errRead)
	}
	if _, err := all.ReadLink("a/file"); err == nil {
		t.Error("a file has a target")
	}
}

// TestReturnedContent changes what was read, which must not change the file.
func TestReturnedContent(t *testing.T) {
	t.Parallel()
	all := tree(t, "file")
	text, err := all.ReadFile("file")
	if err != nil {
		t.Fatal(err)
	}
	text[0] = 'X'
	if again, _ := all.ReadFile("file"); string(again) != "content of file" {
		t.Errorf("the file contains %q", again)
	}
}

// TestLoad reads content that is loaded when it is needed, or cannot be.
func TestLoad(t *testing.T) {
	t.Parallel()
	all := tree(t, "lazy", "dir/file", "broken")
	loads := 0
	lazy, gone := all.Lookup("lazy"), errors.New("gone")
	lazy.Data = nil
	lazy.Load = func() error { loads++; lazy.Data = []byte("loaded"); return nil }
	dir := all.Lookup("dir")
	all.Lookup("broken").Load = func() error { return gone }
	if loads != 0 {
		t.Error("loaded before it was needed")
	}
	if text, err := all.ReadFile("lazy"); err != nil || string(text) != "loaded" {
		t.Errorf("read %q, %v", text, err)
	}
	if info, err := all.Stat("lazy"); err != nil || info.Size() != 6 {
		t.Errorf("the size is %v, %v", info, err)
	}
	if _, err := all.ReadFile("broken"); !errors.Is(err, gone) {
		t.Errorf("a file that cannot be loaded: %v", err)
	}
	if _, err := all.Open("broken"); !errors.Is(err, gone) {
		t.Errorf("opening a file that cannot be loaded: %v", err)
	}
	dir.Load = func() error { return gone }
	if _, err := all.ReadFile("dir/file"); !errors.Is(err, gone) {
		t.Errorf("a file in a directory that cannot be loaded: %v", err)
	}
	dir.Load, dir.Unlistable = nil, gone
	if _, err := all.ReadDir("dir"); !errors.Is(err, gone) {
		t.Errorf("an unlistable directory: %v", err)
	}
	if _, err := all.ReadFile("dir/file"); err != nil {
		t.Errorf("a file in an unlistable directory: %v", err)
	}
}

func TestMakeDirs(t *testing.T) {
	t.Parallel()
	all := tree(t, "a/file")
	var made []string
	making := func(part string) error { made = append(made, part); return nil }
	if dir, err := all.MakeDirs("a/b/c", making); err != nil || dir != all.Lookup("a/b/c") || strings.Join(made, " ") != "b c" {
		t.Errorf("made %q, %v", made, err)
	}
	var notDir *vfs.NotDirError
	if _, err := all.MakeDirs("a/file/x", nil); !errors.As(err, &notDir) || notDir.Part != "file" {
		t.Errorf("a directory below a file: %v", err)
	}
	full := errors.New("full")
	if _, err := all.MakeDirs("x/y", func(part string) error { return full }); !errors.Is(err, full) || all.Lookup("x") != nil {
		t.Errorf("a refused directory: %v", err)
	}
	if dir, err := all.MakeDirs(".", nil); err != nil || dir != all.Root {
		t.Errorf("the root is %v, %v", dir, err)
	}
}

// TestPartialLists lists a directory in parts.
func TestPartialLists(t *testing.T) {
	t.Parallel()
	f, err := tree(t, "c", "a", "b").Open(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := f.(fs.ReadDirFile)
	var names []string
	for {
		some, err := dir.ReadDir(2)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(some) == 0 {
			t.Fatalf("listed %v, %v", some, err)
		}
		for _, e := range some {
			names = append(names, e.Name())
		}
	}
	if strings.Join(names, "") != "abc" {
		t.Errorf("listed %v", names)
	}
	if _, err := f.Read(make([]byte, 1)); err == nil {
		t.Error("a directory was read")
	}
}
