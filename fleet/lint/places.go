package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

func (l *checker) noStep() []fault {
	if l.hasNoSteps() {
		return []fault{{Finding: finding.Finding{Severity: finding.Error, File: l.Settings.File, Line: l.Settings.Line,
			Message: fmt.Sprintf("no component has a %s", l.Profile.Noun()),
			Remedy:  "run cmp fleet steps --write, which computes all of them"}}}
	}
	var all []fault
	for i, app := range l.Applications {
		if app.Step.Set || app.Failed {
			continue // the rendering error is reported first
		}
		key := l.Profile.Key
		if app.Part == crds.Only {
			key = "crdsPhase"
		}
		why := "the rollout does not select it"
		if l.Profile.Style == profile.Waves {
			why = "Argo CD uses wave 0"
		}
		remedy := "add " + key + ", such as " + key + ": " + quoted(l.Profile.Write(l.correctSteps[i]))
		if !l.isPlace(l.correctSteps[i]) {
			remedy = "add a later place for " + cmp.Or(app.Rung, app.Name) + " to the profile, and add " + key
		}
		fault, unplaced := steps.Unplaced(l.Profile, app)
		if unplaced { // there is no place, so no number can be suggested
			remedy = fault.Remedy
		}
		message := subject(app) + " has no " + l.Profile.Noun() + ", so " + why
		if !app.Described {
			message, remedy = subject(app)+" has no "+component.File+" and therefore no "+l.Profile.Noun()+": "+why,
				strings.Replace(remedy, "add ", "write one with ", 1)
		}
		found := l.at(finding.Error, app, message, remedy)
		found.Question = fault.Question
		all = append(all, found)
	}
	return all
}

// hasNoSteps reports whether a fleet has no steps yet: it has more than a few components, and
// none has a step.
func (l *checker) hasNoSteps() bool {
	const few = 3
	return len(l.Components) > few && !slices.ContainsFunc(l.Applications, func(app *fleet.Application) bool { return app.Step.Set })
}

// isPlace reports whether a component may be in a step: the profile has it, in a band.
func (l *checker) isPlace(step int) bool {
	band, inBand := l.Profile.Band(step)
	_, isPlace := l.Profile.Place(step)
	return len(l.Profile.Bands) == 0 || inBand && (isPlace || len(band.Places) == 0)
}

// subject names an Application at the start of a sentence. The name of a component may be any
// word.
func subject(app *fleet.Application) string {
	if app.Part == crds.Only {
		return "Application " + app.Name
	}
	return "component " + app.Name
}

// quoted formats a step so that YAML does not read it as an octal number.
func quoted(step string) string {
	if strings.HasPrefix(step, "0") && step != "0" {
		return `"` + step + `"`
	}
	return step
}

func (l *checker) noBand() []fault {
	var all []fault
	for i, app := range l.Applications {
		if _, in := l.Profile.Band(app.Step.Number); in || !app.Step.Set || len(l.Profile.Bands) == 0 {
			continue
		}
		all = append(all, l.outsideBand(finding.Error, i, l.step(app.Step.Number)+" is outside all bands"))
	}
	return all
}

// outsideBand returns a finding about a component outside the bands of its domain.
func (l *checker) outsideBand(severity finding.Severity, i int, message string) fault {
	app := l.Applications[i]
	f := l.at(severity, app, message, l.bandRemedy(i))
	if question := l.similarDomain(app.Component.DomainOrTier()); question != "" {
		f.Finding = f.Asking("correct the domain; " + question)
	}
	return f
}

// bandRemedy returns the remedy for a component outside the bands of its domain.
func (l *checker) bandRemedy(i int) string {
	app := l.Applications[i]
	if band, in := l.Profile.Band(l.correctSteps[i]); in && l.correctSteps[i] != app.Step.Number &&
		l.isPlace(l.correctSteps[i]) && !l.foreign(app, band) {
		return l.move(app, l.correctSteps[i], "")
	}
	var names []string
	for _, b := range l.bandsOf(app) {
		steps := l.Profile.Write(b.From)
		if b.To > b.From {
			steps += " to " + l.Profile.Write(b.To)
		}
		names = append(names, fmt.Sprintf("%s (%s)", b.Name, steps))
	}
	switch {
	case names == nil:
		return "correct the domain, or the domains of a band"
	case app.Component.DomainOrTier() == "":
		return "use a step of one of the bands " + strings.Join(names, ", ")
	}
	return "use a step of " + strings.Join(names, " or ") + ", or correct the domain"
}

// similarDomain suggests domains of the bands for an unknown one.
func (l *checker) similarDomain(domain string) string {
	var known []string
	for _, b := range l.Profile.Bands {
		known = append(known, b.Domains...)
	}
	if domain == "" || slices.Contains(known, domain) {
		return ""
	}
	return finding.Suggest(domain, known)
}

