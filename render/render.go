// Package render turns a component directory into the objects it stands for.
//
// There are four kinds of component: a Helm chart, a kustomization, templated
// YAML and plain YAML. Each has a renderer in a file of its own, and Dir
// chooses. Two more kinds are made of these: a kustomization of what the chart
// beside it renders to, and a tree of components. Helm and kustomize run inside the process; no other package of the
// project may import them, so that their weight, their globals and their
// quirks end here.
//
// A component is read through an fs.FS whose root is the repository. Nothing
// outside of it can be reached, whatever a chart or a symlink says, and it may
// as well be in memory. What it names that lies elsewhere is asked of the Fetcher in
// Options; no other way leads to a network.
package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// DefaultKubeVersion is the Kubernetes version that templates see when neither
// Argo CD nor a flag names one. It is set here, and not left to the libraries,
// whose own default changes with their release (Helm 3 says v1.20.0).
const DefaultKubeVersion = "1.36.0"

// Options are the inputs of a rendering besides the files of the component.
// The zero value renders with defaults only.
type Options struct {
	// Kind says how to render; empty means to find out (see Detect).
	Kind Kind
	// Name is the name of the Helm release, which is the Application's name.
	Name string
	// Namespace is where the component goes.
	Namespace string
	// Revision is the commit that is rendered; templated YAML may print it.
	Revision string
	// Values override the values of the component, later ones winning.
	Values []Values
	// KubeVersion is the version of the cluster, such as "1.34.2"; empty
	// means DefaultKubeVersion.
	KubeVersion string
	// APIVersions are API versions of the cluster besides those that Helm
	// knows, as "group/version" or "group/version/Kind".
	APIVersions []string
	// Pinned means that APIVersions are all that the component is ever shown,
	// whatever a cluster has.
	Pinned bool
	// SkipTests leaves out the test hooks of a chart, SkipHooks all hooks, SkipCRDs
	// the files of its crds/, and SkipSchema the check of its values against its
	// schema.
	SkipTests, SkipHooks, SkipCRDs, SkipSchema bool
	// IgnoreMissing passes over values files that are not there.
	IgnoreMissing bool
	// Directory says which files of plain YAML are read, and how.
	Directory Directory
	// Edits are made to a kustomization before it is built.
	Edits Edits
	// Unrestricted lets a kustomization read files of all the repository.
	Unrestricted bool
	// Ship asks for what the chart can ship besides what it renders to (see
	// Result.Chart), and for findings about the files of crds/.
	Ship bool
	// Empty accepts that nothing comes out.
	Empty bool
	// Memory is what renderings before this one have left; it may be nil.
	Memory *Memory
	// Probe is handed the templates of each chart before they run, and returns functions
	// that they are to call instead of Helm's; nil means none. It is for who looks for
	// what a rendering depends on.
	Probe func([]TemplateText) template.FuncMap
	// Remote fetches what the component names and the repository does not hold;
	// nil means that nothing is fetched.
	Remote remote.Fetcher
	// Show returns how messages and objects are to name a file or directory
	// of the repository; nil means by its path there.
	Show func(path string) string
}

// Values are overrides of a component's values from one place, in Helm's order
// of precedence: later files win over earlier ones, Set over files, SetString
// over Set, SetFile over all.
type Values struct {
	// Files name YAML files; patterns among them stand for what Glob finds.
	Files []string
	// Inline are YAML texts, which win over Files.
	Inline []string
	// Set, SetString and SetFile are expressions such as "image.tag=v2"; in
	// SetFile the right side names a file whose content is the value.
	Set, SetString, SetFile []string
	// Read returns the content of a file that Files or SetFile name.
	Read func(name string) ([]byte, error)
	// Glob returns the names of the files that a pattern matches, in order; nil
	// takes patterns for names.
	Glob func(pattern string) ([]string, error)
	// Path returns the path of such a file for messages; nil leaves the name.
	Path func(name string) string
	// Places say where Files are named, by their names; who finds a fault with one
	// says so there.
	Places map[string]Place
	// IgnoreMissing passes over Files that are not there, and patterns that fit none.
	IgnoreMissing bool
}

// Place is where a file is named.
type Place struct {
	File  string
	Line  int
	Field string
	// Ignore is the setting that passes over it if it is missing.
	Ignore string
}

// Empty reports whether there is nothing to override.
func (v Values) Empty() bool {
	return len(v.Files)+len(v.Inline)+len(v.Set)+len(v.SetString)+len(v.SetFile) == 0
}

