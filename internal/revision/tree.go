package revision

import (
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

	"github.com/ladder-cmp/ladder/internal/memfs"
	"github.com/ladder-cmp/ladder/internal/symlink"
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
	errIsDir   = errors.New("is a directory")
	errNotDir  = errors.New("not a directory")
	errNotLink = errors.New("not a symlink")
)

// find looks up a path. It follows symlinks on the way, and with follow also at the
// end.
func (t *tree) find(op, name string, follow bool) (entry, error) {
	// Parent directories are read first.
	found := map[string]entry{".": {name: ".", mode: filemode.Dir, hash: t.root.Hash}}
	at, err := symlink.Resolve(name, follow, func(name string) (string, bool, error) {
		dir := found[path.Dir(name)]
		if !dir.IsDir() {
			return "", false, errNotDir
		}
		e, err := t.child(dir, path.Base(name))
		found[name] = e
		if err != nil || e.mode != filemode.Symlink {
			return "", false, err
		}
		target, err := t.content(e)
		return string(target), true, err
	})
	if err != nil {
		return entry{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	e := found[at]
	if name != "." {
		e.name = path.Base(name)
	}
	return e, nil
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

// entry reads the size of a file.
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
	// Git sorts directories as if their names ended with a slash.
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
		return memfs.NewDirFile(info, all), err
	}
	data, err := t.ReadFile(name)
	return memfs.NewFile(info, data), err
}
