package render

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// maxArchiveBytes and maxArchiveFiles bound what an archive unpacks to.
const (
	maxArchiveBytes = 512 << 20
	maxArchiveFiles = 200_000
)

// Archive is what an archive that was fetched holds, in memory: a file system
// that can be read and not be left. It implements fs.ReadDirFS, fs.ReadFileFS,
// fs.StatFS and fs.ReadLinkFS.
type Archive struct{ root *archived }

// archived is a directory, a file or a symlink.
type archived struct {
	name     string
	mode     fs.FileMode
	data     []byte
	target   string
	children map[string]*archived
}

var _ interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	fs.ReadLinkFS
} = Archive{}

// Unpack reads a .tgz. Entries that point out of it are refused; devices and the
// like are left out.
func Unpack(tgz []byte) (Archive, error) {
	z, err := gzip.NewReader(bytes.NewReader(tgz))
	if err != nil {
		return Archive{}, err
	}
	a := Archive{&archived{name: ".", mode: fs.ModeDir | 0o755, children: map[string]*archived{}}}
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
			return Archive{}, fmt.Errorf("it holds %q, which leaves it", h.Name)
		}
		n := &archived{name: path.Base(name), mode: fs.FileMode(h.Mode).Perm()}
		switch h.Typeflag {
		case tar.TypeDir:
			n.mode |= fs.ModeDir
			n.children = map[string]*archived{}
		case tar.TypeReg:
			if n.data, err = io.ReadAll(r); err != nil {
				return Archive{}, err
			}
		case tar.TypeSymlink:
			n.mode, n.target = fs.ModeSymlink|0o777, h.Linkname
		default:
			continue
		}
		if err := a.put(name, n); err != nil {
			return Archive{}, err
		}
	}
}

func (a Archive) put(name string, n *archived) error {
	if name == "." {
		return nil
	}
	at := a.root
	if dir := path.Dir(name); dir != "." {
		for part := range strings.SplitSeq(dir, "/") {
			next := at.children[part]
			if next == nil {
				next = &archived{name: part, mode: fs.ModeDir | 0o755, children: map[string]*archived{}}
				at.children[part] = next
			}
			if at = next; at.children == nil {
				return fmt.Errorf("it holds %q as something else than a directory", part)
			}
		}
	}
	if old := at.children[n.name]; old == nil || old.children == nil || n.children == nil {
		at.children[n.name] = n
	}
	return nil
}

// maxLinks bounds the symlinks on the way to a file.
const maxLinks = 64

// find returns what a name stands for, and follows symlinks: all of them, or
// those on the way only.
func (a Archive) find(op, name string, follow bool) (*archived, error) {
	fail := func(err error) (*archived, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	done, rest, at := ".", strings.Split(name, "/"), a.root
	if name == "." {
		rest = nil
	}
	for links := 0; len(rest) > 0; {
		next := at.children[rest[0]]
		if next == nil {
			return fail(fs.ErrNotExist)
		}
		here := path.Join(done, rest[0])
		rest = rest[1:]
		if next.target == "" || len(rest) == 0 && !follow {
			done, at = here, next
			continue
		}
		target := path.Join(done, next.target)
		if links++; links > maxLinks || path.IsAbs(next.target) || !fs.ValidPath(target) {
			return fail(errors.New("the symlink leads out of the archive, or nowhere"))
		}
		if done, at = ".", a.root; target != "." {
			rest = append(strings.Split(target, "/"), rest...)
		}
	}
	return at, nil
}

// Open opens a file or a directory.
func (a Archive) Open(name string) (fs.File, error) {
	n, err := a.find("open", name, true)
	if err != nil {
		return nil, err
	}
	return &openArchived{n, bytes.NewReader(n.data), n.entries()}, nil
}

// ReadFile returns the content of a file.
func (a Archive) ReadFile(name string) ([]byte, error) {
	n, err := a.find("read", name, true)
	if err == nil && n.children != nil {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(n.data), nil
}

// ReadDir lists a directory, sorted by name.
func (a Archive) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := a.find("readdir", name, true)
	if err == nil && n.children == nil {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	return n.entries(), nil
}

// Stat describes a file, or what a symlink leads to.
func (a Archive) Stat(name string) (fs.FileInfo, error) { return a.info("stat", name, true) }

// Lstat describes a file or a symlink.
func (a Archive) Lstat(name string) (fs.FileInfo, error) { return a.info("lstat", name, false) }

func (a Archive) info(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := a.find(op, name, follow)
	if err != nil {
		return nil, err
	}
	return archivedInfo{n}, nil
}

// ReadLink returns where a symlink leads.
func (a Archive) ReadLink(name string) (string, error) {
	n, err := a.find("readlink", name, false)
	if err == nil && n.target == "" {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return "", err
	}
	return n.target, nil
}

func (n *archived) entries() []fs.DirEntry {
	var all []fs.DirEntry
	for _, c := range n.children {
		all = append(all, fs.FileInfoToDirEntry(archivedInfo{c}))
	}
	slices.SortFunc(all, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	return all
}

type archivedInfo struct{ *archived }

func (i archivedInfo) Name() string       { return i.name }
func (i archivedInfo) Size() int64        { return int64(len(i.data)) }
func (i archivedInfo) Mode() fs.FileMode  { return i.mode }
func (i archivedInfo) ModTime() time.Time { return time.Time{} }
func (i archivedInfo) IsDir() bool        { return i.mode.IsDir() }
func (i archivedInfo) Sys() any           { return nil }

type openArchived struct {
	n *archived
	*bytes.Reader
	left []fs.DirEntry
}

func (f *openArchived) Stat() (fs.FileInfo, error) { return archivedInfo{f.n}, nil }
func (f *openArchived) Close() error               { return nil }

func (f *openArchived) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.left)
	} else if len(f.left) == 0 {
		return nil, io.EOF
	}
	some := f.left[:min(n, len(f.left))]
	f.left = f.left[len(some):]
	return some, nil
}
