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
	// Steps has an entry for each Application, in the order of the fleet.
	Steps []ComputedStep
	// Findings are cycles, Applications without a place, and inferred dependencies that were
	// ignored.
	Findings []finding.Finding

	fleet *fleet.Fleet
	// dependencies are those that the steps satisfy.
	dependencies []Dependency
}

// ComputedStep is the computed step of an Application.
type ComputedStep struct {
	*fleet.Application
	// Computed is the earliest step; it is not set if there is none.
	Computed component.Step
	// Band and Title are the band and the title of the place.
	Band, Title string
	// Why is the reason why it is not an earlier step.
	Why string
	// Earliest is the earliest possible step if a later one is intended; otherwise it is not
	// set.
	Earliest component.Step
	// EarlierDependent describes an Application that certainly depends on this one and is in an
	// earlier step, by the steps that are set; empty if there is none.
	EarlierDependent string
}

// Options select what is computed.
type Options struct {
	// OnlyMissing keeps the steps that are set.
	OnlyMissing bool
	// KeepLater keeps every step that works, although an earlier one would be possible.
	KeepLater bool
	// Intended has the earliest possible step of Applications, by index, that keep a later one:
	// their owners chose it, and no other Application waits for them.
	Intended map[int]component.Step
}

// Compute computes the earliest step of every Application from its rung, the bands of its domain
// and its dependencies. The result does not depend on the order of the input, and computing it
// again from the written steps returns the same steps. An Application stays in the band that its
// owners chose, and with opt.KeepLater in the step, unless a dependent is before that.
func Compute(f *fleet.Fleet, opt Options) *Plan {
	p := compute(f, opt, nil)
	for chosen := p.chosenPlaces(opt.KeepLater); len(chosen) > 0; {
		kept := compute(f, opt, chosen)
		if !kept.release(chosen, p) {
			return kept
		}
	}
	return p
}

// compute computes the steps of a fleet in which some Applications stay where their owners put them.
func compute(f *fleet.Fleet, opt Options, chosen map[int]chosenPlace) *Plan {
	all := Dependencies(f)
	for i, n := range all {
		all[i].Later = n.Later && !acceptsSameStep(f, n)
	}
	all = append(all, smokeDependencies(f, all)...)
	order := Order(f, all)
	p := &Plan{fleet: f, dependencies: order.Kept, Findings: order.faults}
	for _, n := range order.dropped {
		p.reportIgnored(n, "that would create a cycle")
	}
	if opt.OnlyMissing { // Applications with a step keep it, so their dependencies are ignored
		p.dependencies = slices.DeleteFunc(slices.Clone(order.Kept), func(n Dependency) bool { return f.Applications[n.From].Step.Set })
	}
	choices := make([]candidates, len(f.Applications))
	for i, app := range f.Applications {
		choices[i] = candidatesFor(f.Profile, app, opt)
		if _, intended := opt.Intended[i]; intended {
			choices[i].earliest = app.Step.Number
		} else if band, kept := chosen[i]; kept {
			choices[i].earliest = band.from
		}
		if choices[i].fault.Message != "" {
			p.Findings = append(p.Findings, choices[i].fault)
		}
	}
	networks := networkDependencies(f, p.dependencies)
	releaseNetworks(f, networks, choices)
	placed := p.withNetworks(networks, choices, p.solve(choices))
	for i, app := range f.Applications {
		p.Steps = append(p.Steps, p.explain(i, app, choices, placed))
		chosen[i].explain(&p.Steps[i])
		if earliest, intended := opt.Intended[i]; intended && p.Steps[i].Computed.Number == app.Step.Number {
			p.Steps[i].Earliest = earliest
			p.Steps[i].Why = "it could be in " + p.fleet.Profile.StepName(earliest.Number) + ", which would not make the rollout faster"
		}
	}
	for _, n := range order.broken {
		p.Steps[n.From].Why += fmt.Sprintf("; without its dependency on %s, which is part of a cycle", f.Applications[n.To].Name)
	}
	if opt.OnlyMissing {
		p.reportStepOrder(order.Kept)
	}
	finding.Sort(p.Findings)
	return p
}

// acceptsSameStep reports whether the owners accept that an Application is in the same step as
// one that it depends on.
func acceptsSameStep(f *fleet.Fleet, n Dependency) bool {
	return f.AcceptedEntry(fleet.SameStep, f.Applications[n.From].Name, f.Applications[n.To].Name) >= 0
}

// position is the step of an Application while steps are computed.
type position struct {
	step      int
	candidate candidateStep
	ok        bool
}

