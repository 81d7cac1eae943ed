package main

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// regularFS is a checkout as renderings may read it. It refuses to open what is
// neither a file nor a directory: a pipe would block for ever, and a device has no end;
// Argo CD sends neither. And it refuses what belongs to git, where a pipeline has the
// credentials with which it fetched the checkout, by whatever symlink.
type regularFS struct{ fs.FS }

var (
	_ fs.ReadFileFS = regularFS{}
	_ fs.ReadDirFS  = regularFS{}
	_ fs.StatFS     = regularFS{}
	_ fs.ReadLinkFS = regularFS{}
)

var (
	errIrregular = errors.New("this is a pipe, a socket or a device, not a regular file")
	errGit       = errors.New("this belongs to git (.git), which no rendering reads")
)

func (r regularFS) check(name string) error {
	if gits(name) || gits(r.resolve(name)) {
		return &fs.PathError{Op: "open", Path: name, Err: errGit}
	}
	info, err := fs.Stat(r.FS, name)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	return nil // what is not there, opening says
}

// gits reports whether a path leads into a .git, or is one: a directory, or a file that
// names it. File systems that pass over case and git~1, which is what Windows calls it
// too, are meant by it as well.
func gits(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
	})
}

// mostLinks is how many symlinks a path may have on its way, as in Linux.
const mostLinks = 40

// resolve follows the symlinks of a path as far as they stay inside; those that do not
// the root refuses.
func (r regularFS) resolve(name string) string {
	at, left, links := ".", strings.Split(name, "/"), 0
	for len(left) > 0 {
		next := path.Join(at, left[0])
		left = left[1:]
		info, err := fs.Lstat(r.FS, next)
		if err != nil {
			return path.Join(append([]string{next}, left...)...)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := fs.ReadLink(r.FS, next)
		if links++; err != nil || path.IsAbs(target) || links > mostLinks {
			return next
		}
		left = append(strings.Split(path.Clean(path.Join(at, target)), "/"), left...)
		at = "."
	}
	return at
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

// ReadDir lists a directory without what belongs to git.
func (r regularFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	all, err := fs.ReadDir(r.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return gits(e.Name()) }), err
}

func (r regularFS) Stat(name string) (fs.FileInfo, error)  { return fs.Stat(r.FS, name) }
func (r regularFS) ReadLink(name string) (string, error)   { return fs.ReadLink(r.FS, name) }
func (r regularFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(r.FS, name) }
