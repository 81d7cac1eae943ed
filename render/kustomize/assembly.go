package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/symlink"
	"github.com/ladder-cmp/ladder/render/input"
)

// assembly is a kustomization with all that it refers to, put together so that
// kustomize finds it in one file system and has nothing left to fetch or to run:
// charts are rendered, what lies elsewhere is unpacked beside the repository.
type assembly struct {
	ctx       context.Context
	component source
	trees     []*tree
	// repositories are those that were fetched.
	repositories map[remote.Ref]*tree
	files        map[remote.Ref][]byte
	// attempts counts what was asked for elsewhere, and failed has what it did not
	// come to, which is not asked for again.
	attempts int
	failed   map[remote.Ref]error
	// unpacked is how many bytes were unpacked of what was fetched.
	unpacked int64
	// findings are faults that leave a result possible.
	findings []finding.Finding
	// doubled are keys of resources that stand twice in their mapping. Whether kustomize
	// takes them shows only when it builds.
	doubled []finding.Finding
	// inflated says that a chart was rendered.
	inflated bool
	// ofCharts are what is said of an object of a chart that the resources have, too,
	// by the kustomization and the object.
	ofCharts map[string]finding.Finding
	read     []readFile
}

// readFile is a file that kustomize read.
type readFile struct {
	name string
	data []byte
}

// tree is what kustomize sees as a directory below the root: the repository of
// the component, one that was fetched, or files that were made. From inside of a
// tree there is no way out of it.
type tree struct {
	input.Source
	at string
	// made are files that are not as fsys has them, or not there.
	made map[string][]byte
	// visits are the kustomizations in it that were looked at.
	visits map[string]*visit
	// of is the tree whose files it shows once more, itself if it is the first.
	// Each has those kustomizations as some overlay needs them (see visit).
	of *tree
	// fetched says where its files come from; empty in the component's repository.
	fetched string
	// first is the text that is to be the first resource of the component.
	first string
}

// visit is what came of a kustomization: what it refers to has been put where it
// can be found, and its charts are rendered. They go to the namespace of the
// overlay if nobody below says otherwise, so that one base may come out in
// several ways; each but the first is in a tree of its own.
type visit struct {
	namespace string
	// inherits says that a chart goes to that namespace.
	inherits, done bool
}

func (s source) assemble(ctx context.Context) (*assembly, *tree) {
	a := &assembly{ctx: ctx, component: s, repositories: map[remote.Ref]*tree{}, files: map[remote.Ref][]byte{}, failed: map[remote.Ref]error{}, ofCharts: map[string]finding.Finding{}}
	return a, a.add(s.Source)
}

// add makes a tree of the files of a source.
func (a *assembly) add(s input.Source) *tree {
	t := &tree{Source: s, at: "/" + strconv.Itoa(len(a.trees)), made: map[string][]byte{}, visits: map[string]*visit{}}
	t.of = t
	a.trees = append(a.trees, t)
	return t
}

// again adds a tree with the files of another one.
func (a *assembly) again(of *tree) *tree {
	t := a.add(of.Source)
	t.of, t.fetched = of, of.fetched
	return t
}

// generated adds a tree of files that are made, by their names.
func (a *assembly) generated(files map[string]string) *tree {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	s := a.component.Source
	s.FS = m
	return a.add(s)
}

// visit looks at the kustomization in a directory, for an overlay whose charts go
// to a namespace, and returns the tree that has it as that overlay needs it. The
// error joins all faults of the kustomization and those below it, once for all
// who refer to it.
func (a *assembly) visit(t *tree, dir, namespace string) (*tree, string, error) {
	dir, err := resolve(t.FS, dir)
	if err != nil {
		return t, dir, t.Unreadable(err)
	}
	views := []*tree{t}
	for _, other := range a.trees {
		if other.of == t.of && other != t {
			views = append(views, other)
		}
	}
	for _, view := range views {
		v := view.visits[dir]
		if v == nil {
			v = &visit{namespace: namespace}
			view.visits[dir] = v
			v.inherits, err = a.look(view, dir, namespace)
			v.done = true
			return view, dir, err
		}
		if v.namespace == namespace || v.done && !v.inherits {
			return view, dir, nil
		}
	}
	if len(views) > maxViews {
		return t, dir, finding.Finding{Severity: finding.Error, Rule: "kustomization", File: t.Show(dir), Message: "charts of this base are rendered for more than " + strconv.Itoa(maxViews) + " namespaces",
			Remedy: "make components of the overlays"}
	}
	view := a.again(t.of)
	return a.visit(view, dir, namespace)
}

// maxViews bounds the namespaces that the charts of one base are rendered for.
const maxViews = 100

// inherits reports whether a chart in or below a kustomization goes to the
// namespace of its overlay.
func (t *tree) inherits(dir string) bool {
	v := t.visits[dir]
	return v != nil && v.inherits
}

// from is how a kustomization in a directory of t names another place.
func (t *tree) from(dir string, to *tree, p string) string {
	rel, err := filepath.Rel(path.Join(t.at, dir), path.Join(to.at, p))
	if err != nil {
		return path.Join(to.at, p)
	}
	return filepath.ToSlash(rel)
}

