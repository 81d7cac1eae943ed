package main

import (
	"errors"
	"io/fs"
)

// regularFS refuses to open what is neither a file nor a directory. A pipe
// would block for ever, and a device has no end; Argo CD sends neither.
type regularFS struct{ fs.FS }

var (
	_ fs.ReadFileFS = regularFS{}
	_ fs.ReadDirFS  = regularFS{}
	_ fs.StatFS     = regularFS{}
	_ fs.ReadLinkFS = regularFS{}
)

var errIrregular = errors.New("this is a pipe, a socket or a device, and no file")

func (r regularFS) check(name string) error {
	info, err := fs.Stat(r.FS, name)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	return nil // what is not there, opening says
}

func (r regularFS) Open(name string) (fs.File, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	return r.FS.Open(name)
}

func (r regularFS) ReadFile(name string) ([]byte, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	return fs.ReadFile(r.FS, name)
}

func (r regularFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }
func (r regularFS) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(r.FS, name) }
func (r regularFS) ReadLink(name string) (string, error)       { return fs.ReadLink(r.FS, name) }
func (r regularFS) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(r.FS, name) }
