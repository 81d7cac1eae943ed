package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// The settings of the fleet determine the fields of the generated Applications. The
// component.yaml overrides those that the platform allows.

// SyncOptions returns the sync options of an Application by name: those of every Application,
// which its own override. All create missing namespaces, respect ignored differences, and skip
// the dry run of objects whose CRD an earlier step installs.
func (f *Fleet) SyncOptions(own []string) map[string]string {
	all := map[string]string{"CreateNamespace": "true", "RespectIgnoreDifferences": "true", "SkipDryRunOnMissingResource": "true"}
	for _, o := range slices.Concat(f.Settings.SyncOptions, own) {
		name, value, _ := strings.Cut(o, "=")
		all[name] = value
	}
	return all
}

// Project returns the AppProject of components that do not choose one.
func (f *Fleet) Project() string { return cmp.Or(f.Settings.Project, "default") }

// ProjectOf returns the AppProject of an Application: the one that the component names, if the
// platform allows it to choose.
func (f *Fleet) ProjectOf(app *Application) string {
	if slices.Contains(f.Projects, app.Project) {
		return app.Project
	}
	return f.Project()
}

// AllLabels returns the labels that a component sets for its Application.
func (c *Component) AllLabels() map[string]string {
	all := maps.Clone(c.Labels)
	if all == nil {
		all = map[string]string{}
	}
	for key, value := range map[string]string{"domain": c.Domain, "tier": c.Tier, "componentType": c.Type,
		"dependencyPhase": c.DependencyPhase} {
		if value != "" && all[key] == "" {
			all[key] = value
		}
	}
	return all
}
