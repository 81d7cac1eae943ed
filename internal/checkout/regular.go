package checkout

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// Regular is a checkout with restrictions for renderings. It only opens regular
// files and directories: a pipe would block, and a device has no end; Argo CD sends
// neither. It also refuses git's own files, also through symlinks, since pipelines
// store their credentials there.
type Regular struct {
	fs.FS
	// seen are the directories that were asked about, as *directory by path; nil for none.
	seen *sync.Map
}

// NewRegular returns a checkout that does not change while it is read: each directory is
// listed once, however many files are looked for there. Names are told apart by case on
// every system, as they are where Argo CD runs.
func NewRegular(fsys fs.FS) Regular { return Regular{fsys, &sync.Map{}} }

var (
	_ fs.ReadFileFS = Regular{}
	_ fs.ReadDirFS  = Regular{}
	_ fs.StatFS     = Regular{}
	_ fs.ReadLinkFS = Regular{}
)

// check refuses what no rendering may open.
func (r Regular) check(op, name string) error {
	if isGit(name) {
		return &fs.PathError{Op: op, Path: name, Err: errGit}
	}
	mode, exists, known := r.find(name)
	if known && !exists {
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
	}
	if !known || mode&fs.ModeSymlink != 0 {
		resolved, _ := vfs.ResolveIn(r.FS, name) // opening it reports what cannot be resolved
		if isGit(resolved) {
			return &fs.PathError{Op: op, Path: name, Err: errGit}
		}
		info, err := fs.Stat(r.FS, name)
		if err != nil {
			return nil // opening it reports that
		}
		mode = info.Mode()
	}
	if !mode.IsDir() && !mode.IsRegular() {
		return &fs.PathError{Op: op, Path: name, Err: errIrregular}
	}
	return nil
}

// directory is a directory that is reached without symlinks.
type directory struct {
	exists  bool
	entries []fs.DirEntry          // without git's own
	types   map[string]fs.FileMode // of all entries, by name
}

// find returns the type of a file and whether it exists, if its directory can say that.
func (r Regular) find(name string) (mode fs.FileMode, exists, known bool) {
	if !fs.ValidPath(name) || name == "." {
		return 0, false, false
	}
	dir := r.directory(path.Dir(name))
	if dir == nil {
		return 0, false, false
	}
	mode, exists = dir.types[path.Base(name)]
	return mode, exists, true
}

// directory lists a directory; nil if it is reached through symlinks or cannot be listed.
func (r Regular) directory(dir string) *directory {
	if r.seen == nil {
		return nil
	}
	if known, seen := r.seen.Load(dir); seen {
		return known.(*directory)
	}
	listed := r.list(dir)
	r.seen.Store(dir, listed)
	return listed
}

func (r Regular) list(dir string) *directory {
	switch isReal, err := r.isReal(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return &directory{}
	case err != nil || !isReal:
		return nil
	}
	entries, err := fs.ReadDir(r.FS, dir)
	if err != nil {
		return nil
	}
	types := make(map[string]fs.FileMode, len(entries))
	for _, e := range entries {
		types[e.Name()] = e.Type()
	}
	return &directory{true, withoutGit(entries), types}
}

// isReal reports whether a directory is reached without symlinks. Directories above it are not
// listed for that, which can be large, or not to be read.
func (r Regular) isReal(dir string) (bool, error) {
	if above, seen := r.seen.Load(path.Dir(dir)); seen && dir != "." {
		if above := above.(*directory); above != nil {
			mode, exists := above.types[path.Base(dir)]
			if !exists {
				return false, fs.ErrNotExist
			}
			return mode.IsDir(), nil
		}
	}
	resolved, err := vfs.ResolveIn(r.FS, dir)
	return resolved == dir, err
}

// Open implements fs.FS.
func (r Regular) Open(name string) (fs.File, error) {
	if err := r.check("open", name); err != nil {
		return nil, err
	}
	return r.FS.Open(name)
}

// ReadFile implements fs.ReadFileFS.
func (r Regular) ReadFile(name string) ([]byte, error) {
	if err := r.check("open", name); err != nil {
		return nil, err
	}
	return fs.ReadFile(r.FS, name)
}

// ReadDir lists a directory without git's own files.
func (r Regular) ReadDir(name string) ([]fs.DirEntry, error) {
	if dir := r.directory(name); dir != nil && dir.exists && !isGit(name) {
		return slices.Clone(dir.entries), nil
	}
	if err := r.check("open", name); err != nil {
		return nil, err
	}
	all, err := fs.ReadDir(r.FS, name)
	return withoutGit(all), err
}

func withoutGit(entries []fs.DirEntry) []fs.DirEntry {
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return isGit(e.Name()) })
}

// Stat implements fs.StatFS.
func (r Regular) Stat(name string) (fs.FileInfo, error) {
	if _, exists, known := r.find(name); known && !exists {
		return nil, &fs.PathError{Op: "statat", Path: name, Err: syscall.ENOENT}
	}
	return fs.Stat(r.FS, name)
}

// ReadLink implements fs.ReadLinkFS.
func (r Regular) ReadLink(name string) (string, error) { return fs.ReadLink(r.FS, name) }

// Lstat implements fs.ReadLinkFS.
func (r Regular) Lstat(name string) (fs.FileInfo, error) {
	if _, exists, known := r.find(name); known && !exists {
		return nil, &fs.PathError{Op: "statat", Path: name, Err: syscall.ENOENT}
	}
	return fs.Lstat(r.FS, name)
}

var (
	errIrregular = errors.New("this is a pipe, a socket or a device, not a regular file")
	errGit       = errors.New("this belongs to git (.git), which no rendering reads")
)

// isGit reports whether a path is a .git or is inside one: a directory, or a file.
// It also matches .git in other case and git~1, which some file systems treat as
// equal.
func isGit(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
	})
}
