package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
)

// spot is a place for an Application. In a band without places, it is the whole band.
type spot struct {
	from, to int
	band     string
	title    string
}

// stand contains the places for an Application, regardless of its dependencies.
type stand struct {
	spots []spot
	// least is the earliest step to use.
	least int
	// why is the reason for its first place.
	why   string
	fault finding.Finding
}

// first returns the earliest step that is not before another one.
func (s stand) first(bound int) (int, spot, bool) {
	bound = max(bound, s.least)
	for _, sp := range s.spots {
		if sp.to >= bound {
			return max(sp.from, bound), sp, true
		}
	}
	return 0, spot{}, false
}

// lowest is before all steps.
const lowest = -1 << 30

// standOf returns the places for an Application: those in its bands that are for its rung.
func standOf(p profile.Profile, app *fleet.Application, opt Options) stand {
	if opt.OnlyMissing && app.Phase.Set {
		return stand{spots: []spot{spotAt(p, app.Phase.Number)}, least: lowest, why: "its step is set"}
	}
	bands := bandsOf(p, app)
	s := stand{least: lowest}
	var names []string
	var anywhere []spot
	for _, b := range bands {
		names = append(names, b.Name)
		all := spotsOf(b)
		anywhere = append(anywhere, all...)
		for i, sp := range all {
			if app.Rung != "" && (len(b.Places) == 0 || b.Places[i].Accepts(app.Rung)) {
				s.spots = append(s.spots, sp)
			}
		}
	}
	where := "in " + strings.Join(names, " and ")
	if len(bands) == 0 {
		where = strings.TrimSpace("of a band for " + cmp.Or(app.Component.DomainOrTier(), "all"))
	}
	if len(p.Bands) == 0 {
		where = "in a profile without bands"
	}
	switch {
	case len(s.spots) > 0 && s.spots[0].from < s.spots[0].to:
		// The numbers only define an order.
		s.why = "the steps " + where + " have no special meaning"
		if app.Phase.Set && slices.ContainsFunc(s.spots, func(sp spot) bool { return sp.from <= app.Phase.Number && app.Phase.Number <= sp.to }) {
			s.least = app.Phase.Number
			s.why += ", so it keeps its own"
		}
	case len(s.spots) > 0:
		s.why = fmt.Sprintf("first step for %s %s: %s", app.Rung, where, app.RungWhy)
	case app.Phase.Set && app.Rung == "":
		s.spots, s.least, s.why = kept(p, app, anywhere), app.Phase.Number, "its purpose is unknown, so it keeps its step"
	case app.Phase.Set:
		s.spots, s.least = kept(p, app, anywhere), app.Phase.Number
		s.why = fmt.Sprintf("no place %s is for %s, so it keeps its step", where, app.Rung)
		s.fault = unplaced(app, finding.Warning, fmt.Sprintf("its rung is %s (%s), but no place %s accepts this rung", app.Rung, app.RungWhy, where), "add a place to the profile, or change its domain")
	case len(bands) == 0 && app.Component.DomainOrTier() == "":
		s.fault = unplaced(app, finding.Error, "it has no step and no domain, so its band is unknown", nameDomain(p, app))
	case len(bands) == 0:
		s.fault = unplaced(app, finding.Error, fmt.Sprintf("it has no step, and no band is for its domain %s", app.Component.DomainOrTier()), "use one of "+strings.Join(domains(p), ", ")+", or add a band to the profile")
	case app.Rung == "":
		s.fault = unplaced(app, finding.Error, "it has no step, and its purpose is unknown", "set its "+p.Key)
	case app.Component.DomainOrTier() == "" && len(domainsFor(p, app)) > 0:
		s.fault = unplaced(app, finding.Error, fmt.Sprintf("it has no domain, and no place %[3]s is for %[1]s (%[2]s)", app.Rung, app.RungWhy, where), nameDomain(p, app))
	default:
		s.fault = unplaced(app, finding.Error, fmt.Sprintf("its rung is %s (%s), but no place %s accepts this rung", app.Rung, app.RungWhy, where), "add a place to the profile, or change its domain")
	}
	return s
}

// Unplaced returns the fault of an Application without a step that has no place in a profile.
func Unplaced(p profile.Profile, app *fleet.Application) (fault finding.Finding, is bool) {
	s := standOf(p, app, Options{})
	return s.fault, s.fault.Message != ""
}

// domainsFor returns the domains whose bands have a place for the rung of an Application.
func domainsFor(p profile.Profile, app *fleet.Application) []string {
	var all []string
	for _, b := range p.Bands {
		for i := range spotsOf(b) {
			if app.Rung != "" && (len(b.Places) == 0 || b.Places[i].Accepts(app.Rung)) {
				all = append(all, b.Domains...)
				break
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nameDomain returns the remedy for an Application without a domain.
func nameDomain(p profile.Profile, app *fleet.Application) string {
	names := domainsFor(p, app)
	if len(names) == 0 {
		names = domains(p)
	}
	if len(names) == 0 {
		return "set its " + p.Key
	}
	return "add domain: to its " + component.File + ", one of " + strings.Join(names, ", ")
}

func unplaced(a *fleet.Application, severity finding.Severity, message, remedy string) finding.Finding {
	return finding.Finding{Severity: severity, Rule: "no-place", File: a.File, Line: a.Line(a.StepKey()), Object: a.Name, Message: message, Remedy: remedy}
}

// bandsOf lists the bands for an Application: those of its domain. A step that is set selects
// a band that is open to any domain, and the band of a component whose domain has none.
func bandsOf(p profile.Profile, app *fleet.Application) []profile.Band {
	if len(p.Bands) == 0 {
		return []profile.Band{{Name: "the rollout", From: min(0, app.Phase.Number), To: component.MaxStep}}
	}
	bands := p.BandsOf(app.Component.DomainOrTier())
	set, ok := p.Band(app.Phase.Number)
	if !app.Phase.Set || !ok || slices.ContainsFunc(bands, func(b profile.Band) bool { return b.Name == set.Name && b.From == set.From }) {
		return bands
	}
	theirs := slices.ContainsFunc(bands, func(b profile.Band) bool { return len(b.Domains) > 0 })
	if len(set.Domains) > 0 && theirs {
		return bands
	}
	bands = append(slices.Clone(bands), set)
	slices.SortFunc(bands, func(x, y profile.Band) int { return cmp.Compare(x.From, y.From) })
	return bands
}

// spotsOf lists the places of a band, in order.
func spotsOf(b profile.Band) []spot {
	if len(b.Places) == 0 {
		return []spot{{b.From, b.To, b.Name, ""}}
	}
	var all []spot
	for _, place := range b.Places {
		all = append(all, spot{place.Phase, place.Phase, b.Name, place.Title})
	}
	return all
}

// spotAt returns the place at a step, whether the profile has it or not.
func spotAt(p profile.Profile, phase int) spot {
	band, _ := p.Band(phase)
	place, _ := p.Place(phase)
	return spot{phase, phase, band.Name, place.Title}
}

// kept returns the places for an Application that keeps its step if possible: that step, and
// later ones.
func kept(p profile.Profile, app *fleet.Application, spots []spot) []spot {
	own := spotAt(p, app.Phase.Number)
	all := []spot{own}
	for _, sp := range spots {
		if sp.from > own.from {
			all = append(all, sp)
		}
	}
	return all
}

// domains lists the domains that have a band.
func domains(p profile.Profile) []string {
	var all []string
	for _, b := range p.Bands {
		for _, d := range b.Domains {
			if !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	return all
}
