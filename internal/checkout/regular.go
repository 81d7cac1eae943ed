package checkout

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"runtime"
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

	mu      sync.Mutex
	asked   int                    // how many files were looked for
	listAt  int                    // so many files are looked for before it is listed
	entries []fs.DirEntry          // nil until listed
	byName  map[string]fs.DirEntry // of entries
}

// Listing costs a question for each file of a directory. It is tried after fewFiles questions, and
// given up where there are filesPerQuestion times as many files; then again after that many questions.
// Outside git, the directories above a component, such as /tmp, are only searched for its settings.
const (
	fewFiles         = 4
	filesPerQuestion = 8
)

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
	if known := r.known(dir, path.Dir(name)); known != nil {
		if entry, exists := known[path.Base(name)]; exists {
			return entry.Info()
		}
		if namesAreBytes {
			return nil, notExist(name)
		}
	}
	return fs.Lstat(r.FS, name)
}

// known returns the files of a directory in which one is looked for, or nil if it is not listed.
func (r Regular) known(dir *directory, name string) map[string]fs.DirEntry {
	dir.mu.Lock()
	defer dir.mu.Unlock()
	dir.asked++
	if dir.byName == nil && dir.asked == dir.listAt {
		dir.listAt *= filesPerQuestion
		r.list(dir, name, dir.listAt)
	}
	return dir.byName
}

// namesAreBytes means that a file has the name under which it is listed, and no other; elsewhere it
// has those in other case, too.
const namesAreBytes = runtime.GOOS == "linux"

func notExist(name string) error {
	return &fs.PathError{Op: "statat", Path: name, Err: syscall.ENOENT}
}

// list lists a directory, if that is possible and it has at most limit files.
func (r Regular) list(dir *directory, name string, limit int) {
	f, err := r.FS.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	listed, ok := f.(fs.ReadDirFile)
	if !ok {
		return
	}
	all := []fs.DirEntry{}
	for len(all) <= limit {
		some, err := listed.ReadDir(limit + 1 - len(all))
		if all = append(all, some...); errors.Is(err, io.EOF) {
			dir.know(all)
			return
		}
		if err != nil {
			return
		}
	}
}

// know keeps the files of a directory.
func (d *directory) know(all []fs.DirEntry) {
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	d.entries, d.byName = all, make(map[string]fs.DirEntry, len(all))
	for _, e := range all {
		d.byName[e.Name()] = e
	}
}

// listed returns the files of a directory, or nil if it cannot be listed.
func (r Regular) listed(dir *directory, name string) []fs.DirEntry {
	dir.mu.Lock()
	defer dir.mu.Unlock()
	if dir.byName == nil {
		r.list(dir, name, math.MaxInt-1)
	}
	return dir.entries
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
		return &directory{isReal: true, listAt: fewFiles}
	}
	info, err := r.find(name)
	return &directory{isReal: err != nil || info != nil && info.IsDir(), missing: err != nil, listAt: fewFiles}
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
	if dir := r.directory(name); dir.isReal && !isGit(name) {
		all = slices.Clone(r.listed(dir, name))
	}
	if all == nil {
		err := r.check(name)
		if err != nil {
			return nil, err
		}
		if all, err = fs.ReadDir(r.FS, name); err != nil {
			return nil, err
		}
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