func (l *checker) noPlace() []fault {
	var all []fault
	for i, app := range l.Applications {
		band, in := l.Profile.Band(app.Step.Number)
		if _, isPlace := l.Profile.Place(app.Step.Number); isPlace || !in || !app.Step.Set || len(band.Places) == 0 {
			continue
		}
		var places []string
		for _, p := range band.Places {
			places = append(places, l.Profile.Write(p.Step))
		}
		all = append(all, l.at(finding.Error, app, fmt.Sprintf("band %s has no %s (only %s), so the rollout does not select %s",
			band.Name, l.step(app.Step.Number), finding.Few(places), subject(app)),
			l.moveRemedy(i, "use one of "+strings.Join(places, ", "))))
	}
	return all
}

// moveRemedy returns the remedy that names the correct step of an Application or, if there is
// none, another remedy.
func (l *checker) moveRemedy(i int, otherwise string) string {
	if p := l.correctSteps[i]; p != l.Applications[i].Step.Number && l.isPlace(p) {
		return l.move(l.Applications[i], p, "")
	}
	return otherwise
}

func (l *checker) emptyPlaces() []fault {
	if l.hasNoSteps() || slices.ContainsFunc(l.Components, func(c *fleet.Component) bool { return c.Unread }) {
		return nil
	}
	taken := map[int]bool{}
	for _, app := range l.Applications {
		taken[app.Step.Number] = taken[app.Step.Number] || app.Step.Set
	}
	var empty []string
	for _, p := range l.Profile.All() {
		if !taken[p.Step] {
			empty = append(empty, l.Profile.Write(p.Step))
		}
	}
	if len(empty) == 0 || len(l.Applications) == 0 {
		return nil
	}
	remedy := "remove them from the bands, unless you plan to add components to them"
	if len(l.Settings.Bands) == 0 {
		remedy = "to have fewer steps, list the bands that you use, with their places, under fleet.bands"
	}
	return []fault{{Finding: finding.Finding{Severity: finding.Note, File: l.Settings.File, Line: l.Settings.Line,
		Message: "these steps of the " + l.Profile.Name + " profile have no component, which does no harm: " +
			finding.First(empty, maxPlacesNamed), Remedy: remedy}}}
}

// maxPlacesNamed keeps a note on one line: a small fleet leaves most places of
// a large profile empty.
const maxPlacesNamed = 8

func (l *checker) placeOrder() []fault {
	var all []fault
	fault := func(field, message, remedy string) {
		all = append(all, fault{Finding: finding.Finding{Severity: finding.Warning, File: l.Settings.File, Line: l.Settings.Line,
			Field: field, Message: message, Remedy: remedy}})
	}
	numbers := func(field, what string, list []int) {
		for i := 1; i < len(list); i++ {
			switch {
			case slices.Contains(list[:i], list[i]):
				fault(field, fmt.Sprintf("%s %d is listed twice", what, list[i]), "keep one of the two")
			case list[i] < list[i-1]:
				fault(field, fmt.Sprintf("%s %d is listed after %d, but Ladder orders by number", what, list[i], list[i-1]),
					"list them in ascending order")
			}
		}
	}
	stepsOf := func(places []profile.Place, of func(profile.Place) int) []int {
		var list []int
		for _, p := range places {
			list = append(list, of(p))
		}
		return list
	}
	numbers("fleet.places", "the place at", stepsOf(l.Settings.Places, func(p profile.Place) int { return p.At }))
	known := l.Profile.Places
	for i, b := range l.Settings.Bands {
		field := fmt.Sprintf("fleet.bands[%d]", i)
		numbers(field+".at", "the place at", b.At)
		numbers(field+".places", "the place", stepsOf(b.Places, func(p profile.Place) int { return p.Step }))
		for _, at := range b.At {
			if !slices.ContainsFunc(known, func(p profile.Place) bool { return p.At == at }) {
				fault(field+".at", fmt.Sprintf("fleet.places does not define %d, so band %s cannot use it", at, b.Name),
					fmt.Sprintf("define %d under fleet.places, or remove it from the band", at))
			}
		}
	}
	return all
}

// rungDescriptions describe components by their rung, as predicates.
var rungDescriptions = map[string]string{
	"namespaces": "contains Namespaces", "crds": "contains CRDs", knowledge.Controllers: "is an operator",
	"secrets": "contains secrets", "configs": "contains configuration",
	"workloads": "contains workloads", knowledge.Bootstraps: "contains bootstrap objects", "exposure": "exposes other components",
	knowledge.Smokes: "is a smoke test",
}

