package lint

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// checkers returns the checks to run for an environment. If it is empty and renderings differ
// between environments, there is one check for each environment; they share the list of accepted
// entries that matched.
func checkers(f *fleet.Fleet, environment string) []*checker {
	if environment != "" || !f.Differs() {
		return []*checker{newChecker(f.At(environment), environment)}
	}
	var all []*checker
	for _, e := range f.Known() {
		l := newChecker(f.At(e), e)
		if len(all) > 0 {
			l.accepted = all[0].accepted
		}
		all = append(all, l)
	}
	return all
}

// findIn returns the findings of rules in an environment, or in all, each once.
func findIn(f *fleet.Fleet, environment string, rules []Rule) []finding.Finding {
	checks := checkers(f, environment)
	var all findingsByEnvironment
	for i, l := range checks {
		l.whole, l.last = environment == "" || len(f.Environments()) <= 1, i == len(checks)-1
		for _, found := range l.find(rules) {
			all.add(found, l.environments)
		}
	}
	if len(checks) == 1 {
		return all.findings(func(string) []string { return nil })
	}
	return all.findings(func(name string) []string { return deployedIn(f, name) })
}

// deployedIn lists the environments of an Application, or of the fleet if it is unknown.
func deployedIn(f *fleet.Fleet, name string) []string {
	known := f.Known()
	return slices.DeleteFunc(slices.Clone(known), func(e string) bool {
		return slices.ContainsFunc(f.Applications, func(app *fleet.Application) bool { return app.Name == name && !app.IsIn(e) })
	})
}

// findingsByEnvironment are findings with the environments that have them.
type findingsByEnvironment []struct {
	fault
	environments []string
}

// add adds a finding of some environments. Those of the same finding are combined.
func (all *findingsByEnvironment) add(found fault, environments []string) {
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
	if f.messageIn != nil {
		f.Message = f.messageIn(nil)
	}
	return f.Finding
}

// findings returns the findings. Their messages name the environments, unless the finding is
// the same in all that the Application is deployed to.
func (all findingsByEnvironment) findings(deployed func(name string) []string) []finding.Finding {
	var found []finding.Finding
	for _, x := range all {
		missing := func(e string) bool { return !slices.Contains(x.environments, e) }
		named := slices.ContainsFunc(x.environments, func(e string) bool { return strings.HasPrefix(x.Field, "environments."+e+".") })
		switch {
		case x.messageIn != nil:
			x.Message = x.messageIn(x.environments)
		case !named && slices.ContainsFunc(deployed(x.app), missing):
			x.Message = "in " + strings.Join(x.environments, ", ") + ": " + x.Message
		}
		found = append(found, x.Finding)
	}
	return found
}

// Rendering returns the findings of the renderings of Applications for which isSelected returns
// true (all if it is nil), in an environment or, if that is empty, in all; each finding once.
func Rendering(f *fleet.Fleet, environment string, isSelected func(*fleet.Application) bool) []finding.Finding {
	var all findingsByEnvironment
	for _, app := range f.Renderings(environment) {
		if !app.IsIn(environment) || isSelected != nil && !isSelected(app) {
			continue
		}
		where := []string{app.Environment}
		if environment != "" || app.Environment == "" || !f.Differs() {
			where = deployedIn(f, app.Name)
		}
		for _, found := range app.Findings {
			all.add(fault{Finding: found, app: app.Component.Name}, where)
		}
	}
	return finding.Together(all.findings(func(name string) []string { return deployedIn(f, name) }))
}

// Failures returns the findings of severity Error in an environment, or in all if it is empty.
func Failures(f *fleet.Fleet, environment string) []finding.Finding {
	all := append(Rendering(f, environment, nil), f.Reading...)
	return slices.DeleteFunc(all, func(found finding.Finding) bool { return found.Severity != finding.Error })
}

// always returns the message of a finding that does not depend on the checked environments.
func always(message string) func([]string) string {
	return func([]string) string { return message }
}

// unusedValues finds values files of environments that no component has.
func (l *checker) unusedValues() []fault {
	var all []fault
	for i, e := range l.Settings.Environments {
		for k, name := range e.Values {
			if !slices.Contains(l.environments, e.Name) || slices.ContainsFunc(l.Components, func(c *fleet.Component) bool {
				return slices.Contains(c.Values[e.Name].Files, path.Join("/", c.Dir, name))
			}) {
				continue
			}
			message := fmt.Sprintf("no component in %s has a file %s", e.Name, name)
			all = append(all, fault{messageIn: always(message),
				Finding: finding.Finding{Severity: finding.Warning, File: l.Settings.File, Line: l.Settings.Line,
					Field:   fmt.Sprintf("fleet.environments[%d].values[%d]", i, k),
					Message: message, Remedy: "correct the name, or add the file next to a component.yaml"}})
		}
	}
	return all
}

// missingValues finds values files of environments that Argo CD will not find; for all other
// components, the rendering reports such files.
func (l *checker) missingValues() []fault { return l.each(missingValues) }

func missingValues(a *fleet.Application) []finding.Finding {
	var all []finding.Finding
	if a.Part == crds.Only || !a.Component.Chart.Remote() || a.Vendored || a.Component.Chart.IgnoreMissing {
		return nil
	}
	for _, e := range slices.Sorted(maps.Keys(a.Values)) {
		for _, name := range a.Values[e].Missing {
			all = append(all, a.Fault(fleet.BadEnvironment, "environments."+e+".values",
				"values file "+name+" not found in the repository", "correct the name, or add the file"))
		}
	}
	return all
}
