package checkout

import (
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// NewRegular returns a checkout that does not change while it is read: a directory in which
// several files are looked for is listed once.
func NewRegular(fsys fs.FS) Regular { return Regular{fsys, &sync.Map{}} }

var (
	_ fs.ReadFileFS = Regular{}
	_ fs.ReadDirFS  = Regular{}
	_ fs.StatFS     = Regular{}
	_ fs.ReadLinkFS = Regular{}
)

// check refuses what no rendering may open.
func (r Regular) check(name string) error {
	if isGit(name) {
		return &fs.PathError{Op: "open", Path: name, Err: errGit}
	}
	info, err := r.find(name)
	if err != nil {
		return err
	}
	if info == nil || info.Mode()&fs.ModeSymlink != 0 {
		resolved, _ := vfs.ResolveIn(r.FS, name) // opening it reports what cannot be resolved
		if isGit(resolved) {
			return &fs.PathError{Op: "open", Path: name, Err: errGit}
		}
		if info, err = fs.Stat(r.FS, name); err != nil {
			return nil // opening it reports that
		}
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	return nil
}

// directory is what is known about a directory.
type directory struct {
	isReal  bool // it is reached without symlinks, if it exists
	missing bool
	// asked counts the files that were looked for. Listing costs a question for each entry,
	// which pays from some files on: those above a component are only searched for its settings.
	asked   atomic.Int32
	list    sync.Once
	entries []fs.DirEntry          // nil until listed, or if that failed
	byName  map[string]fs.DirEntry // of entries
}

// fewFiles are looked for without listing their directory.
const fewFiles = 3

// find does what Lstat does. The result is nil if symlinks lead to the directory, or if Lstat
// fails; the only error is that the file does not exist.
func (r Regular) find(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, nil
	}
	dir := r.directory(path.Dir(name))
	if !dir.isReal {
		return nil, nil
	}
	if dir.missing {
		return nil, notExist(name)
	}
	info, err := r.findIn(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	return info, nil
}

func (r Regular) findIn(dir *directory, name string) (fs.FileInfo, error) {
	if dir.asked.Add(1) > fewFiles && r.listed(dir, path.Dir(name)) {
		if entry, exists := dir.byName[path.Base(name)]; exists {
			return entry.Info()
		}
		if namesAreBytes {
			return nil, notExist(name)
		}
	}
	return fs.Lstat(r.FS, name)
}

// namesAreBytes means that a file has the name under which it is listed, and no other; elsewhere it
// has those in other case, too.
const namesAreBytes = runtime.GOOS == "linux"

func notExist(name string) error {
	return &fs.PathError{Op: "statat", Path: name, Err: syscall.ENOENT}
}

// listed lists a directory, and reports whether that was possible.
func (r Regular) listed(dir *directory, name string) bool {
	dir.list.Do(func() {
		entries, err := fs.ReadDir(r.FS, name)
		if err != nil {
			return
		}
		dir.entries, dir.byName = entries, make(map[string]fs.DirEntry, len(entries))
		for _, e := range entries {
			dir.byName[e.Name()] = e
		}
	})
	return dir.byName != nil
}

func (r Regular) directory(name string) *directory {
	if r.seen == nil {
		return &directory{}
	}
	if known, seen := r.seen.Load(name); seen {
		return known.(*directory)
	}
	known, _ := r.seen.LoadOrStore(name, r.look(name))
	return known.(*directory)
}

// look looks at a directory without listing it.
func (r Regular) look(name string) *directory {
	if name == "." {
		return &directory{isReal: true}
	}
	info, err := r.find(name)
	return &directory{isReal: err != nil || info != nil && info.IsDir(), missing: err != nil}
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
	var all []fs.DirEntry
	if dir := r.directory(name); dir.isReal && !isGit(name) && r.listed(dir, name) {
		all = slices.Clone(dir.entries)
	} else if err := r.check(name); err != nil {
		return nil, err
	} else if all, err = fs.ReadDir(r.FS, name); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return isGit(e.Name()) }), nil
}

// Stat implements fs.StatFS.
func (r Regular) Stat(name string) (fs.FileInfo, error) {
	if info, err := r.find(name); err != nil || info != nil && info.Mode()&fs.ModeSymlink == 0 {
		return info, err
	}
	return fs.Stat(r.FS, name)
}

// ReadLink implements fs.ReadLinkFS.
func (r Regular) ReadLink(name string) (string, error) { return fs.ReadLink(r.FS, name) }

// Lstat implements fs.ReadLinkFS.
func (r Regular) Lstat(name string) (fs.FileInfo, error) {
	if info, err := r.find(name); err != nil || info != nil {
		return info, err
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
