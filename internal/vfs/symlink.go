package vfs

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// MaxLinks is the maximum number of symlinks in a path, as on Linux.
const MaxLinks = 40

var (
	// ErrLeaves is the error for a symlink with a target outside the file system.
	ErrLeaves = errors.New("the symlink leaves the repository")
	// ErrTooManyLinks is the error of a path with more symlinks than Max.
	ErrTooManyLinks = errors.New("too many symlinks")
)

// ResolveLinks resolves the symlinks in name on the way to its last element, and with
// follow also of that. name is a path of package fs.
//
// read reports whether a path is a symlink, and its target; its errors are returned
// unchanged. It is called for one element after the other, and only after the
// parent directories.
func ResolveLinks(name string, follow bool, read func(name string) (target string, isLink bool, err error)) (string, error) {
	if !fs.ValidPath(name) {
		return "", fs.ErrInvalid
	}
	at, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", ErrLeaves
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		target, isLink, err := read(next)
		if err != nil {
			return "", err
		}
		if !isLink || len(rest) == 0 && !follow {
			at = next
			continue
		}
		if links++; links > MaxLinks {
			return "", ErrTooManyLinks
		}
		if path.IsAbs(target) {
			return "", ErrLeaves
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// ResolveIn returns the path of a file in a file system without symlinks. Names in a file system
// that has none are returned unchanged.
func ResolveIn(fsys fs.FS, name string) (string, error) {
	links, ok := fsys.(fs.ReadLinkFS)
	if !ok || name == "." {
		return name, nil
	}
	at, err := ResolveLinks(name, true, func(name string) (string, bool, error) {
		info, err := links.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return "", false, err
		}
		target, err := links.ReadLink(name)
		return filepath.ToSlash(target), true, err
	})
	if errors.Is(err, ErrLeaves) || errors.Is(err, ErrTooManyLinks) {
		err = &fs.PathError{Op: "resolve", Path: name, Err: err}
	}
	return at, err
}
