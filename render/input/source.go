// Package input is what a component is rendered from, whatever kind of component it
// is: its directory in the repository, values that override its own, what was fetched
// for it, and what renderings before this one have left in memory.
//
// A component is read through an fs.FS whose root is the repository. Nothing outside
// of it can be reached, whatever a chart or a symlink says.
package input

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Empty is the rule of findings about components of which nothing is rendered.
const Empty = "empty-rendering"

// Source is a component directory in its repository.
type Source struct {
	FS  fs.FS
	Dir string
	// ShowPath returns how messages and objects are to name a file or directory
	// of the repository; nil means by its path there.
	ShowPath func(path string) string
	// Whole is the directory of the tree that Dir is a part of, if it is one.
	Whole string
}

// Show names a path of the repository for people.
func (s Source) Show(path string) string {
	if s.ShowPath == nil {
		return path
	}
	return s.ShowPath(path)
}

// Fault is a finding about a file of the component, or about its directory
// when name is empty.
func (s Source) Fault(rule, name, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: rule, File: s.Show(path.Join(s.Dir, name)), Message: message, Remedy: remedy}
}

// Unreadable reports a file system error, naming the file it is about.
func (s Source) Unreadable(err error) finding.Finding {
	f := s.Fault("unreadable", "", Cause(err), "check that the file is there, readable, and no symlink out of the repository")
	var pe *fs.PathError
	if errors.As(err, &pe) {
		f.File = s.Show(pe.Path)
	}
	return f
}

// Cause strips the operation and path that package fs puts before an error,
// since every finding names the file already.
func Cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err.Error() == "path escapes from parent" { // os.Root's, which has no name
		return "it is, or lies behind, a symlink out of the repository"
	}
	return err.Error()
}

// RepoPath resolves a path written in a file of directory base, without
// leaving the repository.
func RepoPath(base, rel string) (string, bool) {
	p := path.Join(base, rel)
	if strings.HasPrefix(rel, "/") {
		p = path.Clean(strings.TrimLeft(rel, "/"))
	}
	return p, fs.ValidPath(p)
}

// VendorCommand is the command that vendors what the component needs, which is done for a
// tree as a whole.
func (s Source) VendorCommand() string { return "cmp vendor " + s.Show(cmp.Or(s.Whole, s.Dir)) }

// FileExists reports whether there is a file of this name, and not a directory.
func FileExists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

// Walk calls fn with the path, relative to dir, of every file below it, in
// lexical order. Hidden files and directories are left out, which are for tools;
// symlinks to files are followed inside the repository, symlinks to directories
// are not followed.
func Walk(fsys fs.FS, dir string, fn func(name string) error) error {
	return fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == dir {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			// One that leads to nothing is reported by who reads it.
			if info, err := fs.Stat(fsys, p); err == nil && info.IsDir() {
				return nil
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return fn(strings.TrimPrefix(p, Prefix(dir)))
	})
}

// Prefix is what stands before the paths of the files below dir.
func Prefix(dir string) string {
	if dir == "." {
		return ""
	}
	return dir + "/"
}

// Exists reports whether there is anything of this name.
func Exists(fsys fs.FS, p string) bool {
	_, err := fs.Stat(fsys, p)
	return err == nil
}
