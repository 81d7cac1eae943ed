package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// overlaid is a repository with files that are not written yet, by their paths.
type overlaid struct {
	fs.FS
	files map[string]string
}

var (
	_ fs.ReadFileFS = overlaid{}
	_ fs.ReadDirFS  = overlaid{}
	_ fs.StatFS     = overlaid{}
	_ fs.ReadLinkFS = overlaid{}
)

// unwritten is such a file.
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

func (o overlaid) file(name string) (unwritten, bool) {
	text, ok := o.files[name]
	return unwritten{strings.NewReader(text), path.Base(name)}, ok
}

func (o overlaid) Open(name string) (fs.File, error) {
	if u, ok := o.file(name); ok {
		return u, nil
	}
	return o.FS.Open(name)
}

func (o overlaid) ReadFile(name string) ([]byte, error) {
	if text, ok := o.files[name]; ok {
		return []byte(text), nil
	}
	return fs.ReadFile(o.FS, name)
}

func (o overlaid) Stat(name string) (fs.FileInfo, error) {
	if u, ok := o.file(name); ok {
		return u, nil
	}
	return fs.Stat(o.FS, name)
}

func (o overlaid) Lstat(name string) (fs.FileInfo, error) {
	if u, ok := o.file(name); ok {
		return u, nil
	}
	return fs.Lstat(o.FS, name)
}

func (o overlaid) ReadLink(name string) (string, error) { return fs.ReadLink(o.FS, name) }

// ReadDir lists what is there and what is to be there, sorted.
func (o overlaid) ReadDir(dir string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(o.FS, dir)
	if err != nil {
		return nil, err
	}
	for name := range o.files {
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
