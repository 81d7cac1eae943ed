// Package render turns a component directory into the objects it stands for.
//
// There are four kinds of component: a Helm chart, a kustomization, templated
// YAML and plain YAML. Dir finds out which it is and calls a room for it: package helm
// for the templates of the first and third, package kustomize for the second; plain
// YAML is read here. Two more kinds are made of these: a kustomization of what the
// chart beside it renders to, and a tree of components. What all of them start from is
// package input.
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
	"text/template"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
	"github.com/ladder-cmp/ladder/render/random"
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
	Values []input.Values
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
	Edits kustomize.Edits
	// Unrestricted lets a kustomization read files of all the repository.
	Unrestricted bool
	// Ship asks for what the chart can ship besides what it renders to (see
	// Result.Chart), and for findings about the files of crds/.
	Ship bool
	// Empty accepts that nothing comes out.
	Empty bool
	// Memory is what renderings before this one have left; it may be nil.
	Memory *input.Memory
	// Probe is handed the templates of each chart before they run, and returns functions
	// that they are to call instead of Helm's; nil means none. It is for who looks for
	// what a rendering depends on.
	Probe func([]helm.TemplateText) template.FuncMap
	// Random says what functions of templates return whose result is not the same each
	// time; the zero value means what they do in Helm.
	Random random.Source
	// Remote fetches what the component names and the repository does not hold;
	// nil means that nothing is fetched.
	Remote remote.Fetcher
	// Show returns how messages and objects are to name a file or directory
	// of the repository; nil means by its path there.
	Show func(path string) string
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
	// Derived reports whether Options.Random.Key made a difference, and Renewals are the
	// certificates that were derived from it, those that renew first before the others.
	Derived  bool
	Renewals []random.Renewal
	// Lookups are what templates asked the cluster for, of which they saw nothing.
	Lookups []random.Lookup
}

// source is a component directory with the inputs besides it.
type source struct {
	input.Source
	opt    Options
	random *random.Rendering
}

// The rules of findings by which others tell what is wrong.
const (
	// UnexpectedValues marks values for a component that takes none.
	UnexpectedValues = "unexpected-values"
	// Empty marks a component of which nothing is rendered.
	Empty = input.Empty
	// Nothing marks a directory that holds nothing to render.
	Nothing = "nothing-to-render"
)

// Dir renders the component in the directory dir of the repository fsys.
//
// The error joins every fault that was found, each a finding.Finding; a
// component that renders to nothing is one, because Argo CD would take an
// empty answer as an order to delete everything.
func Dir(ctx context.Context, fsys fs.FS, dir string, opt Options) (Result, error) {
	if opt.KubeVersion == "" {
		opt.KubeVersion = DefaultKubeVersion
	}
	s := source{Source: input.Source{FS: fsys, Dir: path.Clean(dir), ShowPath: opt.Show}, opt: opt, random: random.New(opt.Random)}
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
		return Result{}, s.Fault(Empty, "", "nothing was rendered, and with prune Argo CD would delete all that the component deployed before",
			"check "+out+"; if the component is to go, delete its Application")
	}
	res.Kind = kind
	res.Derived, res.Renewals = s.random.Derived() && s.random.Used(), s.random.Renewals()
	res.Lookups = s.random.Lookups()
	return res, nil
}

func (s source) render(ctx context.Context, kind Kind) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("render %s: %w", s.Dir, err)
	}
	switch kind {
	case Helm:
		return s.helm(ctx)
	case HelmKustomize:
		return s.helmKustomize(ctx)
	case Template:
		return s.templates()
	}
	if slices.ContainsFunc(s.opt.Values, func(v input.Values) bool { return !v.Empty() }) {
		return Result{}, s.Fault(UnexpectedValues, "", kind.Article()+" takes no values",
			"remove the values, or render a chart or templated YAML")
	}
	switch kind {
	case Kustomize:
		return s.kustomize(ctx, "")
	case Plain:
		return s.plain()
	case Tree:
		return s.tree(ctx)
	}
	return Result{}, s.Fault("unknown-renderer", "", fmt.Sprintf("unknown renderer %q", kind), "use one of "+kindList())
}

func (s source) checkDir() error {
	info, err := fs.Stat(s.FS, s.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.Fault("no-directory", "", "no such directory", "check the path")
	case err != nil:
		return s.Unreadable(err)
	case !info.IsDir():
		return s.Fault("no-directory", "", "this is a file", "name the directory of the component")
	}
	return nil
}
