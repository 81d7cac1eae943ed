package vfs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
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

// file describes an additional file.
func (o Overlay) file(name string) (info, bool) {
	text, ok := o.Files[name]
	return info{&Node{Name: path.Base(name), Mode: 0o644, Data: []byte(text)}}, ok
}

func (o Overlay) Open(name string) (fs.File, error) {
	if added, ok := o.file(name); ok {
		return NewFile(added, added.n.Data), nil
	}
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	about, err := f.Stat()
	if err != nil || !about.IsDir() {
		return f, err
	}
	f.Close()
	entries, err := o.ReadDir(name)
	if err != nil {
		return nil, err
	}
	return NewDirFile(about, entries), nil
}

func (o Overlay) ReadFile(name string) ([]byte, error) {
	if text, ok := o.Files[name]; ok {
		return []byte(text), nil
	}
	return fs.ReadFile(o.FS, name)
}

func (o Overlay) Stat(name string) (fs.FileInfo, error) {
	if added, ok := o.file(name); ok {
		return added, nil
	}
	return fs.Stat(o.FS, name)
}

func (o Overlay) Lstat(name string) (fs.FileInfo, error) {
	if added, ok := o.file(name); ok {
		return added, nil
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
		added, _ := o.file(name)
		at, there := slices.BinarySearchFunc(all, added.Name(), func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		if there {
			all = slices.Delete(all, at, at+1)
		}
		all = slices.Insert(all, at, fs.FileInfoToDirEntry(added))
	}
	return all, nil
}
