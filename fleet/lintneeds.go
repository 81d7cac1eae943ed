package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
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
			where, remedy := "is disabled", "enable "+to.Name+", or disable "+app.Name
			if to.On() {
				where = "is not in " + strings.Join(lacking, ", ")
				remedy = "add it to the environments of " + to.Name + ", or remove it from those of " + app.Name
			}
			severity := finding.Error
			if !sure {
				severity = finding.Warning
			}
			f := l.at(severity, app, fmt.Sprintf("%s%s, and %s %s", said(reason), rendered(reason), to.Name, where), remedy).with(to)
			f.Line = max(app.Line("enabled"), app.Line("environments"), app.Line("name"))
			f.Object, f.Field = shown(reason), reason.Field
			all = append(all, f)
		}
	}
	return all
}

// lacking are the environments in which an Application is deployed and what it
// needs is not, nor anything else that holds the same, with the strongest
// reason. A name that is only called is no need.
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

// Lack is a sure need that nothing fulfils.
type Lack struct {
	Of     *Application
	reason Reason
}

// String says what is needed, and why that is not there.
func (l Lack) String() string {
	where := "is disabled"
	if l.Of.On() {
		where = "is not deployed there"
	}
	return l.Of.Name + ", which " + where + ", because " + Need{reason: l.reason, Sure: true}.Because()
}

// Lacking are the Applications that need for sure what is not deployed in an
// environment, unless the owners of the fleet say that it is there.
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

// needsOf are the links of each Application to others.
func (f *Fleet) needsOf() [][]Link {
	all := make([][]Link, len(f.Applications))
	for _, link := range f.Links {
		all[link.From] = append(all[link.From], link)
	}
	return all
}

// later reports whether a need is a definition of what does not exist yet: the
// kind of an object that something is to make one day.
func later(r Reason) bool { return r.Strength == Exists && r.To.Kind == "CustomResourceDefinition" }

// instead reports whether another Application that is deployed holds the same
// object, or one by which the field is answered as well.
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

// isNamespace reports whether a need is a namespace, which Argo CD makes where
// it is told to (CreateNamespace=true), though without its labels.
func isNamespace(r Reason) bool { return r.Field == "metadata.namespace" && r.To.Kind == "Namespace" }

func (l *lint) missingKinds() []fault {
	served := map[object.ID]bool{}
	for _, r := range l.Objects.References {
		if n := l.Objects.Nodes[r.From]; n.Foreign && r.Field == "kind" {
			served[n.Key] = true
		}
	}
	for _, link := range l.Links {
		for _, r := range link.Reasons {
			if r.Field == "kind" {
				served[r.From] = true
			}
		}
	}
	type lack struct {
		part  int
		group string
	}
	platform := l.platform()
	var order []lack
	kinds := map[lack][]string{}
	first := map[lack]int{}
	for i, n := range l.Objects.Nodes {
		if !n.Foreign || l.stub(n) || served[n.Key] || !l.anywhere(l.Applications[n.Part]) {
			continue
		}
		if has, _ := l.base.Brought(n.Key.Group, n.Key.Kind); has != "" && has == platform {
			continue
		}
		of := lack{n.Part, n.Key.Group}
		if _, seen := first[of]; !seen {
			first[of] = i
			order = append(order, of)
		}
		if !slices.Contains(kinds[of], n.Key.Kind) {
			kinds[of] = append(kinds[of], n.Key.Kind)
		}
	}
	var all []fault
	for _, of := range order {
		n := l.Objects.Nodes[first[of]]
		app := l.Applications[of.part]
		remedy := l.bring(of.group, kinds[of], platform) + ", at an earlier phase; if something outside of the fleet installs them, apply it before the fleet"
		f := l.at(finding.Warning, app, fmt.Sprintf("nothing in the fleet defines %s of %s%s%s", few(kinds[of]), of.group, rendered(Reason{From: n.Key, File: n.File, Line: n.Line}), l.perhaps()), remedy)
		f.Object, f.Field = n.Key.String(), "kind"
		all = append(all, f)
	}
	return all
}

// stub reports whether a node only stands for what a chart is known to bring.
func (l *lint) stub(n graph.Node) bool { return l.Applications[n.Part].Chart != nil }

// platform is what the clusters of the fleet are of: as a ladder.yaml says, or as the
// first object shows that runs nowhere else; empty if nothing tells.
func (l *lint) platform() string {
	if said := l.base.Platform(); said != "" {
		return said
	}
	for _, app := range l.Applications {
		for _, o := range app.Objects {
			if shown := l.base.Shows(o); shown != "" {
				return shown
			}
		}
	}
	return ""
}

// bring says what to add for kinds of a group that nothing defines: the package, if the
// fleet or its platform has packages or if there is no chart, or else the chart.
func (l *lint) bring(group string, kinds []string, platform string) string {
	var packages []string
	for _, p := range l.packages(group, kinds) {
		packages = append(packages, p.String())
	}
	chart := l.bringing(group)
	switch {
	case packages != nil && (chart == "" || platform != "" || l.subscribes()):
		which := "the package "
		if len(packages) > 1 {
			which = "one of the packages "
		}
		return "add a component with a Subscription for " + which + few(packages)
	case chart != "":
		return "add a component with the CRDs, such as the chart " + chart
	}
	return "add a component with the CRDs"
}

// packages are those that bring all of some kinds.
func (l *lint) packages(group string, kinds []string) []knowledge.Package {
	_, all := l.base.Brought(group, kinds[0])
	for _, kind := range kinds[1:] {
		_, also := l.base.Brought(group, kind)
		all = slices.DeleteFunc(all, func(p knowledge.Package) bool {
			return !slices.ContainsFunc(also, func(q knowledge.Package) bool { return q.Name == p.Name })
		})
	}
	return all
}

// subscribes reports whether the fleet installs operators from packages.
func (l *lint) subscribes() bool {
	return slices.ContainsFunc(l.Objects.Nodes, func(n graph.Node) bool { return n.Kind.Operator.Installs() })
}

// bringing names a chart with which kinds of a group come.
func (l *lint) bringing(group string) string {
	for _, c := range l.base.Charts() {
		if c.Brings(group) {
			return c.Name
		}
	}
	return ""
}

// perhaps names the charts that might bring what is missing.
func (l *lint) perhaps() string {
	var names []string
	for _, app := range l.Applications {
		if l.unknown(app) && !slices.Contains(names, app.Component.Chart.Chart) {
			names = append(names, app.Component.Chart.Chart)
		}
	}
	if names == nil {
		return ""
	}
	return ", unless one of these unknown charts does: " + few(names)
}

// unknown reports whether nothing is known of what an Application deploys.
func (l *lint) unknown(app *Application) bool {
	return app.Elsewhere && app.Chart == nil && l.anywhere(app)
}

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

func (l *lint) unknownCharts() []fault {
	var all []fault
	for _, app := range l.Applications {
		if !l.unknown(app) {
			continue
		}
		f := l.at(finding.Note, app, "unknown chart "+cmp.Or(app.Component.Chart.Chart, app.Component.Chart.Path)+" of "+app.Component.Chart.RepoURL+", so what "+app.Name+" provides and depends on is not checked",
			"run cmp vendor, or put the chart into this repository and name it as chart.path")
		f.Line = app.Line("chart")
		all = append(all, f)
	}
	return all
}
