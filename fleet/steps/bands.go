package steps

import (
	"fmt"
	"maps"

	"github.com/ladder-cmp/ladder/component"
)

// A domain may have several bands, and a place may accept components that it is not for. Which of
// these a component belongs to is the choice of its owners, which no manifest shows: they may have
// put an extra behind the platform so that it does not delay it.

// chosenPlace is what the owners of an Application chose.
type chosenPlace struct {
	// from is the first step of the band, or the step of the place.
	from int
	// earliest is the step that would be possible in another one; its name and that of the choice
	// are for texts.
	earliest        component.Step
	possible, named string
}

// chosenPlaces returns the Applications whose computed step is in an earlier band than the one that
// is set, or in a place for another purpose, although no dependent is before it. With every, it
// returns all whose computed step is earlier.
func (p *Plan) chosenPlaces(every bool) map[int]chosenPlace {
	all := map[int]chosenPlace{}
	for i, row := range p.Steps {
		if !row.Step.Set || !row.Computed.Set || row.Computed.Number >= row.Step.Number || p.HasEarlierDependent(i) {
			continue
		}
		profile := p.fleet.Profile
		band, ok := profile.Band(row.Step.Number)
		place, isPlace := profile.Place(row.Step.Number)
		if !ok || !isPlace || !place.Accepts(row.Rung) {
			continue // not a choice, but a step that is wrong
		}
		computed, _ := profile.Place(row.Computed.Number)
		isPurpose := func(rungs []string) bool { return len(rungs) > 0 && rungs[0] == row.Rung }
		c := chosenPlace{earliest: row.Computed, possible: profile.StepName(row.Computed.Number)}
		switch {
		case row.Computed.Number < band.From:
			c.from, c.named = band.From, "band "+band.Name
		case every || isPurpose(place.Rungs) && !isPurpose(computed.Rungs):
			c.from, c.named = row.Step.Number, profile.StepName(row.Step.Number)
		default:
			continue
		}
		all[i] = c
	}
	return all
}

// explain says in the row of an Application what else would be possible. It does nothing to others.
func (c chosenPlace) explain(row *ComputedStep) {
	if c.named != "" && row.Computed.Number == row.Step.Number {
		row.Earliest = c.earliest
		row.Why = fmt.Sprintf("it could be in %s, but its owners chose %s", c.possible, c.named)
	}
}

// release removes the choices that leave no step for an Application which has one without them, and
// reports whether there are any.
func (p *Plan) release(chosen map[int]chosenPlace, without *Plan) bool {
	out := outgoing(p.fleet, without.dependencies)
	released := false
	for i, row := range p.Steps {
		if row.Computed.Set || !without.Steps[i].Computed.Set {
			continue
		}
		before := len(chosen)
		maps.DeleteFunc(chosen, func(j int, _ chosenPlace) bool { return i == j || chain(out, i, j, false) != nil })
		if len(chosen) == before {
			clear(chosen)
		}
		released = true
	}
	return released
}
