package vfs

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

type file struct {
	info fs.FileInfo
	*bytes.Reader
}

// NewFile returns an open file with the given content.
func NewFile(info fs.FileInfo, data []byte) fs.File { return &file{info, bytes.NewReader(data)} }

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type dir struct {
	info fs.FileInfo
	rest []fs.DirEntry
}

// NewDirFile returns an open directory with the given entries.
func NewDirFile(info fs.FileInfo, entries []fs.DirEntry) fs.ReadDirFile { return &dir{info, entries} }

func (d *dir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dir) Close() error               { return nil }
func (d *dir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: syscall.EISDIR}
}

func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		all := d.rest
		d.rest = nil
		return all, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	some := slices.Clip(d.rest[:n])
	d.rest = d.rest[n:]
	return some, nil
}
