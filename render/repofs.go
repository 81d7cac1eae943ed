package render

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// repoFS shows a repository to kustomize as a file system whose root is the
// root of the repository. It can only be read, and notes what was.
type repoFS struct {
	fsys fs.FS
	read *[]string
}

var _ filesys.FileSystem = repoFS{}

var errReadOnly = errors.New("the repository is read-only")

func (r repoFS) name(p string) string {
	p = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(p)), "/")
	if p == "" {
		return "."
	}
	return p
}

func (r repoFS) ReadFile(p string) ([]byte, error) {
	*r.read = append(*r.read, r.name(p))
	return fs.ReadFile(r.fsys, r.name(p))
}

func (r repoFS) Exists(p string) bool { return pathExists(r.fsys, r.name(p)) }

func (r repoFS) IsDir(p string) bool {
	info, err := fs.Stat(r.fsys, r.name(p))
	return err == nil && info.IsDir()
}

func (r repoFS) ReadDir(p string) ([]string, error) {
	entries, err := fs.ReadDir(r.fsys, r.name(p))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (r repoFS) Glob(pattern string) ([]string, error) {
	matches, err := fs.Glob(r.fsys, r.name(pattern))
	for i := range matches {
		matches[i] = "/" + matches[i]
	}
	return matches, err
}

func (r repoFS) Walk(p string, fn filepath.WalkFunc) error {
	return fs.WalkDir(r.fsys, r.name(p), func(name string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if d != nil {
			info, _ = d.Info()
		}
		return fn("/"+name, info, err)
	})
}

// CleanedAbs resolves symlinks, because kustomize compares the result with the
// directory that a file must not leave.
func (r repoFS) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	name, err := r.resolve(r.name(p))
	if err != nil {
		return "", "", err
	}
	info, err := fs.Stat(r.fsys, name)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return filesys.ConfirmedDir(path.Join("/", name)), "", nil
	}
	return filesys.ConfirmedDir(path.Join("/", path.Dir(name))), path.Base(name), nil
}

// resolve follows the symlinks of a path, where the file system has any.
func (r repoFS) resolve(name string) (string, error) {
	links, ok := r.fsys.(fs.ReadLinkFS)
	if !ok || name == "." {
		return name, nil
	}
	done := "."
	rest := strings.Split(name, "/")
	for hops := 0; len(rest) > 0; {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		info, err := links.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if hops++; hops > 255 {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: errors.New("too many symlinks")}
		}
		target, err := links.ReadLink(next)
		if err != nil {
			return "", err
		}
		target = path.Join(done, filepath.ToSlash(target))
		if !fs.ValidPath(target) {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: errors.New("the symlink leaves the repository")}
		}
		rest = append(strings.Split(target, "/"), rest...)
		done = "."
	}
	return done, nil
}

func (r repoFS) Create(string) (filesys.File, error) { return nil, errReadOnly }
func (r repoFS) Mkdir(string) error                  { return errReadOnly }
func (r repoFS) MkdirAll(string) error               { return errReadOnly }
func (r repoFS) RemoveAll(string) error              { return errReadOnly }
func (r repoFS) WriteFile(string, []byte) error      { return errReadOnly }
func (r repoFS) Open(p string) (filesys.File, error) {
	f, err := r.fsys.Open(r.name(p))
	if err != nil {
		return nil, err
	}
	return readOnlyFile{f}, nil
}

type readOnlyFile struct{ fs.File }

func (readOnlyFile) Write([]byte) (int, error) { return 0, errReadOnly }