// solve computes the earliest steps that satisfy all dependencies. It ignores inferred ones that
// leave no place.
func (p *Plan) solve(choices []candidates) []position {
	for {
		placed := p.earliestSolution(choices)
		var withoutPlace []int
		for i := range choices {
			if !placed[i].ok && len(choices[i].steps) > 0 {
				withoutPlace = append(withoutPlace, i)
			}
		}
		if withoutPlace == nil {
			return placed
		}
		var ignored []int
		for _, i := range p.withoutDependencies(withoutPlace) {
			inferred := p.inferredDependencies(i, choices, placed)
			if inferred == nil {
				p.Findings = append(p.Findings, p.noPlaceFinding(i, choices[i], placed))
				choices[i] = candidates{}
			}
			ignored = append(ignored, inferred...)
		}
		slices.Sort(ignored)
		for _, j := range slices.Backward(slices.Compact(ignored)) {
			p.reportIgnored(p.dependencies[j], "that leaves no place for its dependents")
			p.dependencies = slices.Delete(p.dependencies, j, j+1)
		}
	}
}

// withoutDependencies returns those of some Applications that depend on none of the others,
// unless both depend on each other.
func (p *Plan) withoutDependencies(apps []int) []int {
	out := outgoing(p.fleet, p.dependencies)
	return slices.DeleteFunc(slices.Clone(apps), func(i int) bool {
		return slices.ContainsFunc(apps, func(j int) bool {
			return chain(out, i, j, false) != nil && chain(out, j, i, false) == nil
		})
	})
}

