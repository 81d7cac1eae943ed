// Package render renders a component directory to objects.
//
// There are four basic kinds of components: a Helm chart, a kustomization,
// templated YAML and plain YAML. Dir detects the kind and calls package helm for
// charts and templated YAML, or package kustomize; it reads plain YAML itself. Two
// more kinds combine these: a kustomization of a chart in the same directory, and a
// tree of components. Package input defines their common input.
//
// A component is read through an fs.FS whose root is the repository, which may be
// in memory. Charts and symlinks cannot reach anything outside it. Remote sources
// are requested from the Fetcher in Options, which is the only access to a network.
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

// DefaultKubeVersion is the Kubernetes version that templates see if neither Argo
// CD nor a flag sets one. It is set here because the default of the libraries
// changes with their releases (Helm 3 says v1.20.0).
const DefaultKubeVersion = "1.36.0"

// Options are the inputs of a rendering, apart from the files of the component. The
// zero value uses defaults.
type Options struct {
	// Kind is the kind of the component; empty means to detect it (see Detect).
	Kind Kind
	// Name is the Helm release name, which is the Application's name.
	Name string
	// Namespace is the destination namespace.
	Namespace string
	// Revision is the rendered commit; templated YAML may print it.
	Revision string
	// Values override the values of the component; later ones take precedence.
	Values []input.Values
	// KubeVersion is the version of the cluster, such as "1.34.2"; empty
	// means DefaultKubeVersion.
	KubeVersion string
	// APIVersions are API versions of the cluster besides Helm's default ones, as
	// "group/version" or "group/version/Kind".
	APIVersions []string
	// Pinned means that the component only sees APIVersions, whatever a cluster
	// supports.
	Pinned bool
	// SkipTests excludes the test hooks of a chart, SkipHooks all hooks, and
	// SkipCRDs the files of its crds/. SkipSchema disables validation of its values
	// against its schema.
	SkipTests, SkipHooks, SkipCRDs, SkipSchema bool
	// IgnoreMissing ignores values files that do not exist.
	IgnoreMissing bool
	// Directory selects the files of plain YAML.
	Directory Directory
	// Edits are applied to a kustomization before it is built.
	Edits kustomize.Edits
	// Unrestricted allows a kustomization to read any file of the repository.
	Unrestricted bool
	// AllCRDs requests everything that the chart can ship (see Result.Chart), and
	// findings about the files of crds/.
	AllCRDs bool
	// AllowEmpty allows an empty result.
	AllowEmpty bool
	// Memory caches data between renderings; it may be nil.
	Memory *input.Memory
	// Probe receives the templates of each chart before they run, and returns
	// functions that replace Helm's; nil replaces none. Package vary
	// uses it to find out what a rendering depends on.
	Probe func([]helm.TemplateText) template.FuncMap
	// Random provides the functions with random or time-dependent results; the zero
	// value means Helm's own.
	Random random.Source
	// Remote fetches sources that are not in the repository; nil disables fetching.
	Remote remote.Fetcher
	// Show converts a path in the repository to the path for messages and objects;
	// nil leaves it unchanged.
	Show func(path string) string
}

// Result is the rendering of a component.
type Result struct {
	Kind    Kind
	Objects []object.Object
	// Findings are problems that did not stop the rendering.
	Findings []finding.Finding
	// Chart and Values are the chart with all subcharts and the effective values,
	// if Options.AllCRDs is set and there is a chart.
	Chart  *crds.Chart
	Values crds.Values
	// Revision reports whether Options.Revision may have affected the result.
	Revision bool
	// Edited reports whether a kustomization was built, to which Edits apply.
	Edited bool
	// Inflated reports whether charts of kustomizations were rendered; their
	// templates see Options.KubeVersion and Options.APIVersions.
	Inflated bool
	// Derived reports whether Options.Random.Key affected the result. Renewals are
	// the derived certificates, sorted by renewal.
	Derived  bool
	Renewals []random.Renewal
	// Lookups are the calls of lookup in templates. Each returned nothing.
	Lookups []random.Lookup
}

// source is a component directory with its other inputs.
type source struct {
	input.Source
	opt    Options
	random *random.Rendering
}

// Rules that other packages check for.
const (
	// UnexpectedValues is the rule for values of a component that uses none.
	UnexpectedValues = "unexpected-values"
	// Empty is the rule for a component that renders to nothing.
	Empty = input.Empty
	// NothingToRender is the rule for a directory without anything to render.
	NothingToRender = "nothing-to-render"
)

// Dir renders the component in the directory dir of the repository fsys.
//
// The error joins all findings that prevent a result. An empty rendering is one of
// them, because Argo CD would delete everything.
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
	if len(res.Objects) == 0 && !opt.AllowEmpty {
		out := "the values and conditions that exclude everything"
		if left := opt.Directory.excluding(); kind == Plain && len(left) > 0 {
			out = joinNames(left) + ", which exclude files"
		}
		return Result{}, s.Fault(Empty, "", "nothing was rendered; a manual sync with pruning, or an automated one with allowEmpty, would delete everything that the Application deployed",
			"check "+out+"; to remove the component, delete its Application")
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
		return Result{}, s.Fault(UnexpectedValues, "", kind.Article()+" does not support values",
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
		return s.Fault("no-directory", "", "not a directory", "name the directory of the component")
	}
	return nil
}
