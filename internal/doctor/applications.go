package doctor

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
	"github.com/ladder-cmp/ladder/object"
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

func (i *installation) checkPluginName() (all []finding.Finding) {
	var pluginNames []string
	known, hasDiscovery, isLadder := true, false, false
	for _, w := range i.workloadsOf(repoServer) {
		for _, s := range w.plugins {
			if s.isLadder && s.plugin == "" {
				return nil // sidecar-command or plugin-yaml reports why
			}
			isLadder = isLadder || s.isLadder
			hasDiscovery = hasDiscovery || s.hasDiscovery || s.plugin == ""
			if s.plugin == "" {
				known = false // its name is unknown
			} else {
				pluginNames = append(pluginNames, s.plugin)
			}
		}
	}
	if !isLadder {
		return nil
	}
	slices.Sort(pluginNames)
	pluginNames = slices.Compact(pluginNames)
	for _, a := range i.applications {
		for _, source := range a.sources() {
			p, ok := pluginOf(source)
			name := p.name()
			for key, v := range source.entries() {
				if suggestion := nearest.Suggest(key, []string{"plugin"}); suggestion != "" && key != "plugin" {
					all = append(all, v.fault("unknown field %q of a source", key).Asking(suggestion))
				}
			}
			switch {
			case !ok || slices.Contains(pluginNames, name) || strings.Contains(name, "{{"):
			case name == "" && !hasDiscovery:
				all = append(all, p.fault("it does not name a plugin, and no plugin supports discovery"))
			case name == "":
			case known, strings.HasPrefix(strings.ToLower(name), ourPlugin):
				f := p.at("name").fault("unknown plugin %q; Argo CD has %s", name, strings.Join(pluginNames, ", "))
				if !slices.Contains(pluginNames, ourPlugin) {
					f.Remedy = "use one of these"
				}
				all = append(all, f)
			}
		}
	}
	return all
}

// The keys of spec.source.plugin, and of an item of its parameters.
var (
	pluginKeys    = []string{"name", "env", "parameters"}
	parameterKeys = []string{"name", "string", "array", "map"}
)

// checkPluginParameters reports unknown keys in the plugin sources of Applications, and unknown
// parameters in those for Ladder.
func (i *installation) checkPluginParameters() (all []finding.Finding) {
	for _, a := range i.applications {
		for _, source := range a.sources() {
			p, ok := pluginOf(source)
			if !ok {
				continue
			}
			all = append(all, unknownKeys(p, pluginKeys)...) // every plugin has the same keys
			if !i.isOurs(p.name()) {
				continue
			}
			for _, parameter := range p.at("parameters").items() {
				all = append(all, unknownKeys(parameter, parameterKeys)...)
				name := parameter.name()
				if name == "" || strings.Contains(name, "{{") || slices.Contains(i.Parameters, name) {
					continue
				}
				all = append(all, withRemedy(parameter.at("name").fault("unknown parameter %q", name), "use a parameter in docs/components.md").Asking(nearest.Suggest(name, i.Parameters)))
			}
		}
	}
	return all
}

// isOurs reports whether a plugin that an Application names is Ladder.
func (i *installation) isOurs(name string) bool {
	ours := name == ourPlugin
	i.forEachSidecar(func(_ *workload, s *sidecar) { ours = ours || s.plugin != "" && s.plugin == name })
	return ours
}

func unknownKeys(t node, known []string) (all []finding.Finding) {
	for key, v := range t.entries() {
		if !slices.Contains(known, key) {
			all = append(all, withRemedy(v.fault("unknown key %q", key), "remove it, or use %s", strings.Join(known, ", ")).Asking(nearest.Suggest(key, known)))
		}
	}
	return all
}

// sourceTypes are the keys of a source that select a renderer.
var sourceTypes = []string{"helm", "kustomize", "directory"}

func (i *installation) checkSourceTypes() (all []finding.Finding) {
	for _, a := range i.applications {
		for _, source := range a.sources() {
			if _, ok := pluginOf(source); !ok {
				continue
			}
			for _, key := range sourceTypes {
				if len(source.Get(key).Fields()) > 0 {
					all = append(all, source.at(key).fault("it is set in addition to plugin:"))
				}
			}
		}
	}
	return all
}

func (i *installation) checkGeneratePaths() (all []finding.Finding) {
	s := i.setting(generatePaths)
	if !s.known || s.isTrue() || !i.anySidecar() {
		return nil
	}
	for _, a := range i.applications {
		paths := a.at("metadata", "annotations").inner(a.Get("metadata", "annotations").Get("argocd.argoproj.io/manifest-generate-paths"), "metadata.annotations")
		usesPlugin := slices.ContainsFunc(a.sources(), func(source node) bool { _, ok := pluginOf(source); return ok })
		if !a.isTemplate && paths.Text() != "" && usesPlugin {
			all = append(all, paths.fault("manifest-generate-paths has no effect, so the repo-server sends the whole repository to the plugin"))
		}
	}
	return all
}

// checkApplicationCRD checks that the CRD of Applications supports plugin parameters.
func (i *installation) checkApplicationCRD() (all []finding.Finding) {
	uses := slices.ContainsFunc(i.applications, func(a application) bool {
		return slices.ContainsFunc(a.sources(), func(source node) bool {
			p, ok := pluginOf(source)
			return ok && len(p.Get("parameters").Items()) > 0
		})
	})
	for _, o := range i.crds {
		if o.ID.Name != "applications."+argoGroup {
			continue
		}
		var doc yaml.Node // the view of an object leaves out the schemas of CRDs
		if err := yaml.Unmarshal([]byte(o.Text()), &doc); err != nil || len(doc.Content) == 0 {
			continue
		}
		for _, v := range object.ValueOf(doc.Content[0]).Get("spec", "versions").Items() {
			if v.Get("schema", "openAPIV3Schema", "properties", "spec", "properties", "source", "properties", "plugin", "properties", "parameters").Exists() {
				continue
			}
			f := rootOf(o).fault("it has no plugin parameters")
			if !uses {
				f.Severity = finding.Note
			}
			all = append(all, f)
		}
	}
	return all
}
