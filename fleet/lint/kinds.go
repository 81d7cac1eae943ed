package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// undefinedKinds are kinds of an API group that nothing in the fleet defines.
type undefinedKinds struct {
	group string
	kinds []string
	// first is their first object, and users are the Applications that contain some.
	first graph.Node
	users []*fleet.Application
}

// missingKinds finds kinds that nothing defines: one finding for each API group, and a
// separate one for each Application whose owners accept it. While a component does not render,
// it may define any kind, so the findings are only notes.
func (l *checker) missingKinds() []fault {
	served := l.servedObjects()
	platform := l.platform()
	var all []*undefinedKinds
	for _, n := range l.Objects.Nodes {
		app := l.Applications[n.Part]
		own := slices.ContainsFunc(app.KnownCharts(), func(c knowledge.Chart) bool { return c.InstallsGroup(n.Key.Group) })
		if !n.CRDMissing || n.Expected || n.Stub || served[n.Key] || own || !l.anywhere(app) {
			continue
		}
		if has, _ := l.Base.Origin(n.Key.Group, n.Key.Kind); has != "" && has == platform {
			continue
		}
		alone := l.accepts(missingKind, app)
		i := slices.IndexFunc(all, func(of *undefinedKinds) bool {
			return of.group == n.Key.Group && (of.users[0] == app || !alone && !l.accepts(missingKind, of.users[0]))
		})
		if i < 0 {
			i = len(all)
			all = append(all, &undefinedKinds{group: n.Key.Group, first: n})
		}
		of := all[i]
		if !slices.Contains(of.kinds, n.Key.Kind) {
			of.kinds = append(of.kinds, n.Key.Kind)
		}
		if !slices.Contains(of.users, app) {
			of.users = append(of.users, app)
		}
	}
	severity, unless := finding.Warning, ""
	if broken := l.unrendered(); len(broken) > 0 {
		severity, unless = finding.Note, fmt.Sprintf(", unless it is in %s, which could not be rendered", finding.Few(namesOf(broken)))
	}
	var faults []fault
	for _, of := range all {
		remedy := l.remedyFor(of.group, of.kinds, platform) +
			", in an earlier step; if something outside the fleet installs them, apply it before the fleet"
		message := fmt.Sprintf("nothing in the fleet defines %s of %s, which %s uses", finding.Few(of.kinds), of.group,
			fileLine(of.first.File, of.first.Line))
		if len(of.users) > 1 {
			message = fmt.Sprintf("nothing in the fleet defines %s of %s, which %s use (%s), such as %s", finding.Few(of.kinds), of.group,
				finding.Counted(len(of.users), "component"), finding.Few(namesOf(of.users)), fileLine(of.first.File, of.first.Line))
		}
		perhaps, grave := l.unlessUnknownCharts(of.group), severity
		if perhaps != "" && l.InPlace() {
			grave = finding.Note
		}
		f := l.at(grave, of.users[0], message+perhaps+unless, remedy)
		f.Object, f.Field, f.About = of.first.Key.String(), "kind", of.group
		faults = append(faults, f)
	}
	return faults
}

// unrendered returns the Applications whose objects are unknown, because they did not render.
func (l *checker) unrendered() []*fleet.Application {
	return slices.DeleteFunc(slices.Clone(l.Applications),
		func(app *fleet.Application) bool { return !app.Failed || len(app.Objects) > 0 || !l.anywhere(app) })
}

// missingKind is the rule about kinds that nothing defines.
const missingKind = "missing-kind"

