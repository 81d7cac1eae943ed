package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/render/helm"
)

// The owner of a component writes its component.yaml, and is not trusted with the projects,
// clusters and Applications of others. The generated manifests enforce this; the rules here
// report attempts.

const (
	foreignProject = "foreign-project"
	reservedLabel  = "reserved-label"
	// platformSetting is the rule about settings that affect more than the Application of a
	// component.
	platformSetting = knowledge.RefusedRule
)

// Overreach finds components that request settings which only the platform may set, in an
// environment, or in all if it is empty.
func Overreach(f *fleet.Fleet, environment string) []finding.Finding {
	reserved := func(l *checker) []fault { // the label of the step concerns only the rollout
		return slices.DeleteFunc(l.settings(), func(x fault) bool { return x.About == l.Profile.Label })
	}
	var found []finding.Finding
	for _, x := range newChecker(f, environment).find([]Rule{
		{Name: foreignProject, checks: checks{(*checker).foreignProjects}},
		{Name: reservedLabel, checks: checks{reserved}},
		{Name: platformSetting, checks: checks{(*checker).platformSettings}},
		{Name: helm.BadName, checks: checks{(*checker).unsafeValues}}, // not what Kubernetes rejects anyway
	}) {
		found = append(found, x.Finding)
	}
	finding.Sort(found)
	return found
}

// ReservedLabel returns the expression for label keys that no component may set: the step
// label, by which the steps select, the environment label, and Argo CD's own labels.
func ReservedLabel(f *fleet.Fleet) *regexp.Regexp {
	return regexp.MustCompile(`^(environment|` + regexp.QuoteMeta(f.Profile.Label) + `|([^/]*\.)?argoproj\.io/.*)$`)
}

// isReserved reports whether a key matches ReservedLabel, which takes long to compile: it is not
// for keys that hold none of its literals.
func isReserved(f *fleet.Fleet, key string) bool {
	return (key == "environment" || key == f.Profile.Label || strings.Contains(key, "argoproj.io/")) && ReservedLabel(f).MatchString(key)
}

// Refused finds the settings of an Application that only the platform may set. The file of a
// component in two parts is checked once.
func Refused(f *fleet.Fleet, app *fleet.Application) []finding.Finding {
	if app.Part == crds.Only {
		return nil
	}
	var all []finding.Finding
	if requestsForeignProject(f, app) {
		message, remedy := projectRefused(f, app)
		all = append(all, app.Fault(foreignProject, "project", message, remedy))
	}
	return slices.Concat(all, notAllowed(f, app), unsafeValuesOf(app))
}

// requestsForeignProject reports whether a component names an AppProject that it does not get.
func requestsForeignProject(f *fleet.Fleet, app *fleet.Application) bool {
	return app.Project != "" && app.Project != f.ProjectOf(app)
}

// projectRefused reports a component that does not get the AppProject that it names.
func projectRefused(f *fleet.Fleet, app *fleet.Application) (message, remedy string) {
	return fmt.Sprintf("component %s sets the AppProject %q, but the fleet puts it into the AppProject %q",
			app.Name, app.Project, f.Project()),
		"remove project, or allow it with --allow-project " + finding.Quote(app.Project)
}

// unsafeValuesOf finds values that are not plain text.
func unsafeValuesOf(a *fleet.Application) []finding.Finding {
	if a.Part == crds.Only { // the file is checked once
		return nil
	}
	var all []finding.Finding
	for _, v := range generatedValues(a.Description) {
		if what := unsafePart(v.text); what != "" {
			all = append(all, a.Fault(helm.BadName, v.field,
				fmt.Sprintf("%q contains %s, which is not allowed in an Application", v.text, what), "write the literal value"))
		}
	}
	return all
}

// foreignProjects finds the components that do not get the AppProject that they name. Without
// a list of allowed projects, no component gets its own, and one finding for each project is
// enough.
func (l *checker) foreignProjects() []fault {
	var all []fault
	first := map[string]int{}
	others := map[string]int{}
	for _, app := range l.Applications {
		if app.Part == crds.Only || !requestsForeignProject(l.Fleet, app) {
			continue
		}
		message, remedy := projectRefused(l.Fleet, app)
		found := l.at(finding.Error, app, message, remedy)
		found.Line, found.Field = app.Line("project"), "project"
		if len(l.Projects) > 0 {
			all = append(all, found)
			continue
		}
		if _, reported := first[app.Project]; reported {
			others[app.Project]++
			continue
		}
		found.Severity = finding.Warning
		first[app.Project] = len(all)
		all = append(all, found)
	}
	for name, n := range others {
		all[first[name]].Message += fmt.Sprintf("; other components that set %q: %d", name, n)
	}
	return all
}

// unsafeValues finds values that may be intended to escape from the generated manifests.
func (l *checker) unsafeValues() []fault { return l.each(unsafeValuesOf) }

// value is a text in a component.yaml, with its location.
type value struct{ field, text string }

// generatedValues returns the texts of a description that are written into Applications.
func generatedValues(d component.Description) []value {
	all := []value{{"name", d.Name}, {"namespace", d.Namespace}, {"project", d.Project}, {"domain", d.Domain}, {"tier", d.Tier},
		{"componentType", d.Type}, {"dependencyPhase", d.DependencyPhase},
		{"chart.repoURL", d.Chart.RepoURL}, {"chart.path", d.Chart.Path}, {"chart.chart", d.Chart.Chart},
		{"chart.version", d.Chart.Version}, {"chart.releaseName", d.Chart.ReleaseName}, {"server", d.Server}}
	for field, list := range map[string][]string{"syncOptions": d.SyncOptions, "environments": d.Environments.Names(),
		"chart.valueFiles": d.Chart.ValueFiles} {
		for i, text := range list {
			all = append(all, value{fmt.Sprintf("%s[%d]", field, i), text})
		}
	}
	for name, settings := range d.Environments.Settings {
		all = append(all, value{"environments." + name + ".namespace", settings.Namespace})
		for i, text := range settings.Values {
			all = append(all, value{fmt.Sprintf("environments.%s.values[%d]", name, i), text})
		}
	}
	texts := map[string]map[string]string{"labels": d.Labels, "annotations": d.Annotations}
	if m := d.ManagedNamespaceMetadata; m != nil {
		texts["managedNamespaceMetadata.labels"], texts["managedNamespaceMetadata.annotations"] = m.Labels, m.Annotations
	}
	for field, mapping := range texts {
		for key, text := range mapping {
			all = append(all, value{field, key}, value{field, text})
		}
	}
	for i, info := range d.Info {
		all = append(all, value{fmt.Sprintf("info[%d]", i), info.Name}, value{fmt.Sprintf("info[%d]", i), info.Value})
	}
	slices.SortFunc(all, func(x, y value) int { return strings.Compare(x.field+"\x00"+x.text, y.field+"\x00"+y.text) })
	return all
}

// unsafePart returns the part of a text that makes it unsafe; empty if it is plain text.
func unsafePart(text string) string {
	switch {
	case strings.Contains(text, "{{") || strings.Contains(text, "}}"):
		return "a template"
	case strings.ContainsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029' }):
		return "a line break"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "a control character"
	}
	return ""
}
