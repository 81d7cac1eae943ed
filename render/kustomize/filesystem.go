package kustomize

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ladder-cmp/ladder/internal/vfs"
)

// repoFS is the read-only file system for kustomize: its root contains the trees as
// numbered directories. It records the files read.
type repoFS struct{ a *assembly }

var _ filesys.FileSystem = repoFS{}

var errReadOnly = errors.New("the repository is read-only")

// find splits a path into a tree and the path within it.
func (r repoFS) find(p string) (*tree, string, error) {
	number, name, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(p)), "/"), "/")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(r.a.trees) || strconv.Itoa(n) != number {
		return nil, "", &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	if name == "" {
		name = "."
	}
	return r.a.trees[n], name, nil
}

func (r repoFS) ReadFile(p string) ([]byte, error) {
	t, name, err := r.find(p)
	if err != nil {
		return nil, err
	}
	data, err := t.overlay.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r.a.read = append(r.a.read, readFile{t, name, data})
	return data, nil
}

func (r repoFS) stat(p string) (fs.FileInfo, error) {
	t, name, err := r.find(p)
	if err != nil {
		return nil, err
	}
	return t.overlay.Stat(name)
}

func (r repoFS) Exists(p string) bool {
	_, err := r.stat(p)
	return err == nil
}

func (r repoFS) IsDir(p string) bool {
	info, err := r.stat(p)
	return err == nil && info.IsDir()
}

// CleanedAbs resolves symlinks, because kustomize uses the result to restrict files
// to a directory.
func (r repoFS) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	t, name, err := r.find(p)
	if err != nil {
		return "", "", err
	}
	if _, isGenerated := t.overlay.Files[name]; !isGenerated {
		if name, err = vfs.ResolveIn(t.FS, name); err != nil {
			return "", "", err
		}
	}
	info, err := t.overlay.Stat(name)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return filesys.ConfirmedDir(path.Join(t.at, name)), "", nil
	}
	return filesys.ConfirmedDir(path.Join(t.at, path.Dir(name))), path.Base(name), nil
}

// errNotListed is returned for listing directories, which kustomize build never does.
var errNotListed = errors.New("directories are not listed")

func (r repoFS) ReadDir(string) ([]string, error)     { return nil, errNotListed }
func (r repoFS) Glob(string) ([]string, error)        { return nil, errNotListed }
func (r repoFS) Walk(string, filepath.WalkFunc) error { return errNotListed }
func (r repoFS) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (r repoFS) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (r repoFS) Mkdir(string) error                   { return errReadOnly }
func (r repoFS) MkdirAll(string) error                { return errReadOnly }
func (r repoFS) RemoveAll(string) error               { return errReadOnly }
func (r repoFS) WriteFile(string, []byte) error       { return errReadOnly }
