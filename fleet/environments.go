package fleet

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/input"
)

// inEnvironment returns what an environment sets for a component: values files, with their
// paths in the repository, and single values.
func (f *Fleet) inEnvironment(src Source, c *Component, environment string) environmentValues {
	req := plugin.Request{Repo: src.Repo, Dir: c.Dir}
	v := environmentValues{}
	files, set := req.EnvironmentValues(c.Description, f.Settings, environment)
	for _, name := range files {
		if !path.IsAbs(name) {
			name = path.Join("/", c.Dir, name)
		}
		v.Files = append(v.Files, path.Clean(name))
	}
	v.Set = set
	return v
}

// environmentValues are what an environment sets for a component.
type environmentValues struct {
	Files []string
	Set   map[string]string
	// missing are files that do not exist.
	missing []string
}

// noteEnvironments records what environments set for the components.
func (f *Fleet) noteEnvironments(src Source) {
	for _, c := range f.Components {
		for _, e := range f.known() {
			v := f.inEnvironment(src, c, e)
			if !c.IsIn(e) || len(v.Files)+len(v.Set) == 0 && c.Environments.Settings[e].Namespace == "" {
				continue
			}
			if c.values == nil {
				c.values = map[string]environmentValues{}
			}
			for _, name := range v.Files {
				if _, err := fs.Stat(src.Repo, strings.TrimPrefix(name, "/")); err != nil {
					v.missing = append(v.missing, src.show(strings.TrimPrefix(name, "/")))
				}
			}
			c.values[e] = v
		}
	}
}

// Having lists the environments that an Application is limited to; nil means all.
func (f *Fleet) Having(app *Application) []string {
	if !app.Environments.Limited() {
		return nil
	}
	return slices.DeleteFunc(f.Environments(), func(e string) bool { return !app.IsIn(e) })
}

// known are the environments of the fleet or, if it has none, those that components name.
func (f *Fleet) known() []string {
	if len(f.Settings.Environments) == 0 {
		return f.Environments()
	}
	var all []string
	for _, e := range f.Settings.Environments {
		all = append(all, e.Name)
	}
	return all
}

// differs reports whether environments render a component differently.
func (c *Component) differs() bool { return len(c.values) > 0 }

// namespaceIn returns the destination namespace of a component in an environment, before its
// suffix.
func (c *Component) namespaceIn(environment string) string {
	return cmp.Or(c.Environments.Settings[environment].Namespace, c.Namespace, "default")
}

// renderedIn is the environment that a component is rendered for: the given one or, if all are
// loaded or the component is not deployed there, the first one that has it. It is empty if
// environments do not differ.
func (f *Fleet) renderedIn(c *Component, environment string) string {
	if !c.differs() || environment != "" && c.IsIn(environment) {
		return environment
	}
	for _, e := range f.known() {
		if c.IsIn(e) {
			return e
		}
	}
	return ""
}

// renderEnvironments renders the Applications that differ between environments for each of
// them.
func (f *Fleet) renderEnvironments(ctx context.Context, src Source) error {
	if src.Environment != "" || !slices.ContainsFunc(f.Components, (*Component).differs) {
		return nil
	}
	all := map[string]*Fleet{}
	for _, e := range f.known() {
		there := *f
		there.Applications = slices.Clone(f.Applications)
		var again []*Application
		for i, app := range f.Applications {
			if !app.differs() || !app.IsIn(e) || app.environment == e {
				continue
			}
			other := Application{Component: app.Component, Name: app.Name, Part: app.Part, Phase: app.Phase, Namespace: app.namespaceIn(e), Earlier: app.Earlier, environment: e}
			there.Applications[i], again = &other, append(again, &other)
		}
		if err := f.renderAll(ctx, src, again, input.NewMemory(renderMemory)); err != nil {
			return err
		}
		if err := there.link(); err != nil {
			return err
		}
		there.dropBrought()
		there.Findings = FindingsOf(there.Applications)
		all[e] = &there
	}
	f.at = all
	return nil
}

// At returns a fleet with all of its components as they are rendered in an environment.
func (f *Fleet) At(environment string) *Fleet {
	known := f.at[environment]
	if known == nil {
		return f
	}
	there := *known
	there.Settings, there.Profile = f.Settings, f.Profile // of f, which may be compared with others
	return &there
}

// lints prepares the checks of an environment. If it is empty, these are those of each
// environment, as far as environments differ; entries that one of them accepts are
// accepted.
func (f *Fleet) lints(environment string) []*lint {
	if environment != "" || f.at == nil {
		return []*lint{f.At(environment).lint(environment)}
	}
	var all []*lint
	for _, e := range f.known() {
		l := f.At(e).lint(e)
		if len(all) > 0 {
			l.accepted = all[0].accepted
		}
		all = append(all, l)
	}
	return all
}

// findIn returns the findings of rules in an environment, or in all, each once.
func (f *Fleet) findIn(environment string, rules []Rule) []finding.Finding {
	lints := f.lints(environment)
	var all located
	for i, l := range lints {
		l.whole, l.last = environment == "" || len(f.Environments()) <= 1, i == len(lints)-1
		for _, found := range l.find(rules) {
			all.add(found, l.environments)
		}
	}
	if len(lints) == 1 {
		return all.findings(func(string) []string { return nil })
	}
	return all.findings(f.deployedIn)
}

// deployedIn lists the environments of an Application, or of the fleet if it is unknown.
func (f *Fleet) deployedIn(name string) []string {
	known := f.known()
	return slices.DeleteFunc(slices.Clone(known), func(e string) bool {
		return slices.ContainsFunc(f.Applications, func(app *Application) bool { return app.Name == name && !app.IsIn(e) })
	})
}