// inferredDependencies returns the indices of inferred dependencies that leave an Application no
// place: its own or, if it has none, those of its dependencies, and so on.
func (p *Plan) inferredDependencies(i int, choices []candidates, placed []position) []int {
	seen := map[int]bool{i: true}
	for front := []int{i}; len(front) > 0; {
		var found, next []int
		for j, n := range p.dependencies {
			if !slices.Contains(front, n.From) || !determinesStep(n, choices, placed) {
				continue
			}
			if !n.IsCertain {
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

// determinesStep reports whether a dependency alone determines the step of an Application, or
// leaves it no place.
func determinesStep(n Dependency, choices []candidates, placed []position) bool {
	b := lowerBound(n, placed)
	floor, _, _ := choices[n.From].first(lowest)
	if !placed[n.From].ok {
		_, _, fits := choices[n.From].first(b)
		return !fits && len(choices[n.From].steps) > 0
	}
	step, _, ok := choices[n.From].first(b)
	return ok && step == placed[n.From].step && step > floor
}

// determiningDependency returns the dependency that determines the step of an Application; of
// several, a certain and strong one.
func (p *Plan) determiningDependency(i int, choices []candidates, placed []position) (best Dependency, found bool) {
	for _, n := range p.dependencies {
		if n.From != i || !determinesStep(n, choices, placed) {
			continue
		}
		if !found || cmp.Or(cmp.Compare(lowerBound(n, placed), lowerBound(best, placed)),
			toInt(n.IsCertain)-toInt(best.IsCertain), cmp.Compare(n.reason.Strength, best.reason.Strength)) > 0 {
			best, found = n, true
		}
	}
	return best, found
}

// earliestSolution returns the earliest steps that satisfy all dependencies. All Applications
// move at once, so that intermediate results do not depend on an order either.
func (p *Plan) earliestSolution(choices []candidates) []position {
	placed := make([]position, len(choices))
	for i, s := range choices {
		placed[i].step, placed[i].candidate, placed[i].ok = s.first(lowest)
	}
	for changed := true; changed; {
		changed = false
		bounds := make([]int, len(choices))
		for i := range bounds {
			bounds[i] = lowest
		}
		for _, n := range p.dependencies {
			bounds[n.From] = max(bounds[n.From], lowerBound(n, placed))
		}
		for i, s := range choices {
			if !placed[i].ok || bounds[i] <= placed[i].step {
				continue
			}
			changed = true
			if step, sp, ok := s.first(bounds[i]); ok {
				placed[i] = position{step, sp, true}
			} else {
				placed[i].ok = false
			}
		}
	}
	return placed
}

// lowerBound returns the first step that a dependency allows. A dependency on an Application
// without a place allows every step.
func lowerBound(n Dependency, placed []position) int {
	switch to := placed[n.To]; {
	case !to.ok:
		return lowest
	default:
		return to.step + n.gap()
	}
}

// explain returns the row of an Application.
func (p *Plan) explain(i int, app *fleet.Application, choices []candidates, placed []position) ComputedStep {
	row := ComputedStep{Application: app}
	if !placed[i].ok {
		row.Why = "no place for it"
		return row
	}
	to := placed[i]
	row.Computed = component.Step{Number: to.step, Text: p.fleet.Profile.Write(to.step), Set: true}
	row.Band, row.Title, row.Why = to.candidate.band, to.candidate.title, choices[i].why
	if n, ok := p.determiningDependency(i, choices, placed); ok {
		row.Why = sentence(p.fleet, n)
	}
	row.EarlierDependent = p.earlierDependent(i)
	return row
}

// earlierDependent describes a dependent of an Application that is in a step before it.
func (p *Plan) earlierDependent(i int) string {
	to := p.fleet.Applications[i]
	for _, n := range p.dependencies {
		from := p.fleet.Applications[n.From]
		if n.To != i || !n.IsCertain && !n.network || !from.Step.Set || !to.Step.Set || from.Step.Number >= to.Step.Number+n.gap() {
			continue
		}
		if !slices.ContainsFunc(p.fleet.Scope(""), func(e string) bool { return fleet.Deployed(from, e) && fleet.Deployed(to, e) }) {
			continue
		}
		return fmt.Sprintf("%s is in %s, but must come %s", from.Name, p.fleet.Profile.StepName(from.Step.Number), sentence(p.fleet, n))
	}
	return ""
}

// HasEarlierDependent reports whether a dependent of an Application, certain or inferred, is in
// a step before it.
func (p *Plan) HasEarlierDependent(i int) bool {
	to := p.fleet.Applications[i]
	return slices.ContainsFunc(p.dependencies, func(n Dependency) bool {
		from := p.fleet.Applications[n.From]
		return n.To == i && from.Step.Set && to.Step.Set && from.Step.Number < to.Step.Number+n.gap()
	})
}

// noPlaceFinding returns the finding about an Application for which no place is late enough.
func (p *Plan) noPlaceFinding(i int, s candidates, placed []position) finding.Finding {
	app := p.fleet.Applications[i]
	last := s.steps[len(s.steps)-1]
	var after []string
	for _, n := range p.dependencies {
		if _, _, fits := s.first(lowerBound(n, placed)); n.From == i && !fits {
			after = append(after, fmt.Sprintf("%s, and %s is in %s at the earliest", sentence(p.fleet, n),
				p.fleet.Applications[n.To].Name, p.fleet.Profile.StepName(placed[n.To].step)))
		}
	}
	if after == nil { // no dependency alone leaves no place, but all together, or its own step, do
		after = []string{"later"}
	}
	return unplaced(app, finding.Error, fmt.Sprintf("it must come %s; but the last place for it is %s, in band %s",
		strings.Join(after, "; and "), p.fleet.Profile.Write(last.to), last.band),
		"change its domain, add a later place for "+cmp.Or(app.Rung, app.Name)+" to the profile, or move its dependencies to an earlier band")
}

// reportIgnored reports an inferred dependency that was ignored.
func (p *Plan) reportIgnored(n Dependency, because string) {
	app := p.fleet.Applications[n.From]
	p.Findings = append(p.Findings, finding.Finding{Severity: finding.Warning, Rule: finding.Rollout, File: app.File, Object: app.Name,
		Message: "it should come " + sentence(p.fleet, n) + ", but " + because,
		Remedy:  "ignore this warning if the component starts without the other one; otherwise split one of them, or change the domain"})
}

// reportStepOrder reports Applications that keep a step before that of a dependency.
func (p *Plan) reportStepOrder(dependencies []Dependency) {
	for _, n := range dependencies {
		from, to := p.Steps[n.From], p.Steps[n.To]
		if !from.Step.Set || to.Step.Set || !from.Computed.Set || !to.Computed.Set {
			continue
		}
		if from.Computed.Number > to.Computed.Number || from.Computed.Number == to.Computed.Number && !n.Later {
			continue
		}
		severity := finding.Error
		if !n.IsCertain {
			severity = finding.Warning
		}
		p.Findings = append(p.Findings, finding.Finding{Severity: severity, Rule: finding.Rollout, File: from.File,
			Line: from.Line(p.fleet.StepKey(from.Application)), Object: from.Name, Field: p.fleet.StepKey(from.Application),
			Message: fmt.Sprintf("it keeps %s, but must come %s, and %s is in %s at the earliest",
				p.fleet.Profile.StepName(from.Computed.Number), sentence(p.fleet, n), to.Name, p.fleet.Profile.StepName(to.Computed.Number)),
			Remedy: "move it, or compute all steps without --only-missing"})
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
	// NoPlace means that no place of the profile accepts the component.
	NoPlace = "no place"
)

// Verdict compares the step that is set with the computed one.
func (p ComputedStep) Verdict() string {
	switch {
	case !p.Computed.Set:
		return NoPlace
	case !p.Step.Set:
		return Missing
	case p.Earliest.Set && p.Step.Number == p.Computed.Number:
		return Intent
	case p.Step.Number > p.Computed.Number && p.EarlierDependent != "":
		return TooLate
	case p.Step.Number > p.Computed.Number:
		return Earlier
	case p.Step.Number < p.Computed.Number:
		return Later
	}
	return Equal
}

// Sorted returns the computed steps by step and name; those without a step are last.
func (p *Plan) Sorted() []ComputedStep {
	all := slices.Clone(p.Steps)
	slices.SortStableFunc(all, func(x, y ComputedStep) int {
		return cmp.Or(fleet.CompareSteps(x.Computed, y.Computed), strings.Compare(x.Name, y.Name), strings.Compare(x.Dir, y.Dir))
	})
	return all
}

// Count counts the steps with deployed Applications, computed or set; all Applications without a step
// count as one more.
func (p *Plan) Count(of func(ComputedStep) component.Step) int {
	seen := map[component.Step]bool{}
	for _, row := range p.Steps {
		if row.IsEnabled() {
			at := of(row)
			at.Text = ""
			seen[at] = true
		}
	}
	return len(seen)
}
