package render

import (
	"context"
	"errors"
	"strings"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// helm renders a chart.
func (s source) helm(ctx context.Context) (Result, error) {
	out, err := helm.Render(ctx, s.Source, s.helmOptions())
	if err != nil {
		return Result{}, err
	}
	res := Result{Findings: out.Findings, Chart: out.Chart, Values: out.Values}
	var faults []error
	for _, d := range out.Documents {
		objs, err := s.parse(d)
		for _, o := range objs {
			res.Objects = append(res.Objects, o.WithComment("# Source: "+d.Source))
		}
		faults = append(faults, err)
	}
	return res, errors.Join(faults...)
}

// templates renders templated YAML, and reads the manifests next to it.
func (s source) templates() (Result, error) {
	out, err := helm.RenderTemplates(s.Source, s.helmOptions())
	if err != nil {
		return Result{}, err
	}
	res := Result{Findings: out.Findings, Chart: out.Chart, Values: out.Values, Revision: out.Revision}
	var faults []error
	for _, d := range out.Documents {
		objs, err := s.parse(d)
		res.Objects = append(res.Objects, objs...)
		faults = append(faults, err)
	}
	objs, err := s.manifestFiles(func(name string) bool { return isManifest(name) && !reserved(name) && !helm.IsValues(name) })
	res.Objects = append(res.Objects, objs...)
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
		return Result{}, err
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
		AllCRDs: s.opt.AllCRDs, Memory: s.opt.Memory, Probe: s.opt.Probe, Random: s.random, Remote: s.opt.Remote,
	}
}

// parse parses the objects of a rendered document.
func (s source) parse(d helm.Document) ([]object.Object, error) {
	return s.opt.Memory.Parse(d.File, d.Line, d.Text)
}
