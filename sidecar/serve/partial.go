package serve

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// sourcePath is the variable with the path of an Application in its repository.
const sourcePath = "ARGOCD_APP_SOURCE_PATH"

// partial is a repository of which Argo CD sent only one directory, as it does for an
// Application with the annotation manifest-generate-paths (getApplicationRootPath in
// reposerver/repository/utils.go). It shows the directory where it is in the repository, so that
// paths from the root are right.
type partial struct {
	sent, above fs.FS
	prefix      string

	mu sync.Mutex
	// missing are the names that were looked for outside the directory.
	missing map[string]bool
}

// whole returns the input with the directory of the component as it is in the repository, and
// the part of the repository that was sent, nil if it is all of it.
func whole(in task.Input) (task.Input, *partial) {
	source := path.Clean(strings.TrimPrefix(in.Env[sourcePath], "/"))
	prefix := strings.TrimSuffix(strings.TrimSuffix(source, in.Dir), "/")
	if in.Dir == "." {
		prefix = source
	}
	if path.Join(prefix, in.Dir) != source || prefix == "" || prefix == "." || !fs.ValidPath(source) {
		return in, nil
	}
	p := &partial{sent: in.Repo, above: fstest.MapFS{prefix: {Mode: fs.ModeDir | 0o755}}, prefix: prefix, missing: map[string]bool{}}
	in.Repo, in.Dir = p, source
	return in, p
}

// pick returns the file system that contains a name, and the name in it.
func (p *partial) pick(name string) (fs.FS, string) {
	if name == p.prefix {
		return p.sent, "."
	}
	if below, ok := strings.CutPrefix(name, p.prefix+"/"); ok {
		return p.sent, below
	}
	if name != "." && !strings.HasPrefix(p.prefix, name+"/") {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.missing[name] = true
	}
	return p.above, name
}

// read calls a function of package fs for a name, which its error then contains.
func read[T any](p *partial, name string, call func(fs.FS, string) (T, error)) (T, error) {
	found, err := call(p.pick(name))
	if pe := new(fs.PathError); errors.As(err, &pe) {
		err = &fs.PathError{Op: pe.Op, Path: name, Err: pe.Err}
	}
	return found, err
}

func (p *partial) Open(name string) (fs.File, error)          { return read(p, name, fs.FS.Open) }
func (p *partial) ReadFile(name string) ([]byte, error)       { return read(p, name, fs.ReadFile) }
func (p *partial) ReadDir(name string) ([]fs.DirEntry, error) { return read(p, name, fs.ReadDir) }
func (p *partial) Stat(name string) (fs.FileInfo, error)      { return read(p, name, fs.Stat) }
func (p *partial) Lstat(name string) (fs.FileInfo, error)     { return read(p, name, fs.Lstat) }
func (p *partial) ReadLink(name string) (string, error)       { return read(p, name, fs.ReadLink) }

// explain says of errors about files that were not sent how to have them sent.
func (p *partial) explain(err error) error {
	if p == nil || err == nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := finding.Of(err)
	for i := range found {
		text := found[i].Error()
		for name := range p.missing {
			for ; name != "."; name = path.Dir(name) {
				if !regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name) + `($|[^\w-])`).MatchString(text) {
					continue
				}
				found[i].Message += "; Argo CD sent only " + p.prefix + "/ of the repository"
				found[i].Remedy, found[i].Question = "add /"+name+" to the annotation argocd.argoproj.io/manifest-generate-paths of the Application", false
				break
			}
			if found[i].Error() != text {
				break
			}
		}
	}
	return finding.Err(slices.Clip(found))
}
