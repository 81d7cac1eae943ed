package input

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/klauspost/compress/gzip"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// maxArchiveBytes and maxArchiveFiles limit the unpacked size of an archive.
const (
	maxArchiveBytes = 512 << 20
	maxArchiveFiles = 200_000
)

// Archive is the content of a fetched archive: an isolated file system in memory.
type Archive struct{ *vfs.Tree }

var errArchiveLink = errors.New("the symlink points outside the archive, or to nothing")

// Unpack reads a .tgz. It refuses entries that point outside and ignores devices
// and the like.
func Unpack(tgz []byte) (Archive, error) {
	z, err := gzip.NewReader(bytes.NewReader(tgz))
	if err != nil {
		return Archive{}, err
	}
	a := Archive{&vfs.Tree{Root: vfs.NewDir("."), BadLink: errArchiveLink}}
	bytes, files := int64(0), 0
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return Archive{}, err
		}
		if files++; files > maxArchiveFiles {
			return Archive{}, fmt.Errorf("it has more than %d files", maxArchiveFiles)
		}
		if bytes += h.Size; bytes > maxArchiveBytes {
			return Archive{}, fmt.Errorf("it unpacks to more than %d MiB", maxArchiveBytes>>20)
		}
		name := path.Clean(h.Name)
		if !fs.ValidPath(name) {
			return Archive{}, fmt.Errorf("it contains %q, which leads outside the archive", h.Name)
		}
		n := &vfs.Node{Name: path.Base(name), Mode: fs.FileMode(h.Mode).Perm()}
		switch h.Typeflag {
		case tar.TypeDir:
			n.Mode |= fs.ModeDir
			n.Children = map[string]*vfs.Node{}
		case tar.TypeReg:
			if n.Data, err = io.ReadAll(r); err != nil {
				return Archive{}, err
			}
		case tar.TypeSymlink:
			n.Mode, n.Target = fs.ModeSymlink|0o777, h.Linkname
		default:
			continue
		}
		if err := a.put(name, n); err != nil {
			return Archive{}, err
		}
	}
}

func (a Archive) put(name string, n *vfs.Node) error {
	if name == "." {
		return nil
	}
	dir, err := a.MakeDirs(path.Dir(name), nil)
	var notDir *vfs.NotDirError
	if errors.As(err, &notDir) {
		return fmt.Errorf("it contains %q, which is not a directory", notDir.Part)
	}
	if err != nil {
		return err
	}
	if old := dir.Children[n.Name]; old == nil || !old.IsDir() || !n.IsDir() {
		dir.Children[n.Name] = n
	}
	return nil
}
