package vfs

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Overlay is a file system with additional files, by path. They hide files below; their
// directories must exist.
type Overlay struct {
	fs.FS
	Files map[string]string
}

var (
	_ fs.ReadFileFS = Overlay{}
	_ fs.ReadDirFS  = Overlay{}
	_ fs.StatFS     = Overlay{}
	_ fs.ReadLinkFS = Overlay{}
)

// unwritten is an additional file.
type unwritten struct {
	*strings.Reader
	name string
}

func (u unwritten) Stat() (fs.FileInfo, error) { return u, nil }
func (u unwritten) Close() error               { return nil }
func (u unwritten) Name() string               { return u.name }
func (u unwritten) Mode() fs.FileMode          { return 0o644 }
func (u unwritten) ModTime() time.Time         { return time.Time{} }
func (u unwritten) IsDir() bool                { return false }
func (u unwritten) Sys() any                   { return nil }

func (o Overlay) file(name string) (unwritten, bool) {
	text, ok := o.Files[name]
	return unwritten{strings.NewReader(text), path.Base(name)}, ok
}

func (o Overlay) Open(name string) (fs.File, error) {
	if u, ok := o.file(name); ok {
		return u, nil
	}
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return f, err
	}
	return &directory{File: f, of: o, name: name}, nil
}

// directory is an open directory.
type directory struct {
	fs.File
	of   Overlay
	name string
	left []fs.DirEntry
	read bool
}

func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		all, err := d.of.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.left, d.read = all, true
	}
	if n <= 0 {
		n = len(d.left)
	} else if len(d.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.left))
	entries := d.left[:n]
	d.left = d.left[n:]
	return entries, nil
}

func (o Overlay) ReadFile(name string) ([]byte, error) {
	if text, ok := o.Files[name]; ok {
		return []byte(text), nil
	}
	return fs.ReadFile(o.FS, name)
}

func (o Overlay) Stat(name string) (fs.FileInfo, error) {
	if u, ok := o.file(name); ok {
		return u, nil
	}
	return fs.Stat(o.FS, name)
}

func (o Overlay) Lstat(name string) (fs.FileInfo, error) {
	if u, ok := o.file(name); ok {
		return u, nil
	}
	return fs.Lstat(o.FS, name)
}

func (o Overlay) ReadLink(name string) (string, error) { return fs.ReadLink(o.FS, name) }

// ReadDir lists existing and additional files, sorted.
func (o Overlay) ReadDir(dir string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(o.FS, dir)
	if err != nil {
		return nil, err
	}
	for name := range o.Files {
		if path.Dir(name) != dir {
			continue
		}
		u, _ := o.file(name)
		at, there := slices.BinarySearchFunc(all, u.name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		if there {
			all = slices.Delete(all, at, at+1)
		}
		all = slices.Insert(all, at, fs.FileInfoToDirEntry(u))
	}
	return all, nil
}
