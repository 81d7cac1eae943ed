package doctor

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// sources returns the sources of an Application: spec.sources, spec.source and
// spec.sourceHydrator.drySource.
func (a application) sources() []node {
	all := a.spec.at("sources").items()
	for _, one := range []node{a.spec.at("source"), a.spec.at("sourceHydrator", "drySource")} {
		if one.Exists() {
			all = append(all, one)
		}
	}
	return all
}

// pluginOf returns the plugin of a source.
func pluginOf(source node) (node, bool) {
	p := source.at("plugin")
	return p, p.Exists()
}

func (i *installation) checkGeneratePaths() (all []finding.Finding) {
	s := i.setting(generatePaths)
	if !s.known || s.isTrue() || !i.anySidecar() {
		return nil
	}
	for _, a := range i.applications {
		paths := a.at("metadata", "annotations").inner(a.Get("metadata",
			"annotations").Get("argocd.argoproj.io/manifest-generate-paths"), "metadata.annotations")
		usesPlugin := slices.ContainsFunc(a.sources(), func(source node) bool { _, ok := pluginOf(source); return ok })
		if !a.isTemplate && paths.Text() != "" && usesPlugin {
			all = append(all, paths.fault("manifest-generate-paths has no effect, so the repo-server sends the whole repository to the plugin"))
		}
	}
	return all
}
