package checkout

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Unpacked is a repository unpacked by Argo CD's plugin server. That of Argo CD 2
// makes relative symlinks absolute (untar in util/io/files/tar.go), and os.Root
// does not follow absolute symlinks. Here they are followed if their target is
// inside; the root still refuses everything else.
type Unpacked struct {
	root *os.Root
	base string // without symlinks
}

func (u Unpacked) Open(name string) (fs.File, error) {
	return u.root.FS().Open(u.resolve(name))
}

func (u Unpacked) Lstat(name string) (fs.FileInfo, error) {
	return fs.Lstat(u.root.FS(), u.throughDir(name))
}

// ReadLink returns the target in its original, relative form.
func (u Unpacked) ReadLink(name string) (string, error) {
	at := u.throughDir(name)
	target, err := fs.ReadLink(u.root.FS(), at)
	if err != nil || !filepath.IsAbs(target) {
		return target, err
	}
	return filepath.Rel(filepath.Join(u.base, filepath.FromSlash(path.Dir(at))), target)
}

// throughDir resolves the symlinks of a path's directory, but not of its last
// element.
func (u Unpacked) throughDir(name string) string {
	return path.Join(u.resolve(path.Dir(name)), path.Base(name))
}

// resolve resolves the symlinks of a name. Dangling ones, and those that lead
// outside, are left for the root to refuse.
func (u Unpacked) resolve(name string) string {
	full, err := filepath.EvalSymlinks(filepath.Join(u.base, filepath.FromSlash(name)))
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(u.base, full)
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.ToSlash(rel)
}

// NewUnpacked returns the repository in a directory.
func NewUnpacked(root *os.Root) (Unpacked, error) {
	base, err := filepath.EvalSymlinks(root.Name())
	return Unpacked{root, base}, err
}
