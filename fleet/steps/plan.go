// Package steps computes the steps in which the Applications of a fleet are rolled out.
//
// The step of an Application follows from its rung, the bands of its domain, and its dependencies.
// Nothing else decides it, so computing the steps again from the written ones returns the same.
package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Plan contains the earliest possible steps of the Applications of a fleet.
type Plan struct {
	// Places has an entry for each Application, in the order of the fleet.
	Places []Placed
	// Findings are cycles, Applications without a place, and inferred dependencies that were
	// ignored.
	Findings []finding.Finding

	fleet *fleet.Fleet
	// needs are the dependencies that the steps satisfy.
	needs []Need
}

// Placed is the computed step of an Application.
type Placed struct {
	*fleet.Application
	// Computed is the earliest step; it is not set if there is none.
	Computed component.Step
	// Band and Title are the band and the title of the place.
	Band, Title string
	// Why is the reason why it is not an earlier step.
	Why string
	// After is the index of the Application that it waits for; -1 if it is in the first place
	// for its rung.
	After int
	// Earliest is the earliest possible step if a later one is intended; otherwise it is not
	// set.
	Earliest component.Step
	// Late names an Application that certainly depends on this one and is in an earlier step,
	// by the steps that are set; empty if there is none.
	Late string
}

// Options select what is computed.
type Options struct {
	// OnlyMissing keeps the steps that are set.
	OnlyMissing bool
	// Intended has the earliest possible step of Applications, by index, that keep a later one:
	// their owners chose it, and no other Application waits for them.
	Intended map[int]component.Step
}

// Compute computes the earliest step of every Application from its rung, the bands of its domain
// and its dependencies. The result does not depend on the order of the input, and computing it
// again from the written steps returns the same steps.
func Compute(f *fleet.Fleet, opt Options) *Plan {
	all := Needs(f)
	for i, n := range all {
		all[i].Later = n.Later && !besides(f, n)
	}
	all = append(all, tested(f, all)...)
	order := Order(f, all)
	p := &Plan{fleet: f, needs: order.Kept, Findings: order.faults}
	for _, n := range order.dropped {
		p.passedOver(n, "that would create a cycle")
	}
	if opt.OnlyMissing { // what is set stands where it stands
		p.needs = slices.DeleteFunc(slices.Clone(order.Kept), func(n Need) bool { return f.Applications[n.From].Phase.Set })
	}
	stands := make([]stand, len(f.Applications))
	for i, app := range f.Applications {
		stands[i] = standOf(f.Profile, app, opt)
		if _, intended := opt.Intended[i]; intended {
			stands[i].least = app.Phase.Number
		}
		if stands[i].fault.Message != "" {
			p.Findings = append(p.Findings, stands[i].fault)
		}
	}
	placed := p.settle(stands)
	for i, app := range f.Applications {
		p.Places = append(p.Places, p.explain(i, app, stands, placed))
		if earliest, intended := opt.Intended[i]; intended && p.Places[i].Computed.Number == app.Phase.Number {
			p.Places[i].Earliest, p.Places[i].After = earliest, -1
			p.Places[i].Why = "it could be in " + p.fleet.Profile.StepName(earliest.Number) + ", which would not make the rollout faster"
		}
	}
	for _, n := range order.broken {
		p.Places[n.From].Why += fmt.Sprintf("; without its dependency on %s, which is part of a cycle", f.Applications[n.To].Name)
	}
	if opt.OnlyMissing {
		p.overtaken(order.Kept)
	}
	finding.Sort(p.Findings)
	return p
}

// besides reports whether the owners accept that an Application is in the same step as one
// that it depends on.
func besides(f *fleet.Fleet, n Need) bool {
	return f.Accepted(fleet.SameStep, f.Applications[n.From].Name, f.Applications[n.To].Name) >= 0
}

// at is the step of an Application while steps are computed.
type at struct {
	phase int
	spot  spot
	ok    bool
}

// settle computes the earliest steps that satisfy all dependencies. It ignores inferred ones
// that leave no place.
func (p *Plan) settle(stands []stand) []at {
	for {
		placed := p.least(stands)
		var homeless []int
		for i := range stands {
			if !placed[i].ok && len(stands[i].spots) > 0 {
				homeless = append(homeless, i)
			}
		}
		if homeless == nil {
			return placed
		}
		var over []int
		for _, i := range p.foremost(homeless) {
			signs := p.signs(i, stands, placed)
			if signs == nil {
				p.Findings = append(p.Findings, p.homeless(i, stands[i], placed))
				stands[i] = stand{}
			}
			over = append(over, signs...)
		}
		slices.Sort(over)
		for _, j := range slices.Backward(slices.Compact(over)) {
			p.passedOver(p.needs[j], "that leaves no place for its dependents")
			p.needs = slices.Delete(p.needs, j, j+1)
		}
	}
}

