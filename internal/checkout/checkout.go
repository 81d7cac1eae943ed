// Package checkout opens a component directory as a user names it on the command line:
// in the git repository around it, as it is on disk or at a revision, with the paths
// shown as the user typed them.
package checkout

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

// Inside is the path of a directory in the repository of another.
func (c *Checkout) Inside(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	if err := IsThere(dir); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(c.Base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", usage.Errorf("%s is not in the repository of %s; name folders of one repository", dir, c.typed)
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
	// NoRepository means that there is none, and base is all of the file system.
	NoRepository bool
	// typed is how the user called the component.
	typed string
	// revision is what the user called the commit that repo is of; empty means
	// the work tree.
	revision string
}

// Close ends the reading of files.
func (c *Checkout) Close() { c.Root.Close() }

// Show names a path of the repository as the user would, who typed dir: below
// it by what they typed, elsewhere relative to the working directory, or in
// full if they typed a full path.
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

// Called names the component of a checkout: at a revision as git does.
func (c *Checkout) Called() string {
	if c.revision != "" {
		return c.revision + ":" + c.Dir
	}
	return c.Show(c.Dir)
}

// At is the checkout as it was at a commit; nil leaves it as it is.
func (c *Checkout) At(rev *Commit) *Checkout {
	if rev == nil {
		return c
	}
	past := *c
	past.Repo, past.revision = rev.files, rev.Name
	return &past
}

// ReadValues reads a values file that the user names, relative to the working
// directory: at a revision, if it is in the repository there.
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

// Open finds the repository around a directory: the nearest one with a
// .git, or else the whole file system, since on the user's own machine there
// is nothing to protect.
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

// OpenAt opens a directory in a repository that is known. Both are full paths.
func OpenAt(base, abs string) (*Checkout, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return nil, err
	}
	return &Checkout{Root: root, Repo: Regular{root.FS()}, Dir: filepath.ToSlash(rel), Base: base, Name: filepath.Base(abs)}, nil
}

// GitRoot returns the nearest directory at or above dir that holds .git.
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

// WorkingDir is the working directory without symlinks, or "." if it is gone.
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

// IsThere says if a folder is missing, or is none.
func IsThere(dir string) error {
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

// WithoutFiles tells directories from plain files. Files alone stay: somebody named
// them, and is to be told that they are none.
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

// Existing is the nearest directory at or above one that may be gone.
func Existing(dir string) string {
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

// Once leaves out what is named before, in whatever way.
func Once(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		abs, err := filepath.Abs(name)
		twice := err == nil && seen[abs]
		seen[abs] = true
		return twice
	})
}

// InRepository is the path of a directory, which need not be there yet, in the
// repository of another.
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
		return "", finding.Finding{Severity: finding.Error, Rule: wholefile.BadOut, File: out, Message: "it is not in the repository of " + dir + ", from which Argo CD would read it", Remedy: "name a directory there, or set its path with --path"}
	}
	return filepath.ToSlash(rel), nil
}

// PluginRoot finds the repository around the working directory of a plugin
// command. Argo CD unpacks it to a temporary directory and starts the command
// in the Application's path below it. Where the path does not tell, the nearest
// .git does. An Application with manifest-generate-paths gets a part of the
// repository and is started in the end of its path; the more of the path fits,
// the smaller is the part that is missing. Failing all that, nothing outside of
// the working directory is read.
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

// above returns the directory that wd is path below, or "" if it is not.
func above(wd, path string) string {
	base, ok := strings.CutSuffix(wd, filepath.FromSlash(path))
	if !ok || path == string(filepath.Separator) {
		return ""
	}
	return base
}
