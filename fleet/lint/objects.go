package lint

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

func (l *checker) sameName() []fault {
	if l.InPlace() {
		return l.severalInstallations()
	}
	var all []fault
	first := map[string]*fleet.Application{}
	for _, app := range l.Applications {
		other, seen := first[app.Name]
		if !seen {
			first[app.Name] = app
			continue
		}
		if !slices.ContainsFunc(l.environments, func(e string) bool { return app.IsIn(e) && other.IsIn(e) }) {
			continue
		}
		f := l.at(finding.Error, app, "the name "+app.Name+" is also used by "+other.File+", and only one Application can have it",
			"rename one of the two")
		f.Line, f.Field = app.Line("name"), "name"
		if !app.IsEnabled() || !other.IsEnabled() {
			f.Severity = finding.Warning
		}
		all = append(all, f)
	}
	return all
}

// settings returns the findings about the names and files of components, each with its rule.
func (l *checker) settings() []fault {
	return l.each(func(app *fleet.Application) []finding.Finding {
		if !l.anywhere(app) {
			return nil
		}
		return append(NameFaults(app, app.Name), settingFaultsIn(l.Fleet, app)...)
	})
}

func (l *checker) sameCRD() []fault {
	const remedy = "keep it in one of the two, and set crds: skip in the other"
	return append(l.shared(func(o object.Object) bool { return crds.Is(o) }, overwrites, remedy), l.sameChart()...)
}

// overwrites says what happens to a CRD in two Applications.
const overwrites = "each sync of one overwrites what the other applied"

// sameChart finds charts that are not available, install CRDs according to their records, and are
// deployed by two Applications. Charts whose records differ may leave their CRDs to each other.
func (l *checker) sameChart() []fault {
	var all []fault
	first := map[string][]*fleet.Application{}
	for _, app := range l.Applications {
		for _, c := range app.MissingSources {
			skipped := c.SkipsCRDs || app.Component.Chart.SkipCRDs || crds.Mode(app.CRDs) == crds.Skip
			if c.Known == nil || c.Known.Inferred || c.Known.Manifests || skipped || !c.Known.ShipsCRDs() {
				continue
			}
			name := c.Known.Name
			i := slices.IndexFunc(first[name], func(other *fleet.Application) bool {
				return other.Component != app.Component &&
					l.together(other, app)
			})
			if i >= 0 {
				other := first[name][i]
				found := l.at(finding.Warning, app,
					fmt.Sprintf("%s and %s both deploy the %s chart, which has the CRDs of %s unless its values leave them out: %s",
						other.Name, app.Name, name, finding.Few(c.Known.Provides), overwrites), "leave them out of one of the two").with(other)
				found.About = name
				all = append(all, found)
			}
			first[name] = append(first[name], app)
		}
	}
	return all
}

func (l *checker) sameObject() []fault {
	all := l.shared(func(o object.Object) bool { return !crds.Is(o) },
		"each takes it over from the other, so one of them is always OutOfSync, and the rollout stops there", "keep it in one of the two")
	for _, c := range collisions(l.Fleet, l.environments) {
		found := c.fault()
		if len(l.environments) > 1 { // the message names those that share
			found.messageIn = nil
		}
		all = append(all, found)
	}
	return all
}

// shared finds objects in two Applications that are deployed together: one finding for each
// pair.
func (l *checker) shared(isIncluded func(object.Object) bool, why, remedy string) []fault {
	type pair struct{ a, b int }
	var pairs []pair
	both := map[pair][]object.ID{}
	first := map[object.ID][]int{}
	for _, n := range l.Objects.Nodes {
		if n.IsHook() || n.Generated || n.Stub || !isIncluded(n.Object) {
			continue
		}
		for _, other := range first[n.Key] {
			p := pair{other, n.Part}
			if other == n.Part || !l.together(l.Applications[other], l.Applications[n.Part]) {
				continue
			}
			if both[p] == nil {
				pairs = append(pairs, p)
			}
			if !slices.Contains(both[p], n.Key) {
				both[p] = append(both[p], n.Key)
			}
		}
		first[n.Key] = append(first[n.Key], n.Part)
	}
	var all []fault
	for _, p := range pairs {
		remedy := remedy
		a, b := l.Applications[p.a], l.Applications[p.b]
		first, second := a.Name, b.Name
		if first == second {
			first, second = a.Name+" of "+a.Dir, b.Name+" of "+b.Dir
		}
		var names []string
		for _, id := range both[p] {
			names = append(names, id.String())
		}
		if id := both[p][0]; id.Kind == "CustomResourceDefinition" && a.Rung != b.Rung && (a.Rung == "crds" || b.Rung == "crds") {
			holder, other := a, b
			if b.Rung == "crds" {
				holder, other = b, a
			}
			remedy = "keep it in " + holder.Name + ", and write crds: skip in " + other.File
		}
		f := l.at(finding.Error, b, fmt.Sprintf("%s and %s both contain %s: %s", first, second, finding.Few(names), why), remedy).with(a)
		f.Object = names[0]
		all = append(all, f)
	}
	return all
}

// onlyHooks returns findings about Applications that contain only hooks. Argo CD compares the
// cluster only with objects that are not hooks. An Application that contains only hooks is
// therefore always in sync, so neither a step nor an automated sync ever syncs it, and its hooks
// never run. (Observed with the controllers of v3.5.7; e2e's TestRollout expects a sync of
// each.)
func (l *checker) onlyHooks() []fault {
	var all []fault
	for _, app := range l.Applications {
		if len(app.Objects) == 0 || !l.anywhere(app) ||
			slices.ContainsFunc(app.Objects, func(o object.Object) bool { return !o.IsHook() }) {
			continue
		}
		f := l.at(finding.Warning, app, fmt.Sprintf(
			"component %s contains only hooks, such as %s: Argo CD reports it as Synced before they have run, so automated sync never runs them",
			app.Name, app.Objects[0].ID),
			"add an object that is not a hook and changes with them, such as a ConfigMap with their script")
		f.Object = app.Objects[0].ID.String()
		all = append(all, f)
	}
	return all
}
