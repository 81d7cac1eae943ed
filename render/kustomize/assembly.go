package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/vfs"
	"github.com/ladder-cmp/ladder/render/input"
)

// assembly is a kustomization with everything it refers to, in one file system, so
// that kustomize has nothing to fetch or to run: charts are rendered, and remote
// content is unpacked next to the repository.
type assembly struct {
	ctx       context.Context
	component source
	trees     []*tree
	// repositories are the fetched repositories.
	repositories map[remote.Ref]*tree
	// requested are the sources that were requested; the Fetcher fetches each once.
	requested map[remote.Ref]bool
	// unpacked is the total size of unpacked content in bytes.
	unpacked int64
	// findings are problems that do not prevent a result.
	findings []finding.Finding
	// duplicateKeys are the duplicate keys in resources. Only the build shows whether
	// kustomize accepts them.
	duplicateKeys []finding.Finding
	// inflated reports whether a chart was rendered.
	inflated bool
	read     []readFile
	// targets are those of patches that only the build shows to match an object.
	targets []patchTarget
}

// readFile is a file read by kustomize.
type readFile struct {
	tree *tree
	name string
	data []byte
}

// tree is a directory below the root of the file system for kustomize: the
// repository of the component, a fetched repository, or generated files. Paths
// cannot leave their tree.
type tree struct {
	input.Source
	at string
	// overlay is FS with the files that are changed or added.
	overlay vfs.Overlay
	// visits maps directories to the visited kustomizations.
	visits map[string]*visit
	// original is the tree with the same files that was added first. Each copy contains
	// the kustomizations in the form that some overlay needs (see visit).
	original *tree
	// fetched describes the remote source; empty for the component's repository.
	fetched string
	// generated means that its files are rendered charts.
	generated bool
	// first is the text of the component's additional first resource.
	first string
}

// visit is the state of a kustomization: its references are resolved and its charts
// are rendered. Charts without a namespace of their own use that of the overlay, so
// one base may render in several variants; each but the first is in a separate
// tree.
type visit struct {
	namespace string
	// inherits means that a chart uses the overlay's namespace.
	inherits, done bool
}

// assemble returns an assembly that contains only the repository of the component, as its
// first tree.
func (s source) assemble(ctx context.Context) (*assembly, *tree) {
	a := &assembly{ctx: ctx, component: s, repositories: map[remote.Ref]*tree{}, requested: map[remote.Ref]bool{}}
	return a, a.add(s.Source)
}

// add adds a tree with the files of a source.
func (a *assembly) add(s input.Source) *tree {
	t := &tree{Source: s, at: "/" + strconv.Itoa(len(a.trees)), overlay: vfs.Overlay{FS: s.FS, Files: map[string]string{}},
		visits: map[string]*visit{}}
	t.original = t
	a.trees = append(a.trees, t)
	return t
}

// duplicate adds a tree with the same files as another one.
func (a *assembly) duplicate(original *tree) *tree {
	t := a.add(original.Source)
	t.original, t.fetched = original, original.fetched
	return t
}

// addGenerated adds a tree of generated files, by name, some of them in charts.
func (a *assembly) addGenerated(files map[string]string) *tree {
	s := a.component.Source
	s.FS = vfs.Overlay{FS: vfs.EmptyDir("charts"), Files: files}
	t := a.add(s)
	t.generated = true
	return t
}

// visit prepares the kustomization in a directory for an overlay with the given
// namespace for charts, and returns the tree with the matching variant. The error
// joins all findings of the kustomization and those below it, once for all
// references.
func (a *assembly) visit(t *tree, dir, namespace string) (*tree, string, error) {
	dir, err := vfs.ResolveIn(t.FS, dir)
	if err != nil {
		return t, dir, t.Unreadable(err)
	}
	variants := []*tree{t}
	for _, other := range a.trees {
		if other.original == t.original && other != t {
			variants = append(variants, other)
		}
	}
	for _, variant := range variants {
		v := variant.visits[dir]
		if v == nil {
			v = &visit{namespace: namespace}
			variant.visits[dir] = v
			v.inherits, err = a.prepare(variant, dir, namespace)
			v.done = true
			return variant, dir, err
		}
		if v.namespace == namespace || v.done && !v.inherits {
			return variant, dir, nil
		}
	}
	if len(variants) > maxVariants {
		return t, dir, finding.Finding{Severity: finding.Error, Rule: finding.BadKustomization, File: t.Show(dir),
			Message: "charts of this base are rendered for more than " + strconv.Itoa(maxVariants) + " namespaces",
			Remedy:  "make each overlay a separate component of Ladder, with its own component.yaml"}
	}
	variant := a.duplicate(t.original)
	return a.visit(variant, dir, namespace)
}