func (l *checker) wrongPlace() []fault {
	var all []fault
	for i, app := range l.Applications {
		place, isPlace := l.Profile.Place(app.Step.Number)
		if !isPlace || !app.Step.Set || l.acceptsRung(app, place) || !l.hasPlaceForRung(app) {
			continue
		}
		all = append(all, l.at(finding.Warning, app,
			fmt.Sprintf("%s %s (%s), but %s is for %s", subject(app), cmp.Or(rungDescriptions[app.Rung], "is for "+app.Rung),
				app.RungWhy, l.step(place.Step), cmp.Or(place.Title, strings.Join(place.Rungs, ", "))),
			l.moveRemedy(i, "move it to a place for "+app.Rung)))
	}
	return all
}

// hasPlaceForRung reports whether the bands of an Application have a place for its rung. If they
// have none, its current place is as good.
func (l *checker) hasPlaceForRung(app *fleet.Application) bool {
	return slices.ContainsFunc(l.bandsOf(app), func(b profile.Band) bool {
		return slices.ContainsFunc(b.Places, func(p profile.Place) bool { return l.acceptsRung(app, p) })
	})
}

// bandsOf returns the bands that an Application may be in.
func (l *checker) bandsOf(app *fleet.Application) []profile.Band {
	return steps.BandsOf(l.Profile, app)
}

// acceptsRung reports whether an Application belongs in a place, as far as its rung is known.
func (l *checker) acceptsRung(app *fleet.Application, place profile.Place) bool {
	return app.Rung == "" || place.Accepts(app.Rung)
}

func (l *checker) bundled() []fault {
	var all []fault
	for i, app := range l.Applications {
		crdObjects, rest := crds.Split(app.Objects)
		place, isPlace := l.Profile.Place(app.Step.Number)
		if len(crdObjects) == 0 || len(rest) == 0 || !isPlace || place.Accepts("crds") {
			continue
		}
		var names []string
		for _, d := range crdObjects {
			names = append(names, d.ID.Name)
		}
		remedy := "write crds: split"
		if p, ok := l.crdsStep(app, l.correctSteps[i]); ok {
			remedy += " and crdsPhase: " + quoted(l.Profile.Write(p))
		}
		remedy += " in its component.yaml, which deploys the CRDs as a separate Application"
		if holder := l.crdsHolder(app, crdObjects); holder != nil {
			remedy = "set crds: skip, because " + holder.Name + " contains them"
		}
		f := l.at(finding.Warning, app, fmt.Sprintf("%s in %s contains CRDs (%s): components in earlier steps cannot use these CRDs, "+
			"and an update changes the CRDs together with the objects that use them",
			subject(app), l.step(app.Step.Number), finding.Few(names)), remedy)
		f.Object = crdObjects[0].ID.String()
		all = append(all, f)
	}
	return all
}

// crdsHolder returns another Application that is for CRDs and contains all of these.
func (l *checker) crdsHolder(app *fleet.Application, crdObjects []object.Object) *fleet.Application {
	for _, other := range l.Applications {
		if other == app || other.Rung != "crds" || !l.together(app, other) {
			continue
		}
		isMissing := slices.ContainsFunc(crdObjects, func(d object.Object) bool {
			return !slices.ContainsFunc(other.Objects, func(o object.Object) bool { return crds.Is(o) && o.ID.Name == d.ID.Name })
		})
		if !isMissing {
			return other
		}
	}
	return nil
}

// crdsStep returns the step for the CRDs of an Application in a step: the last earlier step for
// CRDs in its bands.
func (l *checker) crdsStep(app *fleet.Application, step int) (int, bool) {
	at, found := 0, false
	for _, b := range l.bandsOf(app) {
		for _, p := range b.Places {
			if p.Accepts("crds") && len(p.Rungs) > 0 && p.Step < step {
				at, found = p.Step, true
			}
		}
	}
	return at, found
}

func (l *checker) foreignBand() []fault {
	var all []fault
	for i, app := range l.Applications {
		domain := app.Component.DomainOrTier()
		band, in := l.Profile.Band(app.Step.Number)
		if !in || !app.Step.Set || !l.foreign(app, band) {
			continue
		}
		all = append(all, l.outsideBand(finding.Warning, i,
			fmt.Sprintf("%s is in domain %s, but %s belongs to band %s, which is only for domain %s", subject(app), domain,
				l.step(app.Step.Number), band.Name, strings.Join(band.Domains, " or "))))
	}
	return all
}

// foreign reports whether a band is for other domains than that of the Application.
func (l *checker) foreign(app *fleet.Application, band profile.Band) bool {
	domain := app.Component.DomainOrTier()
	return domain != "" && len(band.Domains) > 0 && !slices.Contains(band.Domains, domain)
}