// located are findings with the environments that have them.
type located []struct {
	fault
	environments []string
}

// add adds a finding of some environments. Those of the same finding are combined.
func (all *located) add(found fault, environments []string) {
	for i, x := range *all {
		if x.common() == found.common() {
			for _, e := range environments {
				if !slices.Contains(x.environments, e) {
					(*all)[i].environments = append((*all)[i].environments, e)
				}
			}
			return
		}
	}
	*all = append(*all, struct {
		fault
		environments []string
	}{found, slices.Clone(environments)})
}

// common returns a finding as it is in all environments.
func (f fault) common() finding.Finding {
	if f.in != nil {
		f.Message = f.in(nil)
	}
	return f.Finding
}

// findings returns the findings. Their messages name the environments, unless the finding is
// the same in all that the Application is deployed to.
func (all located) findings(deployed func(name string) []string) []finding.Finding {
	var found []finding.Finding
	for _, x := range all {
		missing := func(e string) bool { return !slices.Contains(x.environments, e) }
		named := slices.ContainsFunc(x.environments, func(e string) bool { return strings.HasPrefix(x.Field, "environments."+e+".") })
		switch {
		case x.in != nil:
			x.Message = x.in(x.environments)
		case !named && slices.ContainsFunc(deployed(x.of), missing):
			x.Message = "in " + strings.Join(x.environments, ", ") + ": " + x.Message
		}
		found = append(found, x.Finding)
	}
	return found
}

// FindingsIn returns the findings of all renderings in an environment, or in all, each once: of
// the Applications that which selects, or of all if it is nil.
func (f *Fleet) FindingsIn(environment string, which func(*Application) bool) []finding.Finding {
	var all located
	for _, app := range f.Renderings(environment) {
		if !app.IsIn(environment) || which != nil && !which(app) {
			continue
		}
		where := []string{app.environment}
		if environment != "" || app.environment == "" || f.at == nil {
			where = f.deployedIn(app.Name)
		}
		for _, found := range app.Findings {
			all.add(fault{Finding: found, of: app.Component.Name}, where)
		}
	}
	return all.findings(f.deployedIn)
}

// Renderings are the Applications as they are rendered in an environment. If it is empty,
// these are all renderings: those of Applications that differ between environments follow
// the others.
func (f *Fleet) Renderings(environment string) []*Application {
	all := slices.Clone(f.At(environment).Applications)
	if environment != "" || f.at == nil {
		return all
	}
	for _, e := range f.known() {
		for _, app := range f.At(e).Applications {
			if !slices.Contains(all, app) {
				all = append(all, app)
			}
		}
	}
	return all
}

// always returns the message of a finding that does not depend on the checked environments.
func always(message string) func([]string) string {
	return func([]string) string { return message }
}

// unusedValues finds values files of environments that no component has.
func (l *lint) unusedValues() []fault {
	var all []fault
	for i, e := range l.Settings.Environments {
		for k, name := range e.Values {
			if !slices.Contains(l.environments, e.Name) || slices.ContainsFunc(l.Components, func(c *Component) bool { return slices.Contains(c.values[e.Name].Files, path.Join("/", c.Dir, name)) }) {
				continue
			}
			message := fmt.Sprintf("no component in %s has a file %s", e.Name, name)
			all = append(all, fault{in: always(message), Finding: finding.Finding{Severity: finding.Warning, File: l.Settings.File, Line: l.Settings.Line, Field: fmt.Sprintf("fleet.environments[%d].values[%d]", i, k),
				Message: message, Remedy: "correct the name, or add the file next to a component.yaml"}})
		}
	}
	return all
}

// missingValues finds values files of environments that Argo CD will not find; of other
// components, the rendering reports them.
func (l *lint) missingValues() []fault {
	var all []fault
	for _, app := range l.Applications {
		for _, found := range app.missingValues() {
			all = append(all, fault{of: app.Name, Finding: found})
		}
	}
	return all
}

func (a *Application) missingValues() []finding.Finding {
	var all []finding.Finding
	if !a.Component.Chart.Remote() || a.Vendored || a.Component.Chart.IgnoreMissing {
		return nil
	}
	for _, e := range slices.Sorted(maps.Keys(a.values)) {
		for _, name := range a.values[e].missing {
			all = append(all, a.fault("no-values-file", "environments."+e+".values", "values file "+name+" not found in the repository", "correct the name, or add the file"))
		}
	}
	return all
}

// renderedByArgoCD are the values of environments for a chart that Argo CD renders itself.
type renderedByArgoCD struct {
	ValueFiles []string        `yaml:"valueFiles,omitempty"`
	Parameters []helmParameter `yaml:"parameters,omitempty"`
}

type helmParameter struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// remoteValues are those of an environment for a component whose chart Argo CD renders.
func (c *Component) remoteValues(environment string) renderedByArgoCD {
	var r renderedByArgoCD
	v := c.values[environment]
	for _, file := range v.Files {
		r.ValueFiles = append(r.ValueFiles, "$values"+file)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Set)) {
		r.Parameters = append(r.Parameters, helmParameter{name, v.Set[name]})
	}
	return r
}

// remoteEnvironments are the values of environments for charts that Argo CD renders
// itself, by directory and environment, as JSON. They are fixed when the ApplicationSet is
// written.
func (f *Fleet) remoteEnvironments() string {
	all := map[string]map[string]renderedByArgoCD{}
	for _, c := range f.Components {
		if !c.Chart.Remote() || c.Vendored || !c.differs() {
			continue
		}
		all[c.Dir] = map[string]renderedByArgoCD{}
		for e := range c.values {
			all[c.Dir][e] = c.remoteValues(e)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return asJSON(all)
}
