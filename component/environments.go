package component

import (
	"maps"
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// Environments are the environments of a component, in one of two forms: a list of those
// that it is deployed to, or a mapping with what differs in some of them.
type Environments struct {
	// Only are the environments of the list; empty means all.
	Only []string
	// Settings are those of the mapping, by environment.
	Settings map[string]EnvironmentSettings
}

// EnvironmentSettings are the settings of a component that differ in an environment.
type EnvironmentSettings struct {
	// Enabled is false if the component is not deployed there.
	Enabled *bool `yaml:"enabled"`
	// Namespace is the destination namespace there; that of the component if empty.
	Namespace string `yaml:"namespace"`
	// Values are values files in addition to those of the component.
	Values []string `yaml:"values"`
	// Set are single values by their paths, which override values files.
	Set map[string]string `yaml:"set"`
}

// Form returns a value of the Go type into which a YAML node is decoded.
func (e Environments) Form(n *yaml.Node) any {
	if n.Kind == yaml.MappingNode {
		return e.Settings
	}
	return e.Only
}

// UnmarshalYAML reads either form.
func (e *Environments) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		return n.Decode(&e.Settings)
	}
	return n.Decode(&e.Only)
}

// Names lists the environments that either form names, sorted.
func (e Environments) Names() []string {
	return slices.Sorted(slices.Values(slices.Concat(e.Only, slices.Collect(maps.Keys(e.Settings)))))
}

// Has reports whether the component is deployed in an environment.
func (e Environments) Has(environment string) bool {
	if settings, named := e.Settings[environment]; named && settings.Enabled != nil {
		return *settings.Enabled
	}
	return len(e.Only) == 0 || slices.Contains(e.Only, environment)
}

// MayBeMissing reports whether the component may be missing in an environment.
func (e Environments) MayBeMissing() bool {
	for name := range e.Settings {
		if !e.Has(name) {
			return true
		}
	}
	return len(e.Only) > 0
}