// foremost returns those of some Applications that depend on none of the others, unless both
// depend on each other.
func (p *Plan) foremost(some []int) []int {
	out := outgoing(p.fleet, p.needs)
	return slices.DeleteFunc(slices.Clone(some), func(i int) bool {
		return slices.ContainsFunc(some, func(j int) bool {
			return chain(out, i, j, false) != nil && chain(out, j, i, false) == nil
		})
	})
}

// signs returns the indices of inferred dependencies that leave an Application no place: its
// own, or else those of what it waits for, and so on.
func (p *Plan) signs(i int, stands []stand, placed []at) []int {
	seen := map[int]bool{i: true}
	for front := []int{i}; len(front) > 0; {
		var found, next []int
		for j, n := range p.needs {
			if !slices.Contains(front, n.From) || !decides(n, stands, placed) {
				continue
			}
			if !n.Sure {
				found = append(found, j)
			}
			if !seen[n.To] {
				seen[n.To] = true
				next = append(next, n.To)
			}
		}
		if found != nil {
			return found
		}
		front = next
	}
	return nil
}

// decides reports whether a dependency alone determines the step of an Application, or leaves
// it no place.
func decides(n Need, stands []stand, placed []at) bool {
	b := bound(n, placed)
	floor, _, _ := stands[n.From].first(lowest)
	if !placed[n.From].ok {
		_, _, fits := stands[n.From].first(b)
		return !fits && len(stands[n.From].spots) > 0
	}
	phase, _, ok := stands[n.From].first(b)
	return ok && phase == placed[n.From].phase && phase > floor
}

// deciding is the dependency that determines the step of an Application; of several, a certain
// and strong one.
func (p *Plan) deciding(i int, stands []stand, placed []at) (best Need, found bool) {
	for _, n := range p.needs {
		if n.From != i || !decides(n, stands, placed) {
			continue
		}
		if !found || cmp.Or(cmp.Compare(bound(n, placed), bound(best, placed)), boolean(n.Sure)-boolean(best.Sure), cmp.Compare(n.reason.Strength, best.reason.Strength)) > 0 {
			best, found = n, true
		}
	}
	return best, found
}

// least is the least solution. All Applications move at once, so that intermediate results do
// not depend on an order either.
func (p *Plan) least(stands []stand) []at {
	placed := make([]at, len(stands))
	for i, s := range stands {
		placed[i].phase, placed[i].spot, placed[i].ok = s.first(lowest)
	}
	for changed := true; changed; {
		changed = false
		bounds := make([]int, len(stands))
		for i := range bounds {
			bounds[i] = lowest
		}
		for _, n := range p.needs {
			bounds[n.From] = max(bounds[n.From], bound(n, placed))
		}
		for i, s := range stands {
			if !placed[i].ok || bounds[i] <= placed[i].phase {
				continue
			}
			changed = true
			if phase, sp, ok := s.first(bounds[i]); ok {
				placed[i] = at{phase, sp, true}
			} else {
				placed[i].ok = false
			}
		}
	}
	return placed
}

// bound is the first step that a dependency allows. One on an Application without a place
// allows all.
func bound(n Need, placed []at) int {
	switch to := placed[n.To]; {
	case !to.ok:
		return lowest
	default:
		return to.phase + n.gap()
	}
}

// explain returns the row of an Application.
func (p *Plan) explain(i int, app *fleet.Application, stands []stand, placed []at) Placed {
	row := Placed{Application: app, After: -1}
	if !placed[i].ok {
		row.Why = "no place for it"
		return row
	}
	to := placed[i]
	row.Computed = component.Step{Number: to.phase, Text: p.fleet.Profile.Write(to.phase), Set: true}
	row.Band, row.Title, row.Why = to.spot.band, to.spot.title, stands[i].why
	if n, ok := p.deciding(i, stands, placed); ok {
		row.After, row.Why = n.To, sentence(p.fleet, n)
	}
	row.Late = p.late(i)
	return row
}

// late names a dependent of an Application that is in too early a step for it.
func (p *Plan) late(i int) string {
	to := p.fleet.Applications[i]
	for _, n := range p.needs {
		from := p.fleet.Applications[n.From]
		together := slices.ContainsFunc(p.fleet.Scope(""), func(e string) bool { return fleet.Deployed(from, e) && fleet.Deployed(to, e) })
		if n.To != i || !n.Sure || !together || !from.Phase.Set || !to.Phase.Set || from.Phase.Number >= to.Phase.Number+n.gap() {
			continue
		}
		return fmt.Sprintf("%s is in %s, but must come %s", from.Name, p.fleet.Profile.StepName(from.Phase.Number), sentence(p.fleet, n))
	}
	return ""
}