// servedObjects returns the objects whose kinds something in the fleet defines.
func (l *checker) servedObjects() map[object.ID]bool {
	served := map[object.ID]bool{}
	for _, r := range l.Objects.References {
		if n := l.Objects.Nodes[r.From]; n.CRDMissing && r.Field == "kind" {
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
	return served
}

// accepts reports whether the owners of the fleet accept a finding of a rule about an
// Application, for any dependency.
func (l *checker) accepts(rule finding.Rule, app *fleet.Application) bool {
	return slices.ContainsFunc(l.Settings.Accepted,
		func(a profile.Accepted) bool { return a.Rule == rule && a.Component == app.Name && a.Needs == "" })
}

func namesOf(apps []*fleet.Application) []string {
	var names []string
	for _, app := range apps {
		names = append(names, app.Component.Name)
	}
	return names
}

// platform returns the platform of the clusters: from a ladder.yaml, or from the first object
// that exists only on one platform; empty if unknown.
func (l *checker) platform() string {
	if platform := l.Base.Platform(); platform != "" {
		return platform
	}
	for _, app := range l.Applications {
		for _, o := range app.Objects {
			if platform := l.Base.RequiredPlatform(o); platform != "" {
				return platform
			}
		}
	}
	return ""
}

// remedyFor returns what to add for kinds of a group that nothing defines: a package, if the
// fleet or its platform uses packages, otherwise a chart.
func (l *checker) remedyFor(group string, kinds []string, platform string) string {
	var packages []string
	for _, p := range l.packages(group, kinds) {
		packages = append(packages, p.String())
	}
	chart := l.chartFor(group)
	switch {
	case packages != nil && (platform != "" || l.subscribes()):
		which := "the package "
		if len(packages) > 1 {
			which = "one of the packages "
		}
		return "add a component with a Subscription for " + which + finding.Few(packages)
	case chart != "":
		return "add a component with the CRDs, such as the " + chart + " chart"
	}
	return "add a component with the CRDs"
}

// packages returns the packages that install all of some kinds.
func (l *checker) packages(group string, kinds []string) []knowledge.Package {
	_, all := l.Base.Origin(group, kinds[0])
	for _, kind := range kinds[1:] {
		_, also := l.Base.Origin(group, kind)
		all = slices.DeleteFunc(all, func(p knowledge.Package) bool {
			return !slices.ContainsFunc(also, func(q knowledge.Package) bool { return q.Name == p.Name })
		})
	}
	return all
}

// subscribes reports whether the fleet installs operators from packages.
func (l *checker) subscribes() bool {
	return slices.ContainsFunc(l.Objects.Nodes, func(n graph.Node) bool { return n.Kind.Operator.Installs() })
}

// chartFor returns a chart that installs kinds of a group.
func (l *checker) chartFor(group string) string {
	for _, c := range l.Base.Charts() {
		if c.InstallsGroup(group) && !c.Manifests {
			return c.Name
		}
	}
	return ""
}

// unlessUnknownCharts names the missing sources that might install kinds for which no chart is
// known.
func (l *checker) unlessUnknownCharts(group string) string {
	var names []string
	for _, c := range l.missingSources() {
		if c.known == nil && !c.isApproximate && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	if names == nil || l.chartFor(group) != "" && !l.InPlace() {
		return ""
	}
	if l.InPlace() {
		return ", unless one of these unknown sources does: " + finding.Few(names)
	}
	return ", unless one of these unknown charts does: " + finding.Few(names)
}

// missingSource is a missing chart or file, and the Applications that deploy it.
type missingSource struct {
	ref   remote.Ref // of any version
	name  string
	files int // of the same repository, if it is a file
	known *knowledge.Chart
	users []*fleet.Application
	// plugin is the name of a plugin of Argo CD, whose sources are only known there.
	plugin        string
	isApproximate bool
}

// missingSources lists the missing sources, regardless of their version. Sources that Argo CD
// fetches are separate from those that the plugin fetches.
func (l *checker) missingSources() []missingSource {
	var all []missingSource
	for _, app := range l.Applications {
		for _, c := range app.MissingSources {
			ref := c.Ref
			ref.Version = ""
			name := cmp.Or(c.Name(), app.Component.Chart.Path)
			i := slices.IndexFunc(all, func(s missingSource) bool {
				same := s.ref == ref && s.plugin == c.Plugin && s.isApproximate == c.IsApproximate || ref.Kind == remote.File &&
					s.ref.Kind == remote.File && s.name == name
				return same && (l.InPlace() || s.users[0].IsChartMissing == app.IsChartMissing)
			})
			if !l.anywhere(app) {
				continue
			}
			if i < 0 {
				i = len(all)
				all = append(all, missingSource{ref: ref, name: name, known: c.Known, plugin: c.Plugin, isApproximate: c.IsApproximate})
			}
			if ref.Kind == remote.File && all[i].ref != ref {
				all[i].files++
			}
			if !slices.ContainsFunc(all[i].users, func(user *fleet.Application) bool { return user.Component == app.Component }) {
				all[i].users = append(all[i].users, app)
			}
		}
	}
	return all
}

// unknownChart returns the finding about a chart that Argo CD fetches and for which there is no record.
func (l *checker) unknownChart(c missingSource) fault {
	message, remedy := "unknown chart %s of %s, so the dependencies of %s are not checked",
		"run cmp vendor, or put the chart into this repository and name it as chart.path"
	what := []any{c.name, remote.Ref{URL: c.ref.URL}, finding.Few(namesOf(c.users))}
	if c.users[0].Component.Chart.Chart == "" {
		message, remedy, what = "the manifests of %s are not available here, so the dependencies of %s are not checked",
			"run cmp vendor, or put the manifests into this repository and name their directory as chart.path", what[1:]
	}
	f := l.at(finding.Note, c.users[0], fmt.Sprintf(message, what...), remedy)
	f.Line, f.About = c.users[0].Line("chart"), c.ref.String()
	return f
}

// notFetched finds the sources that the plugin has to fetch, and charts that Argo CD fetches and for
// which there is no record.
func (l *checker) notFetched() []fault {
	if l.InPlace() {
		return l.sourcesElsewhere()
	}
	var all []fault
	for _, c := range l.missingSources() {
		if c.users[0].IsChartMissing {
			if c.known == nil || c.known.Inferred {
				all = append(all, l.unknownChart(c))
			}
			continue
		}
		names, what := finding.Few(namesOf(c.users)), c.ref.String()
		if c.files > 0 {
			what = fmt.Sprintf("%s, with %s of %s,", what, finding.Counted(c.files, "other file"), c.name)
		}
		message := fmt.Sprintf("%s is neither fetched nor known, so the dependencies of %s on it are not checked", what, names)
		switch {
		case c.known != nil && c.known.Inferred:
			message = fmt.Sprintf("%s is neither fetched nor known; judging by its name, it provides kinds of %s to %s", what,
				strings.Join(c.known.Provides, ", "), names)
		case c.known != nil:
			message = fmt.Sprintf("%s is not fetched, so Ladder uses its built-in record of the chart to order %s", what, names)
		}
		remedy := "run cmp vendor " + path.Dir(c.users[0].File)
		if len(c.users) > 1 {
			remedy = "run cmp vendor for each of them"
		}
		f := l.at(finding.Warning, c.users[0], message, remedy+", or use --allow-remote if the plugin may fetch it")
		f.About = c.ref.String()
		all = append(all, f)
	}
	return all
}
