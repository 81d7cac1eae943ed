// Package symlink follows the symlinks of a path in a file system that is not on
// disk, as Linux follows those of one that is: a repository in memory, a commit, an
// archive. What leads out of the file system is refused.
package symlink

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Max is how many symlinks a path may have, as on Linux.
const Max = 40

var (
	// ErrLeaves is the error of a symlink that leads out of the file system.
	ErrLeaves = errors.New("the symlink leaves the repository")
	// ErrTooMany is the error of a path with more symlinks than Max.
	ErrTooMany = errors.New("too many symlinks")
)

// Resolve returns the path that name stands for, without symlinks on the way to its
// last part, and with follow without one there, too. name is one of package fs.
//
// read says whether a path is a symlink, and where it leads then; its errors, such as
// that there is nothing, are returned as they are. It is asked about one part after the
// other, and about each only when the directories above it have been read.
func Resolve(name string, follow bool, read func(name string) (target string, isLink bool, err error)) (string, error) {
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
		if links++; links > Max {
			return "", ErrTooMany
		}
		if path.IsAbs(target) {
			return "", ErrLeaves
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}
