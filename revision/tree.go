package revision

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// tree is the file system of a commit.
type tree struct {
	repo *Repository
	root *object.Tree
	read map[plumbing.Hash]*object.Tree
}

var (
	_ fs.ReadFileFS = (*tree)(nil)
	_ fs.ReadDirFS  = (*tree)(nil)
	_ fs.StatFS     = (*tree)(nil)
	_ fs.ReadLinkFS = (*tree)(nil)
)

// entry is a file or directory of a commit.
type entry struct {
	name string
	mode filemode.FileMode
	hash plumbing.Hash
	size int64
}

func (e entry) Name() string               { return e.name }
func (e entry) Size() int64                { return e.size }
func (e entry) ModTime() time.Time         { return time.Time{} }
func (e entry) IsDir() bool                { return e.Mode().IsDir() }
func (e entry) Sys() any                   { return nil }
func (e entry) Type() fs.FileMode          { return e.Mode().Type() }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }

func (e entry) Mode() fs.FileMode {
	switch e.mode {
	case filemode.Dir, filemode.Submodule:
		return fs.ModeDir | 0o755
	case filemode.Symlink:
		return fs.ModeSymlink | 0o777
	case filemode.Executable:
		return 0o755
	}
	return 0o644
}

var (
	errLeaves  = errors.New("the symlink leaves the repository")
	errHops    = errors.New("too many symlinks")
	errIsDir   = errors.New("is a directory")
	errNotDir  = errors.New("not a directory")
	errNotLink = errors.New("not a symlink")
)

// maxHops is how many symlinks a path may have, as on Linux.
const maxHops = 40

// find looks a path up. A symlink at its end is followed if wanted, and all
// before that always.
func (t *tree) find(op, name string, follow bool) (entry, error) {
	fault := func(err error) (entry, error) { return entry{}, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fault(fs.ErrInvalid)
	}
	at := entry{name: ".", mode: filemode.Dir, hash: t.root.Hash}
	var above []entry // the directories around it, from the root
	rest := strings.Split(name, "/")
	for hops := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(above) == 0 {
				return fault(errLeaves)
			}
			at, above = above[len(above)-1], above[:len(above)-1]
			continue
		}
		if !at.IsDir() {
			return fault(errNotDir)
		}
		next, err := t.child(at, part)
		if err != nil {
			return fault(err)
		}
		if next.mode != filemode.Symlink || len(rest) == 0 && !follow {
			above, at = append(above, at), next
			continue
		}
		if hops++; hops > maxHops {
			return fault(errHops)
		}
		target, err := t.content(next)
		if err != nil {
			return fault(err)
		}
		if path.IsAbs(string(target)) {
			return fault(errLeaves)
		}
		rest = append(strings.Split(string(target), "/"), rest...)
	}
	if at.name != "." || name != "." {
		at.name = path.Base(name)
	}
	return at, nil
}

func (t *tree) child(dir entry, name string) (entry, error) {
	all, err := t.children(dir)
	if err != nil {
		return entry{}, err
	}
	i := slices.IndexFunc(all, func(e object.TreeEntry) bool { return e.Name == name })
	if i < 0 {
		return entry{}, fs.ErrNotExist
	}
	return t.entry(all[i])
}

// entry reads how long a file is.
func (t *tree) entry(e object.TreeEntry) (entry, error) {
	made := entry{name: e.Name, mode: e.Mode, hash: e.Hash}
	if made.IsDir() {
		return made, nil
	}
	var err error
	made.size, err = t.repo.git.Storer.EncodedObjectSize(e.Hash)
	return made, err
}

func (t *tree) children(dir entry) ([]object.TreeEntry, error) {
	if dir.mode == filemode.Submodule {
		return nil, nil
	}
	read, there := t.read[dir.hash]
	if !there {
		var err error
		if read, err = t.repo.git.TreeObject(dir.hash); err != nil {
			return nil, err
		}
		t.read[dir.hash] = read
	}
	return read.Entries, nil
}

func (t *tree) content(e entry) ([]byte, error) {
	blob, err := t.repo.git.BlobObject(e.hash)
	if err != nil {
		return nil, err
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (t *tree) Stat(name string) (fs.FileInfo, error) {
	t.repo.reading.Lock()
	defer t.repo.reading.Unlock()
	return t.find("stat", name, true)
}

func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	t.repo.reading.Lock()
	defer t.repo.reading.Unlock()
	return t.find("lstat", name, false)
}

func (t *tree) ReadLink(name string) (string, error) {
	t.repo.reading.Lock()
	defer t.repo.reading.Unlock()
	e, err := t.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if e.mode != filemode.Symlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: errNotLink}
	}
	target, err := t.content(e)
	return string(target), err
}

func (t *tree) ReadFile(name string) ([]byte, error) {
	t.repo.reading.Lock()
	defer t.repo.reading.Unlock()
	e, err := t.find("read", name, true)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	return t.content(e)
}

func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	t.repo.reading.Lock()
	defer t.repo.reading.Unlock()
	e, err := t.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if !e.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	children, err := t.children(e)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	all := make([]fs.DirEntry, len(children))
	for i, c := range children {
		if all[i], err = t.entry(c); err != nil {
			return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
		}
	}
	// Git sorts directories as if their names ended in a slash.
	slices.SortFunc(all, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	return all, nil
}

func (t *tree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		all, err := t.ReadDir(name)
		return &directory{info: info, name: name, rest: all}, err
	}
	data, err := t.ReadFile(name)
	return &file{Reader: bytes.NewReader(data), info: info}, err
}

// file is a file of a commit that was opened.
type file struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// directory is a directory of a commit that was opened.
type directory struct {
	info fs.FileInfo
	name string
	rest []fs.DirEntry
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errIsDir}
}

func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		all := d.rest
		d.rest = nil
		return all, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	next := d.rest[:n]
	d.rest = d.rest[n:]
	return next, nil
}