// Awaited reports whether a dependent of an Application, certain or inferred, is in too early a
// step for it.
func (p *Plan) Awaited(i int) bool {
	to := p.fleet.Applications[i]
	return slices.ContainsFunc(p.needs, func(n Need) bool {
		from := p.fleet.Applications[n.From]
		return n.To == i && from.Phase.Set && to.Phase.Set && from.Phase.Number < to.Phase.Number+n.gap()
	})
}

// homeless is the finding about an Application for which no place is late enough.
func (p *Plan) homeless(i int, s stand, placed []at) finding.Finding {
	app := p.fleet.Applications[i]
	last := s.spots[len(s.spots)-1]
	var after []string
	for _, n := range p.needs {
		if _, _, fits := s.first(bound(n, placed)); n.From == i && !fits {
			after = append(after, fmt.Sprintf("%s, and %s is in %s at the earliest", sentence(p.fleet, n), p.fleet.Applications[n.To].Name, p.fleet.Profile.StepName(placed[n.To].phase)))
		}
	}
	if after == nil { // together they do, or its own step
		after = []string{"later"}
	}
	return unplaced(app, finding.Error, fmt.Sprintf("it must come %s; but the last place for it is %s, in band %s", strings.Join(after, "; and "), p.fleet.Profile.Write(last.to), last.band),
		"change its domain, add a later place for "+cmp.Or(app.Rung, app.Name)+" to the profile, or move its dependencies to an earlier band")
}

// passedOver reports an inferred dependency that was ignored.
func (p *Plan) passedOver(n Need, because string) {
	app := p.fleet.Applications[n.From]
	p.Findings = append(p.Findings, finding.Finding{Severity: finding.Warning, Rule: "sign-passed-over", File: app.File, Object: app.Name,
		Message: "it should come " + sentence(p.fleet, n) + ", but " + because,
		Remedy:  "ignore this warning if the component starts without the other one; otherwise split one of them, or change the domain"})
}

// overtaken reports Applications that keep a step before that of a dependency.
func (p *Plan) overtaken(needs []Need) {
	for _, n := range needs {
		from, to := p.Places[n.From], p.Places[n.To]
		if !from.Phase.Set || to.Phase.Set || !from.Computed.Set || !to.Computed.Set {
			continue
		}
		if from.Computed.Number > to.Computed.Number || from.Computed.Number == to.Computed.Number && !n.Later {
			continue
		}
		severity := finding.Error
		if !n.Sure {
			severity = finding.Warning
		}
		p.Findings = append(p.Findings, finding.Finding{Severity: severity, Rule: "step-order", File: from.File, Line: from.Line(p.fleet.StepKey(from.Application)), Object: from.Name, Field: p.fleet.StepKey(from.Application),
			Message: fmt.Sprintf("it keeps %s, but must come %s, and %s is in %s at the earliest", p.fleet.Profile.StepName(from.Computed.Number), sentence(p.fleet, n), to.Name, p.fleet.Profile.StepName(to.Computed.Number)),
			Remedy:  "move it, or compute all steps without --only-missing"})
	}
}

// Verdicts on a step that is set.
const (
	// Equal means that it is the earliest possible step.
	Equal = "equal"
	// Earlier means that an earlier one is possible.
	Earlier = "earlier possible"
	// TooLate means that it is too late for a dependent, and an earlier one is possible.
	TooLate = "must be earlier"
	// Intent means that an earlier one is possible, but would not make a rollout faster: the
	// owners chose this one.
	Intent = "intent"
	// Later means that it is too early.
	Later = "must be later"
	// Missing means that no step is set.
	Missing = "not set"
	// Homeless means that no place of the profile takes the component.
	Homeless = "no place"
)

// Verdict compares the step that is set with the computed one.
func (p Placed) Verdict() string {
	switch {
	case !p.Computed.Set:
		return Homeless
	case !p.Phase.Set:
		return Missing
	case p.Earliest.Set && p.Phase.Number == p.Computed.Number:
		return Intent
	case p.Phase.Number > p.Computed.Number && p.Late != "":
		return TooLate
	case p.Phase.Number > p.Computed.Number:
		return Earlier
	case p.Phase.Number < p.Computed.Number:
		return Later
	}
	return Equal
}

// Sorted returns the places by step and name; those without a step are last.
func (p *Plan) Sorted() []Placed {
	all := slices.Clone(p.Places)
	slices.SortStableFunc(all, func(x, y Placed) int {
		return cmp.Or(fleet.ComparePhases(x.Computed, y.Computed), strings.Compare(x.Name, y.Name), strings.Compare(x.Dir, y.Dir))
	})
	return all
}

// Count counts the steps with deployed Applications, computed or set; all Applications without a step
// count as one more.
func (p *Plan) Count(of func(Placed) component.Step) int {
	seen := map[component.Step]bool{}
	for _, row := range p.Places {
		if row.IsEnabled() {
			at := of(row)
			at.Text = ""
			seen[at] = true
		}
	}
	return len(seen)
}
