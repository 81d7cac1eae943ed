// Package checkout opens a component directory as named on the command line: in its
// git repository, on disk or at a revision. Paths are shown in the form that the
// user typed. It also reads and writes files of manifests that another tool rendered.
package checkout

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Rel returns the path of a directory relative to the repository.
func (c *Checkout) Rel(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	if err := CheckDir(dir); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(c.Base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", finding.Usagef("%s is not in the repository of %s; name folders of one repository", dir, c.typed)
	}
	return filepath.ToSlash(rel), nil
}

// Checkout is a component directory on disk, in the repository around it.
type Checkout struct {
	Root *os.Root
	Repo fs.FS
	Dir  string // of the component, relative to the repository
	Base string // the repository, absolute
	Name string // of the directory, which may be the repository itself
	// NoRepository means that there is no repository, and Base is the whole file
	// system.
	NoRepository bool
	// typed is the path that the user typed.
	typed string
	// revision is the user's name of the commit to read; empty means the work tree.
	revision string
}

// Close closes the file system.
func (c *Checkout) Close() { c.Root.Close() }

// Show returns a path of the repository in the user's form: relative to the typed
// directory if it is below it, otherwise relative to the working directory, or
// absolute if the user typed an absolute path.
func (c *Checkout) Show(path string) string {
	below, err := filepath.Rel(filepath.FromSlash(c.Dir), filepath.FromSlash(path))
	if err == nil && filepath.IsLocal(below) {
		return filepath.ToSlash(filepath.Join(c.typed, below))
	}
	full := filepath.Join(c.Base, filepath.FromSlash(path))
	if rel, err := filepath.Rel(WorkingDir(), full); err == nil && !filepath.IsAbs(c.typed) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(full)
}

// DisplayName names the component; for a revision in git's syntax.
func (c *Checkout) DisplayName() string {
	if c.revision != "" {
		return c.revision + ":" + c.Dir
	}
	return c.Show(c.Dir)
}

// At returns the checkout at a commit; nil leaves it unchanged.
func (c *Checkout) At(rev *Commit) *Checkout {
	if rev == nil {
		return c
	}
	past := *c
	past.Repo, past.revision = rev.files, rev.Name
	return &past
}

// ReadValues reads a values file that the user named, relative to the working
// directory; at a revision, if it is in the repository there.
func (c *Checkout) ReadValues(name string) ([]byte, error) {
	full := name
	if !filepath.IsAbs(name) {
		full = filepath.Join(WorkingDir(), name)
	}
	if rel, err := filepath.Rel(c.Base, full); c.revision != "" && err == nil && filepath.IsLocal(rel) {
		return fs.ReadFile(c.Repo, filepath.ToSlash(rel))
	}
	return os.ReadFile(name)
}

// Open opens the repository of a directory: the nearest parent with a .git,
// otherwise the whole file system, since on the user's own machine nothing needs
// protection.
func Open(dir string) (*Checkout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	base := GitRoot(abs)
	if base == "" {
		base = filepath.VolumeName(abs) + string(filepath.Separator)
	}
	c, err := OpenAt(base, abs)
	if err != nil {
		return nil, err
	}
	c.typed, c.NoRepository = dir, GitRoot(abs) == ""
	return c, nil
}

// OpenAt opens a directory in a given repository. Both paths are absolute.
func OpenAt(base, abs string) (*Checkout, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return nil, err
	}
	return &Checkout{Root: root, Repo: NewRegular(root.FS()), Dir: filepath.ToSlash(rel), Base: base, Name: filepath.Base(abs)}, nil
}

// GitRoot returns the nearest directory at or above dir that contains .git.
func GitRoot(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// WorkingDir returns the working directory without symlinks, or "." if it was
// deleted.
func WorkingDir() string {
	wd, err := os.Getwd()
	if err != nil {
		return "."
	}
	if resolved, err := filepath.EvalSymlinks(wd); err == nil {
		return resolved
	}
	return wd
}

// CheckDir returns an error if a directory does not exist or is a file.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case dir == "":
		return nil
	case err != nil:
		return fmt.Errorf("%s: no such directory; fix: check the path", dir)
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory; fix: name a directory", dir)
	}
	return nil
}

// WithoutFiles separates directories from files. If there are only files, they are
// kept, so that the user gets an error about them.
func WithoutFiles(args []string) (dirs, files []string) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && !info.IsDir() {
			files = append(files, arg)
		} else {
			dirs = append(dirs, arg)
		}
	}
	if len(dirs) == 0 {
		return args, nil
	}
	return dirs, files
}

// NearestExisting returns the nearest existing directory at or above a path.
func NearestExisting(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for {
		if resolved, err := filepath.EvalSymlinks(abs); err == nil || filepath.Dir(abs) == abs {
			return resolved
		}
		abs = filepath.Dir(abs)
	}
}

// Called returns the names of directories of a repository as the user wrote them, or their
// paths in it where that says nothing, as "." does.
func Called(base string, dirs []string) string {
	var names []string
	for _, dir := range dirs {
		name := filepath.ToSlash(filepath.Clean(dir))
		if name == "." || strings.HasSuffix(name, "..") {
			abs := NearestExisting(dir)
			if rel, err := filepath.Rel(base, abs); err == nil && rel != "." {
				name = filepath.ToSlash(rel)
			} else {
				name = filepath.Base(abs)
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// Unique removes duplicates, in whatever form they are named.
func Unique(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		abs, err := filepath.Abs(name)
		twice := err == nil && seen[abs]
		seen[abs] = true
		return twice
	})
}

// InRepository returns the path of a directory, which need not exist, relative to
// the repository of another.
func InRepository(dir, out string) (string, error) {
	c, err := Open(dir)
	if err != nil {
		return "", err
	}
	defer c.Close()
	abs, err := filepath.Abs(out)
	if err != nil {
		return "", err
	}
	for there, rest := abs, ""; ; {
		if resolved, err := filepath.EvalSymlinks(there); err == nil {
			abs = filepath.Join(resolved, rest)
			break
		}
		there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest)
	}
	rel, err := filepath.Rel(c.Base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", finding.Finding{Severity: finding.Error, Rule: finding.NotWritten, File: out,
			Message: "it is not in the repository of " + dir + ", from which Argo CD would read it",
			Remedy:  "name a directory there, or set its path with --path"}
	}
	return filepath.ToSlash(rel), nil
}

// PluginRoot finds the repository of a plugin command from its working directory.
// Argo CD unpacks it to a temporary directory and starts the command in the
// Application's path below it. If the path does not match, the nearest .git is
// used. An Application with manifest-generate-paths gets a part of the repository,
// and the command starts in the last part of its path; the longest matching suffix
// is used. Otherwise nothing outside the working directory is read.
func PluginRoot(wd, sourcePath string) string {
	path := filepath.Clean(filepath.FromSlash("/" + sourcePath))
	if base := above(wd, path); base != "" {
		return base
	}
	if base := GitRoot(wd); base != "" {
		return base
	}
	for rest := path[1:]; rest != ""; {
		if base := above(wd, "/"+rest); base != "" {
			return base
		}
		_, rest, _ = strings.Cut(rest, string(filepath.Separator))
	}
	return wd
}

// above returns the directory such that wd is path below it, or "".
func above(wd, path string) string {
	base, ok := strings.CutSuffix(wd, filepath.FromSlash(path))
	if !ok || path == string(filepath.Separator) {
		return ""
	}
	return base
}
