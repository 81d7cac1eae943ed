package checkout

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Unpacked is a repository as Argo CD's plugin server unpacks it. That of Argo
// CD 2 makes an absolute symlink of every relative one (untar in
// util/io/files/tar.go), and os.Root follows no absolute symlinks. Here they
// are followed where they lead to something inside; the root still guards
// against everything else.
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

// ReadLink returns a relative target, as it was in the repository.
func (u Unpacked) ReadLink(name string) (string, error) {
	at := u.throughDir(name)
	target, err := fs.ReadLink(u.root.FS(), at)
	if err != nil || !filepath.IsAbs(target) {
		return target, err
	}
	return filepath.Rel(filepath.Join(u.base, filepath.FromSlash(path.Dir(at))), target)
}

// throughDir follows the symlinks on the way to name, but not name itself.
func (u Unpacked) throughDir(name string) string {
	return path.Join(u.resolve(path.Dir(name)), path.Base(name))
}

// resolve follows the symlinks of a name. One that leads nowhere or outside is
// left for the root to refuse.
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

// NewUnpacked is the repository in a directory.
func NewUnpacked(root *os.Root) (Unpacked, error) {
	base, err := filepath.EvalSymlinks(root.Name())
	return Unpacked{root, base}, err
}
