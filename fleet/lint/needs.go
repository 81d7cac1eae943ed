package lint

import (
	"fmt"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
)

func (l *checker) needsDisabled() []fault {
	var all []fault
	for from, app := range l.Applications {
		for _, link := range l.dependencies[from] {
			to := l.Applications[link.To]
			reason, missing, sure := l.Unmet(link, l.environments)
			if missing == nil {
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
				return fmt.Sprintf("%s%s, but component %s %s", renderedFrom(reason), dependencySentence(reason), to.Name, where(environments))
			}
			f := l.at(severity, app, message(missing), remedy).with(to)
			if to.IsEnabled() && len(l.environments) == 1 { // of several, lacking lists them
				f.messageIn = message
			}
			f.Line = max(app.Line("enabled"), app.Line("environments"), app.Line("name"))
			f.Object, f.Field = objectName(reason), reason.Field
			all = append(all, f)
		}
	}
	return all
}

// dependenciesOf returns the dependencies of each Application.
func dependenciesOf(f *fleet.Fleet) [][]fleet.Link {
	all := make([][]fleet.Link, len(f.Applications))
	for _, link := range f.Links {
		all[link.From] = append(all[link.From], link)
	}
	return all
}

func (l *checker) noVersion() []fault {
	var all []fault
	for _, app := range l.Applications {
		if c := app.Component.Chart; c.Chart == "" || c.Version != "" || app.Vendored || app.Part == crds.Only || !l.anywhere(app) {
			continue
		}
		f := l.at(finding.Warning, app, "chart "+app.Component.Chart.Chart+
			" has no version, so Argo CD uses the latest (targetRevision: '*') and upgrades as soon as there is a new one",
			"write chart.version")
		f.Line, f.Field = app.Line("chart"), "chart.version"
		all = append(all, f)
	}
	return all
}
