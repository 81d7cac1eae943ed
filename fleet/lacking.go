package fleet

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/profile"
)

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
	return l.Of.Name + ", which " + where + ", because " + l.reason.Located()
}

// Lacking returns the Applications with a certain dependency that is not deployed in an
// environment, unless the owners of the fleet accept that.
func (f *Fleet) Lacking(environment string) map[*Application]Lack {
	all := map[*Application]Lack{}
	for _, l := range f.Links {
		app, to := f.Applications[l.From], f.Applications[l.To]
		reason, _, sure := f.Unmet(l, []string{environment})
		accepted := slices.ContainsFunc(f.Settings.Accepted, func(a profile.Accepted) bool {
			return a.Rule == NeedsDisabled && a.Component == app.Name && (a.Needs == "" || a.Needs == to.Name)
		})
		if _, known := all[app]; sure && !accepted && !known {
			all[app] = Lack{to, reason}
		}
	}
	return all
}

// Unmet returns the environments in which an Application is deployed, but neither its dependency
// nor another Application with the same object, with the strongest reason. Calls do not count.
func (f *Fleet) Unmet(l Link, among []string) (strongest Reason, environments []string, sure bool) {
	app, to := f.Applications[l.From], f.Applications[l.To]
	for _, e := range among {
		if !Deployed(app, e) || Deployed(to, e) {
			continue
		}
		for _, r := range l.Reasons {
			if r.Strength < Exists || r.IsNamespace() || f.instead(l.From, r, e) {
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

// later reports whether a dependency is the CRD of objects that are created later.
func later(r Reason) bool { return r.Strength == Exists && r.To.Kind == "CustomResourceDefinition" }

// instead reports whether another deployed Application contains the same object, or one that
// satisfies the field as well.
func (f *Fleet) instead(from int, r Reason, environment string) bool {
	return slices.ContainsFunc(f.Links, func(l Link) bool {
		return l.From == from && Deployed(f.Applications[l.To], environment) && slices.ContainsFunc(l.Reasons, func(o Reason) bool {
			return o.From == r.From && o.Field == r.Field && (o.To == r.To || r.Inferred)
		})
	})
}
