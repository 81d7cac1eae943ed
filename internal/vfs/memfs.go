// Package vfs has file systems that are not on disk: in memory, for a repository, a commit or
// an archive, and files that are not yet written on top of another file system. They follow
// symlinks like Linux, and refuse targets outside the file system.
package vfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Tree is a file system. It implements fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and
// fs.ReadLinkFS, and is safe for concurrent use once it is complete.
type Tree struct {
	// Root is a directory.
	Root *Node
	// BadLink is the error for symlinks that leave the tree or dangle; nil means
	// that of ResolveLinks.
	BadLink error
}

// Node is a directory, a regular file or a symlink.
type Node struct {
	Name     string
	Mode     fs.FileMode
	Data     []byte           // of a file
	Target   string           // of a symlink
	Children map[string]*Node // of a directory, otherwise nil
	// Load sets Data, Target or Children when they are needed first, and returns the same
	// error each time; nil if they are there from the start.
	Load func() error
	// Unlistable is the error for listing the directory; nil if it can be listed.
	Unlistable error
}

// NewDir returns an empty directory.
func NewDir(name string) *Node {
	return &Node{Name: name, Mode: fs.ModeDir | 0o755, Children: map[string]*Node{}}
}

// EmptyDir returns a file system with only an empty directory and its parents.
func EmptyDir(name string) *Tree {
	t := &Tree{Root: NewDir(".")}
	_, _ = t.MakeDirs(name, nil) // no file is in the way
	return t
}

// IsDir reports whether it is a directory.
func (n *Node) IsDir() bool { return n.Mode.IsDir() }

func (n *Node) load() error {
	if n.Load == nil {
		return nil
	}
	return n.Load()
}

// IsLink reports whether it is a symlink.
func (n *Node) IsLink() bool { return n.Mode&fs.ModeSymlink != 0 }

// SortedNames returns the sorted names of a directory's children.
func (n *Node) SortedNames() []string { return slices.Sorted(maps.Keys(n.Children)) }

// MakeDirs returns the directory of that name, and creates it and its parents if
// needed. making, if not nil, is called before each is created, and may return an
// error.
func (t *Tree) MakeDirs(name string, making func(part string) error) (*Node, error) {
	at := t.Root
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		next := at.Children[part]
		if next == nil {
			if making != nil {
				if err := making(part); err != nil {
					return nil, err
				}
			}
			next = NewDir(part)
			at.Children[part] = next
		}
		if !next.IsDir() {
			return nil, &NotDirError{part}
		}
		at = next
	}
	return at, nil
}

// NotDirError is the error of MakeDirs if a parent is a file.
type NotDirError struct{ Part string }

func (e *NotDirError) Error() string { return fmt.Sprintf("%q is not a directory", e.Part) }

// Lookup returns the node of that name without following symlinks; nil if there is
// none.
func (t *Tree) Lookup(name string) *Node {
	n, _ := t.lookup(name)
	return n
}

func (t *Tree) lookup(name string) (*Node, error) {
	at := t.Root
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if err := at.load(); err != nil {
			return nil, err
		}
		if at = at.Children[part]; at == nil {
			return nil, fs.ErrNotExist
		}
	}
	return at, nil
}

// Find returns the node of that name and follows symlinks on the way; with follow
// also at its end. op is the operation for errors.
func (t *Tree) Find(op, name string, follow bool) (*Node, error) {
	if follow && fs.ValidPath(name) {
		if n := t.Lookup(name); n != nil && !n.IsLink() {
			return n, nil // the usual case
		}
	}
	at, err := ResolveLinks(name, follow, t.readLink)
	if t.BadLink != nil && (errors.Is(err, ErrLeaves) || errors.Is(err, ErrTooManyLinks)) {
		err = t.BadLink
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return t.Lookup(at), nil
}

func (t *Tree) readLink(name string) (target string, isLink bool, err error) {
	n, err := t.lookup(name)
	if err != nil || !n.IsLink() {
		return "", false, err
	}
	err = n.load()
	return n.Target, true, err
}

// Open opens a file or a directory.
func (t *Tree) Open(name string) (fs.File, error) {
	n, err := t.Find("open", name, true)
	if err != nil {
		return nil, err
	}
	if err := n.load(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if !n.IsDir() {
		return NewFile(info{n}, n.Data), nil
	}
	entries, err := n.list(name)
	if err != nil {
		return nil, err
	}
	return NewDirFile(info{n}, entries), nil
}

// ReadFile returns a copy of the content of a file.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.Find("read", name, true)
	if err != nil {
		return nil, err
	}
	if err = n.load(); n.IsDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return slices.Clone(n.Data), nil
}

// ReadDir lists a directory, sorted by name.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.Find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	return n.list(name)
}

func (n *Node) list(name string) ([]fs.DirEntry, error) {
	err := cmp.Or(n.Unlistable, n.load())
	if !n.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	entries := make([]fs.DirEntry, 0, len(n.Children))
	for _, name := range n.SortedNames() {
		entries = append(entries, fs.FileInfoToDirEntry(info{n.Children[name]}))
	}
	return entries, nil
}

// Stat describes a file, or the target of a symlink.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.info("stat", name, true) }

// Lstat describes a file, or the symlink itself.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.info("lstat", name, false) }

func (t *Tree) info(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := t.Find(op, name, follow)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// ReadLink returns the target of a symlink.
func (t *Tree) ReadLink(name string) (string, error) {
	n, err := t.Find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if err = n.load(); !n.IsLink() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return n.Target, nil
}

// info describes a node. It has no time, which differs between checkouts of the
// same commit.
type info struct{ n *Node }

func (i info) Name() string       { return i.n.Name }
func (i info) Mode() fs.FileMode  { return i.n.Mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.n.IsDir() }
func (i info) Sys() any           { return nil }

// Size returns the size of a file. It is 0 if the file cannot be loaded, which reading it
// reports.
func (i info) Size() int64 {
	_ = i.n.load()
	return int64(len(i.n.Data))
}
