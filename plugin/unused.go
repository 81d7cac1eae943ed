package plugin

import (
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render"
)

// unusedParameters reports parameters without an effect on this kind of component. It does
// not check component.yaml, which also describes the component to others.
func (req Request) unusedParameters(rendered render.Result, mode crds.Mode) []finding.Finding {
	prunes := false
	var found []finding.Finding
	for _, s := range req.Settings {
		names := s.setParameters()
		prunes = prunes || slices.Contains(names, "crds-prune")
		for _, p := range parameters {
			if !slices.Contains(names, p.Name) || p.appliesTo(rendered) {
				continue
			}
			message := "has no effect: the component has no templates"
			switch {
			case !slices.Contains(p.Kinds, render.Helm):
				message = "has no effect: it is for " + p.Kinds[0].Article() + ", and this is " + rendered.Kind.Article()
			case rendered.Inflated:
				message = "has no effect: the charts of a kustomization are configured in its helmCharts field"
			}
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: finding.BadSettings, Field: "parameter " + p.Name,
				Message: message, Remedy: "remove it, or check the directory"})
		}
	}
	if prunes && mode != crds.Only {
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: finding.BadSettings, Field: "parameter crds-prune",
			Message: "has no effect without crds: only", Remedy: "remove it, or set crds: only"})
	}
	return found
}

// appliesTo reports whether a parameter has an effect on the rendered kind. Charts
// of kustomizations see the cluster, and have names of their own. The
// kustomizations of a tree are edited like a single one.
func (p Parameter) appliesTo(rendered render.Result) bool {
	of := func(kinds ...render.Kind) bool {
		return slices.ContainsFunc(kinds, func(k render.Kind) bool { return slices.Contains(p.Kinds, k) })
	}
	switch {
	case p.Kinds == nil || of(rendered.Kind):
		return true
	case rendered.Kind == render.HelmKustomize:
		return of(render.Helm, render.Kustomize)
	case rendered.Kind == render.Tree && rendered.Edited && of(render.Kustomize):
		return true
	case rendered.Kind == render.Kustomize:
		return rendered.Inflated && (p.Name == "kube-version" || p.Name == "api-versions")
	}
	return rendered.Inflated && of(render.Helm)
}

// setParameters names the parameters that are set, including those that callers set without
// Parameter.Set.
func (s Settings) setParameters() []string {
	all := slices.Clone(s.parameterNames)
	for name, set := range map[string]bool{"name": s.Name != "", "kube-version": s.KubeVersion != "",
		"api-versions": len(s.APIVersions) > 0} {
		if set {
			all = append(all, name)
		}
	}
	return all
}
