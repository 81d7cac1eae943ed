package checkout

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// Regular is a checkout with restrictions for renderings. It only opens regular
// files and directories: a pipe would block, and a device has no end; Argo CD sends
// neither. It also refuses git's own files, also through symlinks, since pipelines
// store their credentials there.
type Regular struct {
	fs.FS
	// real are the directories that are reached without symlinks, for files in them; nil for none.
	real *sync.Map
}

// NewRegular returns a checkout that does not change while it is read.
func NewRegular(fsys fs.FS) Regular { return Regular{fsys, &sync.Map{}} }

var (
	_ fs.ReadFileFS = Regular{}
	_ fs.ReadDirFS  = Regular{}
	_ fs.StatFS     = Regular{}
	_ fs.ReadLinkFS = Regular{}
)

func (r Regular) check(name string) error {
	var info fs.FileInfo
	var err error
	if r.isReal(path.Dir(name)) {
		info, err = fs.Lstat(r.FS, name)
	}
	if errors.Is(err, fs.ErrNotExist) && !isGit(name) {
		return nil // opening it reports that
	}
	if info == nil || info.Mode()&fs.ModeSymlink != 0 {
		resolved, _ := vfs.ResolveIn(r.FS, name) // opening it reports what cannot be resolved
		if isGit(resolved) {
			return &fs.PathError{Op: "open", Path: name, Err: errGit}
		}
		info, err = fs.Stat(r.FS, name)
	}
	if isGit(name) {
		return &fs.PathError{Op: "open", Path: name, Err: errGit}
	}
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	return nil // opening it reports that it does not exist
}

// isReal reports whether a directory is reached without symlinks.
func (r Regular) isReal(dir string) bool {
	if r.real == nil {
		return false
	}
	if known, seen := r.real.Load(dir); seen {
		return known == true
	}
	resolved, err := vfs.ResolveIn(r.FS, dir)
	real := err == nil && resolved == dir
	r.real.Store(dir, real)
	return real
}

// Open implements fs.FS.
func (r Regular) Open(name string) (fs.File, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	return r.FS.Open(name)
}

// ReadFile implements fs.ReadFileFS.
func (r Regular) ReadFile(name string) ([]byte, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	return fs.ReadFile(r.FS, name)
}

// ReadDir lists a directory without git's own files.
func (r Regular) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	all, err := fs.ReadDir(r.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return isGit(e.Name()) }), err
}

// Stat implements fs.StatFS.
func (r Regular) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (r Regular) ReadLink(name string) (string, error) { return fs.ReadLink(r.FS, name) }

// Lstat implements fs.ReadLinkFS.
func (r Regular) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(r.FS, name) }

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