// placed are paths of the assembled file system in messages of kustomize.
var placed = regexp.MustCompile(`(^|[^\w.-])/(\d+)((?:/[\w.@%+=~-]+)*)`)

// shown writes the paths in a message of kustomize as people know them.
func (a *assembly) shown(text string) string {
	return placed.ReplaceAllStringFunc(text, func(found string) string {
		m := placed.FindStringSubmatch(found)
		n, err := strconv.Atoi(m[2])
		if err != nil || n >= len(a.trees) {
			return found
		}
		t := a.trees[n]
		p := strings.TrimPrefix(m[3], "/")
		if p == "" {
			p = "."
		}
		return m[1] + t.Show(p)
	})
}

// maxFetched bounds what one rendering fetches for its kustomizations. Each thing
// that is fetched may name others.
const maxFetched = 200

// errNotFetched says that nothing may be fetched.
var errNotFetched = errors.New("is not fetched")

// fetch gets what lies elsewhere.
func (a *assembly) fetch(ref remote.Ref) (remote.Content, error) {
	if a.component.opt.Remote == nil {
		return remote.Content{}, errNotFetched
	}
	if err := a.failed[ref]; err != nil {
		return remote.Content{}, err
	}
	if a.attempts >= maxFetched {
		return remote.Content{}, finding.Finding{Severity: finding.Error, Rule: "kustomization", Message: fmt.Sprintf("the kustomization and its bases name more than %d remote sources", maxFetched),
			Remedy: "look for remote bases that name ever more of them, or vendor the base itself"}
	}
	a.attempts++
	c, err := a.component.opt.Remote.Fetch(a.ctx, ref)
	if err != nil {
		a.failed[ref] = err
	}
	return c, err
}

// fileAt gets the file behind an address.
func (a *assembly) fileAt(address string) (remote.Content, error) {
	ref := remote.Ref{Kind: remote.File, URL: address}
	if data, ok := a.files[ref]; ok {
		return remote.Content{Data: data}, nil
	}
	c, err := a.fetch(ref)
	if err == nil {
		a.files[ref] = c.Data
	}
	return c, err
}

// repository gets the files of a repository as a tree.
func (a *assembly) repository(g gitAddress) (*tree, remote.Content, error) {
	if g.strange != "" {
		return nil, remote.Content{}, finding.Finding{Severity: finding.Error, Rule: "kustomization", Message: fmt.Sprintf("unknown parameter %q in the URL of a repository", finding.Harmless(g.strange)),
			Remedy: "use ref or version for a branch, tag or commit; submodules and timeout are allowed, too"}
	}
	ref := g.ref()
	if t := a.repositories[ref]; t != nil {
		return t, remote.Content{}, nil
	}
	c, err := a.fetch(ref)
	if err != nil {
		return nil, c, err
	}
	files, err := a.unpack(c.Data)
	if err != nil {
		err = finding.Finding{Severity: finding.Error, Rule: "bad-content", Message: ref.String() + ": " + err.Error(), Remedy: "name the files that are needed one by one, or copy them into the repository"}
		a.failed[ref] = err
		return nil, c, err
	}
	s := a.component.Source
	s.FS = files
	s.ShowPath = func(p string) string { return g.shown(p) }
	t := a.add(s)
	t.fetched = ref.String()
	a.repositories[ref] = t
	return t, c, nil
}

// maxUnpacked bounds what one rendering keeps in memory of repositories and charts
// that were fetched for kustomizations, in bytes, unpacked.
const maxUnpacked = 512 << 20

// unpack reads what was fetched into memory.
func (a *assembly) unpack(packed []byte) (fs.FS, error) {
	files, err := input.Unpack(packed)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(files, ".", func(_ string, d fs.DirEntry, err error) error {
		if info, infoErr := d.Info(); err == nil && infoErr == nil {
			a.unpacked += info.Size()
		}
		return err
	})
	if err == nil && a.unpacked > maxUnpacked {
		err = fmt.Errorf("with it, what was fetched unpacks to more than %d MiB", maxUnpacked>>20)
	}
	return files, err
}

// resolve follows the symlinks of a path, where the file system has any.
func resolve(fsys fs.FS, name string) (string, error) {
	links, ok := fsys.(fs.ReadLinkFS)
	if !ok || name == "." {
		return name, nil
	}
	at, err := symlink.Resolve(name, true, func(name string) (string, bool, error) {
		info, err := links.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return "", false, err
		}
		target, err := links.ReadLink(name)
		return filepath.ToSlash(target), true, err
	})
	if errors.Is(err, symlink.ErrLeaves) || errors.Is(err, symlink.ErrTooMany) {
		err = &fs.PathError{Op: "resolve", Path: name, Err: err}
	}
	return at, err
}

// unused returns a name for a file that is made in a directory of a tree.
func (t *tree) unused(dir, stem, ext string) string {
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s-%d%s", stem, n, ext)
		p := path.Join(dir, name)
		if _, made := t.made[p]; !made && !input.Exists(t.FS, p) {
			return name
		}
	}
}

// sortedOnce orders findings and drops those that are there twice: a base that
// came out in several ways has its faults in each.
func sortedOnce(all []finding.Finding) []finding.Finding {
	finding.Sort(all)
	return slices.Compact(all)
}
