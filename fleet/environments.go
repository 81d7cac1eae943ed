package fleet

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/input"
)

// inEnvironment returns what an environment sets for a component: values files, with their
// paths in the repository, and single values.
func (f *Fleet) inEnvironment(src Source, c *Component, environment string) EnvironmentValues {
	req := plugin.Request{Repo: src.Repo, Dir: c.Dir}
	v := EnvironmentValues{}
	files, set := req.EnvironmentValues(c.Description, f.Settings.Platform(), environment)
	for _, name := range files {
		if !path.IsAbs(name) {
			name = path.Join("/", c.Dir, name)
		}
		v.Files = append(v.Files, path.Clean(name))
	}
	v.Set = set
	return v
}

// EnvironmentValues are what an environment sets for a component.
type EnvironmentValues struct {
	Files []string
	Set   map[string]string
	// Missing are files that do not exist.
	Missing []string
}

// noteEnvironments records what environments set for the components.
func (f *Fleet) noteEnvironments(src Source) {
	for _, c := range f.Components {
		for _, e := range f.Known() {
			v := f.inEnvironment(src, c, e)
			if !c.IsIn(e) || len(v.Files)+len(v.Set) == 0 && c.Environments.Settings[e].Namespace == "" {
				continue
			}
			if c.Values == nil {
				c.Values = map[string]EnvironmentValues{}
			}
			for _, name := range v.Files {
				if _, err := fs.Stat(src.Repo, strings.TrimPrefix(name, "/")); err != nil {
					v.Missing = append(v.Missing, src.show(strings.TrimPrefix(name, "/")))
				}
			}
			c.Values[e] = v
		}
	}
}

// Environments returns the environments that the fleet or a component names.
func (f *Fleet) Environments() []string {
	var all []string
	for _, e := range f.Settings.Environments {
		all = append(all, e.Name)
	}
	for _, c := range f.Components {
		all = append(all, c.Environments.Names()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Scope returns the given environment, or all; "" stands for the only one of a fleet that names
// none.
func (f *Fleet) Scope(environment string) []string {
	if environment != "" {
		return []string{environment}
	}
	if all := f.Environments(); len(all) > 0 {
		return all
	}
	return []string{""}
}

// Deployed reports whether an Application is in an environment.
func Deployed(app *Application, environment string) bool {
	return app.IsEnabled() && app.IsIn(environment)
}

// EnvironmentsOf lists the environments that an Application is limited to; nil means all.
func (f *Fleet) EnvironmentsOf(app *Application) []string {
	if !app.Environments.MayBeMissing() {
		return nil
	}
	return slices.DeleteFunc(f.Environments(), func(e string) bool { return !app.IsIn(e) })
}

// Known returns the environments of the fleet or, if it has none, those that components name.
func (f *Fleet) Known() []string {
	if len(f.Settings.Environments) == 0 {
		return f.Environments()
	}
	var all []string
	for _, e := range f.Settings.Environments {
		all = append(all, e.Name)
	}
	return all
}

// Differs reports whether environments render a component differently.
func (c *Component) Differs() bool { return len(c.Values) > 0 }

// namespaceIn returns the destination namespace of a component in an environment, before its
// suffix.
func (c *Component) namespaceIn(environment string) string {
	return cmp.Or(c.Environments.Settings[environment].Namespace, c.Namespace, "default")
}

// renderedIn returns the environment that a component is rendered for: the given one or, if all
// are loaded or the component is not deployed there, the first one that has it. It is empty if
// environments do not differ.
func (f *Fleet) renderedIn(c *Component, environment string) string {
	if !c.Differs() || environment != "" && c.IsIn(environment) {
		return environment
	}
	for _, e := range f.Known() {
		if c.IsIn(e) {
			return e
		}
	}
	return ""
}

// renderEnvironments renders the Applications that differ between environments for each of
// them.
func (f *Fleet) renderEnvironments(ctx context.Context, src Source) error {
	if src.Environment != "" || !slices.ContainsFunc(f.Components, (*Component).Differs) {
		return nil
	}
	all := map[string]*Fleet{}
	for _, e := range f.Known() {
		inEnvironment := *f
		inEnvironment.Applications = slices.Clone(f.Applications)
		var apps []*Application
		for i, app := range f.Applications {
			if !app.Differs() || !app.IsIn(e) || app.Environment == e {
				continue
			}
			other := Application{Component: app.Component, Name: app.Name, Part: app.Part, Step: app.Step,
				Namespace: app.namespaceIn(e), EarlierAPIVersions: app.EarlierAPIVersions, Environment: e}
			inEnvironment.Applications[i], apps = &other, append(apps, &other)
		}
		if err := f.renderAll(ctx, src, apps, input.NewMemory(renderMemory).Sharing(src.shared)); err != nil {
			return err
		}
		if err := inEnvironment.link(); err != nil {
			return err
		}
		inEnvironment.dropSatisfied()
		inEnvironment.Findings = FindingsOf(inEnvironment.Applications)
		all[e] = &inEnvironment
	}
	f.byEnvironment = all
	return nil
}

// At returns a fleet with all of its components as they are rendered in an environment.
func (f *Fleet) At(environment string) *Fleet {
	known := f.byEnvironment[environment]
	if known == nil {
		return f
	}
	inEnvironment := *known
	inEnvironment.Settings, inEnvironment.Profile = f.Settings, f.Profile // of f, which may be compared with others
	return &inEnvironment
}

// Differs reports whether environments render some Application differently, and the fleet has
// all of these renderings.
func (f *Fleet) Differs() bool { return f.byEnvironment != nil }

// Renderings returns the Applications as they are rendered in an environment. If it is empty,
// these are all renderings: those of Applications that differ between environments follow the
// others.
func (f *Fleet) Renderings(environment string) []*Application {
	all := slices.Clone(f.At(environment).Applications)
	if environment != "" || f.byEnvironment == nil {
		return all
	}
	for _, e := range f.Known() {
		for _, app := range f.At(e).Applications {
			if !slices.Contains(all, app) {
				all = append(all, app)
			}
		}
	}
	return all
}
