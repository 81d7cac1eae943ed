package fleet

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet/profile"
)

// MissingDependency is a certain dependency that nothing satisfies.
type MissingDependency struct {
	Application *Application
	reason      Reason
}

// String describes the missing dependency and its reason.
func (l MissingDependency) String() string {
	where := "is disabled"
	if l.Application.IsEnabled() {
		where = "is not deployed there"
	}
	return l.Application.Name + ", which " + where + ", because " + l.reason.Located()
}

// MissingIn returns the Applications with a certain dependency that is not deployed in an
// environment, unless the owners of the fleet accept that.
func (f *Fleet) MissingIn(environment string) map[*Application]MissingDependency {
	all := map[*Application]MissingDependency{}
	for _, l := range f.Links {
		app, to := f.Applications[l.From], f.Applications[l.To]
		reason, _, sure := f.Unmet(l, []string{environment})
		accepted := slices.ContainsFunc(f.Settings.Accepted, func(a profile.Accepted) bool {
			return a.Rule == NeedsDisabled && a.Component == app.Name && (a.Needs == "" || a.Needs == to.Name)
		})
		if _, known := all[app]; sure && !accepted && !known {
			all[app] = MissingDependency{to, reason}
		}
	}
	return all
}

// Unmet returns the environments in which an Application is deployed without a dependency, and
// the strongest reason. An environment with another Application that contains the same object
// does not count, nor do dependencies that are only calls.
func (f *Fleet) Unmet(l Link, among []string) (strongest Reason, environments []string, sure bool) {
	app, to := f.Applications[l.From], f.Applications[l.To]
	for _, e := range among {
		if !Deployed(app, e) || Deployed(to, e) {
			continue
		}
		for _, r := range l.Reasons {
			if r.Strength < Exists || r.IsNamespace() || f.isInAnother(l.From, r, e) {
				continue
			}
			if environments == nil {
				strongest = r
			}
			sure = sure || !r.Inferred && !isForLaterObjects(r)
			environments = append(environments, e)
			break
		}
	}
	return strongest, environments, sure
}

// isForLaterObjects reports whether a dependency is the CRD of objects that are created later.
func isForLaterObjects(r Reason) bool {
	return r.Strength == Exists && r.To.Kind == "CustomResourceDefinition"
}

// isInAnother reports whether another deployed Application contains the same object, or
// one that satisfies the field as well.
func (f *Fleet) isInAnother(from int, r Reason, environment string) bool {
	return slices.ContainsFunc(f.Links, func(l Link) bool {
		return l.From == from && Deployed(f.Applications[l.To], environment) && slices.ContainsFunc(l.Reasons, func(o Reason) bool {
			return o.From == r.From && o.Field == r.Field && (o.To == r.To || r.Inferred)
		})
	})
}