// Result is what a component rendered to.
type Result struct {
	Kind    Kind
	Objects []object.Object
	// Findings are faults that did not stop the rendering.
	Findings []finding.Finding
	// Chart and Values are the chart with all its subcharts, and the values as
	// they hold, if Options.Ship asks for them and there is a chart.
	Chart  *crds.Chart
	Values crds.Values
	// Revision reports whether Options.Revision may have made a difference.
	Revision bool
	// Edited reports whether a kustomization was built, of which Edits are made.
	Edited bool
	// Inflated reports whether charts that kustomizations name were rendered;
	// their templates see Options.KubeVersion and Options.APIVersions.
	Inflated bool
}

// source is a component directory in its repository.
type source struct {
	fsys fs.FS
	dir  string
	opt  Options
	// whole is the directory of the tree that dir is a part of, if it is one.
	whole string
}

// Dir renders the component in the directory dir of the repository fsys.
//
// The error joins every fault that was found, each a finding.Finding; a
// component that renders to nothing is one, because Argo CD would take an
// empty answer as an order to delete everything.
func Dir(ctx context.Context, fsys fs.FS, dir string, opt Options) (Result, error) {
	if opt.KubeVersion == "" {
		opt.KubeVersion = DefaultKubeVersion
	}
	s := source{fsys: fsys, dir: path.Clean(dir), opt: opt}
	if err := s.checkDir(); err != nil {
		return Result{}, err
	}
	kind, err := s.kind()
	if err != nil {
		return Result{}, err
	}
	res, err := s.render(ctx, kind)
	if err != nil {
		return Result{}, err
	}
	if len(res.Objects) == 0 && !opt.Empty {
		out := "the values and conditions that leave everything out"
		if left := opt.Directory.leaving(); kind == Plain && len(left) > 0 {
			out = listed(left) + ", by which files are left out"
		}
		return Result{}, s.fault("empty-rendering", "", "nothing was rendered, and with prune Argo CD would delete all that the component deployed before",
			"check "+out+"; if the component is to go, delete its Application")
	}
	res.Kind = kind
	return res, nil
}

func (s source) render(ctx context.Context, kind Kind) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("render %s: %w", s.dir, err)
	}
	switch kind {
	case Helm:
		return s.helm(ctx)
	case HelmKustomize:
		return s.helmKustomize(ctx)
	case Template:
		return s.template()
	}
	if slices.ContainsFunc(s.opt.Values, func(v Values) bool { return !v.Empty() }) {
		return Result{}, s.fault(UselessValues, "", "values were given to "+kind.Article()+", which takes none",
			"drop the values, or render a chart or templated YAML")
	}
	switch kind {
	case Kustomize:
		return s.kustomize(ctx)
	case Plain:
		return s.plain()
	case Tree:
		return s.tree(ctx)
	}
	return Result{}, s.fault("unknown-renderer", "", fmt.Sprintf("there is no renderer %q", kind), "use one of "+kindList())
}

func (s source) checkDir() error {
	info, err := fs.Stat(s.fsys, s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.fault("no-directory", "", "no such directory", "check the path")
	case err != nil:
		return s.unreadable(err)
	case !info.IsDir():
		return s.fault("no-directory", "", "this is a file", "name the directory of the component")
	}
	return nil
}

// show names a path of the repository for people.
func (s source) show(path string) string {
	if s.opt.Show == nil {
		return path
	}
	return s.opt.Show(path)
}

// fault is a finding about a file of the component, or about its directory
// when name is empty.
func (s source) fault(rule, name, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: rule, File: s.show(path.Join(s.dir, name)), Message: message, Remedy: remedy}
}

// unreadable reports a file system error, naming the file it is about.
func (s source) unreadable(err error) finding.Finding {
	f := s.fault("unreadable", "", Cause(err), "check that the file is there, readable, and no symlink out of the repository")
	var pe *fs.PathError
	if errors.As(err, &pe) {
		f.File = s.show(pe.Path)
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

// repoPath resolves a path written in a file of directory base, without
// leaving the repository.
func repoPath(base, rel string) (string, bool) {
	p := path.Join(base, rel)
	if strings.HasPrefix(rel, "/") {
		p = path.Clean(strings.TrimLeft(rel, "/"))
	}
	return p, fs.ValidPath(p)
}