// maxVariants limits the namespaces for which the charts of one base are rendered.
const maxVariants = 100

// inherits reports whether a chart in or below a kustomization uses the overlay's
// namespace.
func (t *tree) inherits(dir string) bool {
	v := t.visits[dir]
	return v != nil && v.inherits
}

// relativePath returns the path from a directory of t to a path in another tree.
func (t *tree) relativePath(dir string, to *tree, p string) string {
	rel, err := filepath.Rel(path.Join(t.at, dir), path.Join(to.at, p))
	if err != nil {
		return path.Join(to.at, p)
	}
	return filepath.ToSlash(rel)
}

// assembledPath matches paths of the assembled file system in messages of kustomize.
var assembledPath = lazyregexp.New(`(^|[^\w.-])/(\d+)((?:/[\w.@%+=~-]+)*)`)

// userPaths replaces paths in a message of kustomize by those that users know.
func (a *assembly) userPaths(text string) string {
	return assembledPath.ReplaceAllStringFunc(text, func(found string) string {
		m := assembledPath.FindStringSubmatch(found)
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

// maxFetched limits the fetches of one rendering for kustomizations. Fetched
// content may refer to more.
const maxFetched = 200

// errNotFetched says that fetching is not allowed.
var errNotFetched = errors.New("is not fetched")

// fetch fetches a remote source.
func (a *assembly) fetch(ref remote.Ref) (remote.Content, error) {
	if a.component.opt.Remote == nil {
		return remote.Content{}, errNotFetched
	}
	if a.requested[ref] = true; len(a.requested) > maxFetched {
		return remote.Content{}, finding.Finding{Severity: finding.Error, Rule: finding.BadKustomization,
			Message: fmt.Sprintf("the kustomization and its bases name more than %d remote sources", maxFetched),
			Remedy:  "check for remote bases that refer to further remote bases without end, or vendor the base"}
	}
	return a.component.opt.Remote.Fetch(a.ctx, ref)
}

// fileAt fetches the file at a URL.
func (a *assembly) fileAt(address string) (remote.Content, error) {
	return a.fetch(remote.Ref{Kind: remote.File, URL: address})
}

// repository fetches a repository as a tree.
func (a *assembly) repository(g gitAddress) (*tree, remote.Content, error) {
	if g.unknownKey != "" {
		return nil, remote.Content{}, finding.Finding{Severity: finding.Error, Rule: finding.BadKustomization,
			Message: fmt.Sprintf("unknown parameter %q in the URL of a repository", finding.Sanitize(g.unknownKey)),
			Remedy:  "use ref or version for a branch, tag or commit; submodules and timeout are allowed, too"}
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
		err = finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", Message: ref.String() + ": " + err.Error(),
			Remedy: "name the files that are needed one by one, or copy them into the repository"}
		return nil, c, err
	}
	s := a.component.Source
	s.FS = files
	s.ShowPath = func(p string) string { return g.displayPath(p) }
	t := a.add(s)
	t.fetched = ref.String()
	a.repositories[ref] = t
	return t, c, nil
}

// maxUnpacked limits the unpacked size of repositories and charts fetched for the
// kustomizations of one rendering, in bytes.
const maxUnpacked = 512 << 20

// unpack unpacks fetched content into memory.
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
		err = fmt.Errorf("with it, the fetched content unpacks to more than %d MiB", maxUnpacked>>20)
	}
	return files, err
}

// unusedName returns an unused file name in a directory of a tree.
func (t *tree) unusedName(dir, stem, ext string) string {
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s-%d%s", stem, n, ext)
		p := path.Join(dir, name)
		if _, exists := t.overlay.Files[p]; !exists && !input.Exists(t.FS, p) {
			return name
		}
	}
}

// sortedOnce sorts findings and removes duplicates: each variant of a base reports
// the same ones.
func sortedOnce(all []finding.Finding) []finding.Finding {
	finding.Sort(all)
	return slices.Compact(all)
}
