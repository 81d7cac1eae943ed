package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
)

func (l *lint) needsDisabled() []fault {
	var all []fault
	for from, app := range l.Applications {
		for _, link := range l.needs[from] {
			to := l.Applications[link.To]
			reason, lacking, sure := l.lacking(app, to, link)
			if lacking == nil {
				continue
			}
			where := func([]string) string { return "is disabled" }
			remedy := "enable " + to.Name + ", or disable " + app.Name
			if to.IsEnabled() {
				where = func(environments []string) string {
					if len(environments) == 1 {
						return fmt.Sprintf("is not deployed in environment %q", environments[0])
					}
					return "is not deployed in the environments " + strings.Join(environments, ", ")
				}
				remedy = fmt.Sprintf("deploy %s there as well, or do not deploy %s there", to.Name, app.Name)
			}
			severity := finding.Error
			if !sure {
				severity = finding.Warning
			}
			message := func(environments []string) string {
				return fmt.Sprintf("%s%s, but component %s %s", rendered(reason), said(reason), to.Name, where(environments))
			}
			f := l.at(severity, app, message(lacking), remedy).with(to)
			if to.IsEnabled() && len(l.environments) == 1 { // of several, lacking lists them
				f.in = message
			}
			f.Line = max(app.Line("enabled"), app.Line("environments"), app.Line("name"))
			f.Object, f.Field = shown(reason), reason.Field
			all = append(all, f)
		}
	}
	return all
}

// lacking returns the environments in which an Application is deployed, but neither its
// dependency nor another Application with the same object, with the strongest reason. Calls do
// not count.
func (l *lint) lacking(app, to *Application, link Link) (strongest Reason, environments []string, sure bool) {
	for _, e := range l.environments {
		if !Deployed(app, e) || Deployed(to, e) {
			continue
		}
		for _, r := range link.Reasons {
			if r.Strength < Exists || isNamespace(r) || l.instead(link.From, r, e) {
				continue
			}
			if environments == nil {
				strongest = r
			}
			sure = sure || !r.Inferred && !later(r)
			environments = append(environments, e)
			break
		}
	}
	return strongest, environments, sure
}

// Lack is a certain dependency that nothing satisfies.
type Lack struct {
	Of     *Application
	reason Reason
}

// String describes the missing dependency and its reason.
func (l Lack) String() string {
	where := "is disabled"
	if l.Of.IsEnabled() {
		where = "is not deployed there"
	}
	return l.Of.Name + ", which " + where + ", because " + Need{reason: l.reason, Sure: true}.Because()
}

// Lacking returns the Applications with a certain dependency that is not deployed in an
// environment, unless the owners of the fleet accept that.
func (f *Fleet) Lacking(environment string) map[*Application]Lack {
	l := &lint{Fleet: f, environments: []string{environment}, needs: f.needsOf()}
	all := map[*Application]Lack{}
	for _, link := range f.Links {
		app, to := f.Applications[link.From], f.Applications[link.To]
		reason, _, sure := l.lacking(app, to, link)
		accepted := slices.ContainsFunc(f.Settings.Accepted, func(a profile.Accepted) bool {
			return a.Rule == needsDisabled && a.Component == app.Name && (a.Needs == "" || a.Needs == to.Name)
		})
		if _, known := all[app]; sure && !accepted && !known {
			all[app] = Lack{to, reason}
		}
	}
	return all
}

// needsOf returns the dependencies of each Application.
func (f *Fleet) needsOf() [][]Link {
	all := make([][]Link, len(f.Applications))
	for _, link := range f.Links {
		all[link.From] = append(all[link.From], link)
	}
	return all
}

// later reports whether a dependency is the CRD of objects that are created later.
func later(r Reason) bool { return r.Strength == Exists && r.To.Kind == "CustomResourceDefinition" }

// instead reports whether another deployed Application contains the same object, or one that
// satisfies the field as well.
func (l *lint) instead(from int, r Reason, environment string) bool {
	for _, link := range l.needs[from] {
		if Deployed(l.Applications[link.To], environment) && slices.ContainsFunc(link.Reasons, func(o Reason) bool {
			return o.From == r.From && o.Field == r.Field && (o.To == r.To || r.Inferred)
		}) {
			return true
		}
	}
	return false
}

// isNamespace reports whether a dependency is a Namespace. Argo CD creates it with
// CreateNamespace=true, but without its labels.
func isNamespace(r Reason) bool { return r.Field == "metadata.namespace" && r.To.Kind == "Namespace" }

func (l *lint) noVersion() []fault {
	var all []fault
	for _, app := range l.Applications {
		if c := app.Component.Chart; c.Chart == "" || c.Version != "" || app.Vendored || app.Part == crds.Only || !l.anywhere(app) {
			continue
		}
		f := l.at(finding.Warning, app, "chart "+app.Component.Chart.Chart+" has no version, so Argo CD uses the latest (targetRevision: '*') and upgrades as soon as there is a new one",
			"write chart.version")
		f.Line, f.Field = app.Line("chart"), "chart.version"
		all = append(all, f)
	}
	return all
}
