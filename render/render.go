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
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
	"github.com/ladder-cmp/ladder/render/random"
)

// source is a component directory with its other inputs.
type source struct {
	input.Source
	opt    Options
	random *random.Rendering
	prune  bool // see helm.Options
}

// Rules that other packages check for.
const (
	// UnexpectedValues is the rule for values of a component that uses none.
	UnexpectedValues finding.Rule = "unexpected-values"
	// Empty is the rule for a component that renders to nothing.
	Empty = input.Empty
	// NothingToRender is the rule for a directory without anything to render.
	NothingToRender finding.Rule = "nothing-to-render"
)

// Dir renders the component in the directory dir of the repository fsys.
//
// The error joins all findings that prevent a result. An empty rendering is one of
// them, because Argo CD would delete everything. With an error, the result has only the
// findings up to it, which may explain it.
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
	s.prune = kind == Helm
	res, err := s.render(ctx, kind)
	if errors.Is(err, helm.ErrPruned) {
		s.random, s.prune = random.New(opt.Random), false
		res, err = s.render(ctx, kind)
	}
	if err != nil {
		return Result{Findings: res.Findings}, err
	}
	if len(res.Objects) == 0 && !opt.AllowEmpty {
		out := "the values and conditions that exclude everything"
		left := opt.Directory.excluding()
		switch {
		case kind == Plain && len(left) > 0:
			out = "the options that exclude files (" + joinNames(left) + ")"
		case kind == Kustomize:
			out = "the resources of the kustomization, and patches that delete them"
		}
		return Result{Findings: res.Findings}, s.Fault(Empty, "",
			"nothing was rendered; a manual sync with pruning, or an automated one with allowEmpty, "+
				"would delete everything that the Application deployed",
			"check "+out+"; to remove the component, delete its Application")
	}
	res.Kind = kind
	res.Derived, res.Renewals = s.random.Derived() && s.random.Used(), s.random.Renewals()
	res.Lookups, res.Drawn = s.random.Lookups(), s.random.Drawn()
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
	return Result{}, s.Fault(finding.BadSettings, "", fmt.Sprintf("unknown renderer %q", kind), "use one of "+kindList())
}

func (s source) checkDir() error {
	info, err := fs.Stat(s.FS, s.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.Fault(finding.NotFound, "", "no such directory", "check the path")
	case err != nil:
		return s.Unreadable(err)
	case !info.IsDir():
		return s.Fault(finding.NotFound, "", "not a directory", "name the directory of the component")
	}
	return nil
}

// helm renders a chart.
func (s source) helm(ctx context.Context) (Result, error) {
	out, err := helm.Render(ctx, s.Source, s.helmOptions())
	if err != nil {
		return Result{Findings: out.Findings}, err
	}
	res := Result{Findings: out.Findings, Chart: out.Chart, Values: out.Values}
	var faults []error
	for i, parsed := range helm.Parse(out.Documents, s.opt.Memory) {
		for _, o := range parsed.Objects {
			res.Objects = append(res.Objects, o.WithComment("# Source: "+out.Documents[i].Source))
		}
		faults = append(faults, parsed.Err)
	}
	return res, errors.Join(faults...)
}

// templates renders templated YAML, and reads the manifests next to it.
func (s source) templates() (Result, error) {
	out, err := helm.RenderTemplates(s.Source, s.helmOptions())
	if err != nil {
		return Result{Findings: out.Findings}, err
	}
	res := Result{Findings: out.Findings, Chart: out.Chart, Values: out.Values, Revision: out.Revision}
	var faults []error
	for _, parsed := range helm.Parse(out.Documents, s.opt.Memory) {
		res.Objects = append(res.Objects, parsed.Objects...)
		faults = append(faults, parsed.Err)
	}
	err = s.manifestFiles(&res, func(name string) bool { return isManifest(name) && !reserved(name) && !helm.IsValues(name) })
	return res, errors.Join(append(faults, err)...)
}

// kustomize builds a kustomization with an additional first resource, if any.
func (s source) kustomize(ctx context.Context, first string) (Result, error) {
	out, err := kustomize.Render(ctx, s.Source, kustomize.Options{
		First: first, Edits: s.opt.Edits, Unrestricted: s.opt.Unrestricted, AllowEmpty: s.opt.AllowEmpty,
		KubeVersion: s.opt.KubeVersion, APIVersions: s.opt.APIVersions,
		Memory: s.opt.Memory, Probe: s.opt.Probe, Random: s.random, Remote: s.opt.Remote,
	})
	return Result{Objects: out.Objects, Findings: out.Findings, Inflated: out.Inflated, Edited: true}, err
}

// helmKustomize renders the chart of a directory, and then its kustomization with the
// rendered chart as the first resource. Values, name and the like apply to the chart.
func (s source) helmKustomize(ctx context.Context) (Result, error) {
	chart, err := helm.Render(ctx, s.Source, s.helmOptions())
	if err != nil {
		return Result{Findings: chart.Findings}, err
	}
	var text strings.Builder
	for _, d := range chart.Documents {
		d.Print(&text)
	}
	res, err := s.kustomize(ctx, text.String())
	res.Chart, res.Values, res.Inflated = chart.Chart, chart.Values, true
	res.Findings = append(chart.Findings, res.Findings...)
	return res, err
}

func (s source) helmOptions() helm.Options {
	return helm.Options{
		Name: s.opt.Name, Namespace: s.opt.Namespace, Revision: s.opt.Revision,
		Values: s.opt.Values, IgnoreMissing: s.opt.IgnoreMissing,
		KubeVersion: s.opt.KubeVersion, APIVersions: s.opt.APIVersions,
		SkipTests: s.opt.SkipTests, SkipHooks: s.opt.SkipHooks, SkipCRDs: s.opt.SkipCRDs, SkipSchema: s.opt.SkipSchema,
		AllCRDs: s.opt.AllCRDs, Memory: s.opt.Memory, Prune: s.prune, Probe: s.opt.Probe, Random: s.random, Remote: s.opt.Remote,
	}
}
