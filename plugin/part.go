package plugin

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/vfs"
)

// SourcePath is the variable with the path of an Application in its repository.
const SourcePath = "ARGOCD_APP_SOURCE_PATH"

// Part is a repository of which Argo CD sent only one directory, as it does for an
// Application with the annotation manifest-generate-paths (getApplicationRootPath in
// reposerver/repository/utils.go). It shows the directory where it is in the repository, so that
// paths from the root are right.
type Part struct {
	sent, above fs.FS
	prefix      string

	mu sync.Mutex
	// missing are the names that were looked for outside the directory.
	missing map[string]bool
}

// Whole returns the file system and the directory of a component as they are in the repository
// of an Application with the given environment, and the part of the repository that they are,
// nil if they are all of it.
func Whole(repo fs.FS, dir string, env map[string]string) (fs.FS, string, *Part) {
	source := path.Clean(strings.TrimPrefix(env[SourcePath], "/"))
	prefix := strings.TrimSuffix(strings.TrimSuffix(source, dir), "/")
	if dir == "." {
		prefix = source
	}
	if path.Join(prefix, dir) != source || prefix == "" || prefix == "." || !fs.ValidPath(source) {
		return repo, dir, nil
	}
	p := &Part{sent: repo, above: vfs.EmptyDir(prefix), prefix: prefix, missing: map[string]bool{}}
	return p, source, p
}

// pick returns the file system that contains a name, and the name in it.
func (p *Part) pick(name string) (fs.FS, string) {
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
func read[T any](p *Part, name string, call func(fs.FS, string) (T, error)) (T, error) {
	found, err := call(p.pick(name))
	if pe := new(fs.PathError); errors.As(err, &pe) {
		err = &fs.PathError{Op: pe.Op, Path: name, Err: pe.Err}
	}
	return found, err
}

func (p *Part) Open(name string) (fs.File, error)          { return read(p, name, fs.FS.Open) }
func (p *Part) ReadFile(name string) ([]byte, error)       { return read(p, name, fs.ReadFile) }
func (p *Part) ReadDir(name string) ([]fs.DirEntry, error) { return read(p, name, fs.ReadDir) }
func (p *Part) Stat(name string) (fs.FileInfo, error)      { return read(p, name, fs.Stat) }
func (p *Part) Lstat(name string) (fs.FileInfo, error)     { return read(p, name, fs.Lstat) }
func (p *Part) ReadLink(name string) (string, error)       { return read(p, name, fs.ReadLink) }

// Explain says of errors about files that were not sent how to have them sent.
func (p *Part) Explain(err error) error {
	if p == nil || err == nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := finding.Of(err)
	for i := range found {
		if name := p.namedIn(found[i].Error()); name != "" {
			found[i].Message += "; Argo CD sent only " + p.prefix + "/ of the repository"
			found[i].Remedy, found[i].Question = "add /"+name+" to the annotation argocd.argoproj.io/manifest-generate-paths of the Application",
				false
		}
	}
	return finding.Err(slices.Clip(found))
}

// namedIn returns the longest path that a text names, that was not sent and in which something
// was looked for; empty if there is none.
func (p *Part) namedIn(text string) (longest string) {
	for name := range p.missing {
		for ; name != "." && len(name) > len(longest) && !strings.HasPrefix(p.prefix, name+"/"); name = path.Dir(name) {
			if regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name) + `($|[^\w-])`).MatchString(text) {
				longest = name
			}
		}
	}
	return longest
}
