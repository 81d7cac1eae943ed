// Package input defines the input of a rendering for all kinds of components: the
// directory in the repository, overriding values, fetched archives, and the cache
// of earlier renderings.
//
// A component is read through an fs.FS whose root is the repository. Charts and
// symlinks cannot reach anything outside it.
package input

import (
	"cmp"
	"errors"
	"io/fs"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"syscall"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Empty is the rule for components that render to nothing.
const Empty finding.Rule = "empty-rendering"

// Source is a component directory in its repository.
type Source struct {
	FS  fs.FS
	Dir string
	// ShowPath converts a path in the repository to the path for messages and
	// objects; nil leaves it unchanged.
	ShowPath func(path string) string
	// Whole is the directory of the tree that contains Dir, if any.
	Whole string
}

// Show converts a path of the repository for messages.
func (s Source) Show(path string) string {
	if s.ShowPath == nil {
		return path
	}
	return s.ShowPath(path)
}

// Fault returns a finding about a file of the component, or about its directory if
// name is empty.
func (s Source) Fault(rule finding.Rule, name, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: rule, File: s.Show(path.Join(s.Dir, name)), Message: message, Remedy: remedy}
}

// Unreadable reports a file system error, naming the file it is about.
func (s Source) Unreadable(err error) finding.Finding {
	f := s.Fault(finding.NotFound, "", Cause(err), UnreadableRemedy(err))
	var pe *fs.PathError
	if errors.As(err, &pe) {
		f.File = s.Show(pe.Path)
	}
	return f
}

// Cause removes the operation and path that package fs adds to errors, since every
// finding names the file.
func Cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err.Error() == "path escapes from parent" { // os.Root's error, which is not exported
		return "its path contains a symlink out of the repository"
	}
	return err.Error()
}

// UnreadableRemedy says what to do about a file that cannot be read.
func UnreadableRemedy(err error) string {
	if errors.Is(err, syscall.EISDIR) {
		return "use a file instead of the directory"
	}
	return "check that the file exists, is readable, and is not a symlink out of the repository"
}

// RepoPath resolves a path relative to directory base, without leaving the
// repository.
func RepoPath(base, rel string) (string, bool) {
	p := path.Join(base, rel)
	if strings.HasPrefix(rel, "/") {
		p = path.Clean(strings.TrimLeft(rel, "/"))
	}
	return p, fs.ValidPath(p)
}

// VendorCommand returns the command that vendors the component's sources, which
// applies to a tree as a whole, with the flags that an address needs.
func (s Source) VendorCommand(address string) string {
	command := "cmp vendor " + s.Show(cmp.Or(s.Whole, s.Dir))
	u, err := url.Parse(address)
	if err != nil {
		return command
	}
	if u.Scheme == "http" {
		command += " --allow-remote http://" + u.Host + " --remote-plain-http " + u.Host
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && (ip.IsPrivate() || ip.IsLoopback()) {
		command += " --allow-private " + ip.String()
	}
	return command
}

// ReadFiles reads files, and calls got for each in their order. A file system with a method
// ReadFiles, such as that of a process that asks another one for each file, gets all names at once.
func ReadFiles(fsys fs.FS, names []string, got func(i int, data []byte)) error {
	read := func(i int) ([]byte, error) { return fs.ReadFile(fsys, names[i]) }
	if together, ok := fsys.(interface {
		ReadFiles(names []string) func(i int) ([]byte, error)
	}); ok {
		read = together.ReadFiles(names)
	}
	for i := range names {
		data, err := read(i)
		if err != nil {
			return err
		}
		got(i, data)
	}
	return nil
}

// FileExists reports whether a file exists that is not a directory.
func FileExists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

// Walk calls fn with the path of every file below dir, relative to it, in lexical
// order. It skips hidden files and directories, which belong to tools. It follows
// symlinks to files inside the repository, but not to directories.
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
			// Dangling symlinks are reported when they are read.
			if info, err := fs.Stat(fsys, p); err == nil && info.IsDir() {
				return nil
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return fn(strings.TrimPrefix(p, Prefix(dir)))
	})
}

// Prefix returns the prefix of the paths of files below dir.
func Prefix(dir string) string {
	if dir == "." {
		return ""
	}
	return dir + "/"
}

// Exists reports whether a path exists.
func Exists(fsys fs.FS, p string) bool {
	_, err := fs.Stat(fsys, p)
	return err == nil
}
