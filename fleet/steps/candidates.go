package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// candidateStep is a step that an Application may be in. In a band without places, it is the
// whole band.
type candidateStep struct {
	from, to int
	band     string
	title    string
}

// candidates are the steps that an Application may be in, regardless of its dependencies.
type candidates struct {
	steps []candidateStep
	// earliest is the first step to use. keeps is true if that is the step that is set.
	earliest int
	keeps    bool
	// why is the reason for its first place.
	why   string
	fault finding.Finding
}

// first returns the earliest step that is not before another one.
func (s candidates) first(bound int) (int, candidateStep, bool) {
	bound = max(bound, s.earliest)
	for _, sp := range s.steps {
		if sp.to >= bound {
			return max(sp.from, bound), sp, true
		}
	}
	return 0, candidateStep{}, false
}

// lowest is before all steps.
const lowest = -1 << 30

// candidatesFor returns the steps for an Application: the places in its bands that are for its
// rung.
func candidatesFor(p profile.Profile, app *fleet.Application, opt Options) candidates {
	if opt.OnlyMissing && app.Step.Set {
		return candidates{steps: []candidateStep{stepAt(p, app.Step.Number)}, earliest: lowest, why: "its step is set"}
	}
	bands := BandsOf(p, app)
	s := candidates{earliest: lowest}
	var names []string
	var inAnyBand []candidateStep
	for _, b := range bands {
		names = append(names, b.Name)
		all := stepsOf(b)
		inAnyBand = append(inAnyBand, all...)
		for i, sp := range all {
			if app.Rung != "" && (len(b.Places) == 0 || b.Places[i].Accepts(app.Rung)) {
				s.steps = append(s.steps, sp)
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
	case len(s.steps) > 0 && s.steps[0].from < s.steps[0].to:
		// The numbers only define an order.
		s.why = "the steps " + where + " have no special meaning"
		if app.Step.Set && slices.ContainsFunc(s.steps,
			func(sp candidateStep) bool { return sp.from <= app.Step.Number && app.Step.Number <= sp.to }) {
			s.earliest, s.keeps = app.Step.Number, true
			s.why += ", so it keeps its own"
		}
	case len(s.steps) > 0:
		s.why = fmt.Sprintf("first step for %s %s: %s", app.Rung, where, app.RungWhy)
	case app.Step.Set && app.Rung == "":
		s.steps, s.earliest, s.why = fromCurrentStep(p, app, inAnyBand), app.Step.Number, "its purpose is unknown, so it keeps its step"
	case app.Step.Set:
		s.steps, s.earliest = fromCurrentStep(p, app, inAnyBand), app.Step.Number
		s.why = fmt.Sprintf("no place %s is for %s, so it keeps its step", where, app.Rung)
		s.fault = unplaced(app, finding.Warning, fmt.Sprintf("its rung is %s (%s), but no place %s accepts this rung", app.Rung,
			app.RungWhy, where), "add a place to the profile, or change its domain")
	case len(bands) == 0 && app.Component.DomainOrTier() == "":
		s.fault = unplaced(app, finding.Error, "it has no step and no domain, so its band is unknown", nameDomain(p, app))
	case len(bands) == 0:
		s.fault = unplaced(app, finding.Error, fmt.Sprintf("it has no step, and no band is for its domain %s",
			app.Component.DomainOrTier()),
			"use a domain of a band in the profile, or add a band to it").Asking(finding.Suggest(app.Component.DomainOrTier(), domains(p)))
	case app.Rung == "":
		s.fault = unplaced(app, finding.Error, "it has no step, and its purpose is unknown", "set its "+p.Key)
	case app.Component.DomainOrTier() == "" && len(domainsFor(p, app)) > 0:
		s.fault = unplaced(app, finding.Error, fmt.Sprintf("it has no domain, and no place %[3]s is for %[1]s (%[2]s)", app.Rung,
			app.RungWhy, where), nameDomain(p, app))
	default:
		s.fault = unplaced(app, finding.Error, fmt.Sprintf("its rung is %s (%s), but no place %s accepts this rung", app.Rung,
			app.RungWhy, where), "add a place to the profile, or change its domain")
	}
	return s
}

// Unplaced returns the fault of an Application without a step that has no place in a profile.
func Unplaced(p profile.Profile, app *fleet.Application) (fault finding.Finding, is bool) {
	s := candidatesFor(p, app, Options{})
	return s.fault, s.fault.Message != ""
}

// domainsFor returns the domains whose bands have a place for the rung of an Application.
func domainsFor(p profile.Profile, app *fleet.Application) []string {
	var all []string
	for _, b := range p.Bands {
		for i := range stepsOf(b) {
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
	return finding.Finding{Severity: severity, Rule: appset.NoStep, File: a.File, Line: a.Line(a.StepKey()), Object: a.Name,
		Message: message, Remedy: remedy}
}

// BandsOf lists the bands for an Application: those of its domain. A step that is set selects a
// band that is open to any domain, and the band of a component whose domain has none.
func BandsOf(p profile.Profile, app *fleet.Application) []profile.Band {
	if len(p.Bands) == 0 {
		return []profile.Band{{Name: "the rollout", From: min(0, app.Step.Number), To: component.MaxStep}}
	}
	bands := p.BandsOf(app.Component.DomainOrTier())
	set, ok := p.Band(app.Step.Number)
	if !app.Step.Set || !ok || slices.ContainsFunc(bands, func(b profile.Band) bool { return b.Name == set.Name && b.From == set.From }) {
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

// stepsOf lists the places of a band, in order.
func stepsOf(b profile.Band) []candidateStep {
	if len(b.Places) == 0 {
		return []candidateStep{{b.From, b.To, b.Name, ""}}
	}
	var all []candidateStep
	for _, place := range b.Places {
		all = append(all, candidateStep{place.Step, place.Step, b.Name, place.Title})
	}
	return all
}

// stepAt returns the place at a step, whether the profile has it or not.
func stepAt(p profile.Profile, step int) candidateStep {
	band, _ := p.Band(step)
	place, _ := p.Place(step)
	return candidateStep{step, step, band.Name, place.Title}
}

// fromCurrentStep returns the places for an Application that keeps its step if possible: that
// step, and later ones.
func fromCurrentStep(p profile.Profile, app *fleet.Application, steps []candidateStep) []candidateStep {
	own := stepAt(p, app.Step.Number)
	all := []candidateStep{own}
	for _, sp := range steps {
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
