// Package rollout simulates the rollout of a fleet: in which step each Application is
// synced, how long the rollout takes, and where it hangs. It does not modify the
// fleet.Fleet.
package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/steps"
)

// Run is a simulated rollout.
type Run struct {
	Layout Layout
	// Spans are the Applications that start, in this order.
	Spans []Span
	// Steps are the steps that start, set by set.
	Steps []StepSpan
	// Total is the time until the last Application is healthy.
	Total time.Duration
	// Critical is the critical path, as indices into Spans: each span starts when
	// the previous one is healthy.
	Critical []int
	// Stuck lists the Applications that never become healthy, with the reason,
	// sorted by name.
	Stuck []Stuck
	// Unordered lists the dependencies that the layout does not enforce, because
	// the two Applications are in independent sets.
	Unordered []Crossing

	fleet *fleet.Fleet
}

// Span is an Application in a rollout.
type Span struct {
	// Application is an index of Fleet.Applications.
	Application int
	Set, Step   int
	// Start is when its sync starts, Ready when its dependencies are ready, and End
	// when it is healthy.
	Start, Ready, End time.Duration
	// Healthy is false if it never becomes healthy.
	Healthy bool
	// Takes says where its duration comes from.
	Takes string
	// Why says what it waited for last.
	Why string

	cause int // the span it waited for, -1 if none
}

// StepSpan is a step in a rollout.
type StepSpan struct {
	Set, Step  int
	Start, End time.Duration
	// Done is false if it never completes.
	Done bool
}

// Crossing is a dependency between sets.
type Crossing struct {
	From, To int
	// Waits is how long the dependent waits for the other Application in this run;
	// it is negative if the dependent starts that much later anyway.
	Waits time.Duration
	Why   string
}

// Done reports whether every Application becomes healthy.
func (r *Run) Done() bool { return len(r.Stuck) == 0 }

// StepCount returns the number of steps of all sets.
func (r *Run) StepCount() int {
	n := 0
	for _, s := range r.Layout.Sets {
		n += len(s.Steps)
	}
	return n
}

// simulation is the state of a simulated rollout.
type simulation struct {
	*Run
	durations           Durations
	fail                map[int]bool
	now                 time.Duration
	dependencies        map[int][]steps.Dependency // by dependent
	missingDependencies map[*fleet.Application]fleet.MissingDependency
	all                 []steps.Dependency // all dependencies, including dropped ones
	span                map[int]int        // the span of an Application
	due                 map[int]time.Duration
	sets                []progress
}

// progress is the state of a set.
type progress struct {
	step       int // the current one
	hasStarted bool
	// from is when the next step may start, and cause the span that ended last.
	from  time.Duration
	cause int
}

// Simulate simulates a rollout. Within a step, Applications start in order of name, at
// most MaxUpdate at a time. An Application becomes healthy only after its dependencies.
// It never becomes healthy if it is listed in fail, cannot be rendered, or has a certain
// dependency that is not deployed. An inferred dependency only delays an Application; it
// is dropped if the other Application would never start.
func Simulate(f *fleet.Fleet, l Layout, d Durations, fail []int) *Run {
	p := &simulation{Run: &Run{Layout: l, fleet: f}, durations: d, fail: map[int]bool{},
		dependencies: map[int][]steps.Dependency{}, span: map[int]int{}, due: map[int]time.Duration{}, sets: make([]progress, len(l.Sets))}
	for _, i := range fail {
		p.fail[i] = true
	}
	for i, app := range f.Applications {
		p.fail[i] = p.fail[i] || app.Failed
	}
	p.missingDependencies = f.MissingIn("")
	maps.Copy(p.missingDependencies, f.MissingDependencies)
	all := steps.Dependencies(f)
	kept := steps.Order(f, all).Kept
	for _, n := range all {
		if f.Applications[n.From].IsEnabled() && f.Applications[n.To].IsEnabled() &&
			(n.IsCertain || slices.ContainsFunc(kept, func(k steps.Dependency) bool { return !k.IsCertain && k.From == n.From && k.To == n.To })) {
			p.dependencies[n.From] = append(p.dependencies[n.From], n)
			p.all = append(p.all, n)
		}
	}
	for i := range p.sets {
		p.sets[i].cause = -1
	}
	for p.advance(); p.next(); p.advance() {
	}
	p.finish()
	return p.Run
}

// advance starts every Application that can start now.
func (p *simulation) advance() {
	for changed := true; changed; {
		changed = false
		for set := range p.sets {
			changed = p.advanceSet(set) || changed
		}
		for i := range p.Spans {
			if _, ready := p.due[i]; !ready && !p.Spans[i].Healthy && p.makeReady(i) {
				changed = true
			}
		}
	}
}

// advanceSet ends the current step of a set if all its Applications are healthy, and
// starts Applications of the current step.
func (p *simulation) advanceSet(set int) (changed bool) {
	at := &p.sets[set]
	steps := p.Layout.Sets[set].Steps
	if at.step == len(steps) || at.from > p.now {
		return false
	}
	step := steps[at.step]
	if !at.hasStarted {
		at.hasStarted, changed = true, true
		p.Steps = append(p.Steps, StepSpan{Set: set, Step: at.step, Start: p.now})
	}
	running, healthy, last := 0, 0, -1
	for _, app := range step.Applications {
		i, hasStarted := p.span[app]
		switch {
		case hasStarted && p.Spans[i].Healthy:
			healthy++
			if last < 0 || p.Spans[i].End > p.Spans[last].End {
				last = i
			}
		case hasStarted:
			running++
		}
	}
	if healthy == len(step.Applications) {
		for i := range p.Steps {
			if p.Steps[i].Set == set && p.Steps[i].Step == at.step {
				p.Steps[i].End, p.Steps[i].Done = p.now, true
			}
		}
		at.step, at.hasStarted, at.cause, at.from = at.step+1, false, last, p.now
		if p.Layout.Waves {
			at.from += p.durations.Wave
		}
		return true
	}
	for _, app := range step.Applications {
		if _, hasStarted := p.span[app]; hasStarted || step.Manual || step.MaxUpdate > 0 && running == step.MaxUpdate {
			continue
		}
		running++
		p.begin(app, set, last)
		changed = true
	}
	return changed
}

// begin starts the sync of an Application. lastEnded is the span of its step that ended last, or
// -1.
func (p *simulation) begin(app, set, lastEnded int) {
	at := p.sets[set]
	s := Span{Application: app, Set: set, Step: at.step, Start: p.now, cause: at.cause}
	_, s.Takes = p.durations.Of(p.fleet.Applications[app])
	step := p.Layout.Sets[set].Steps[at.step]
	switch {
	case lastEnded >= 0:
		s.cause = lastEnded
		s.Why = fmt.Sprintf("%s updates %d at a time, and %s was the last to finish", step.phrase(), step.MaxUpdate, p.name(lastEnded))
	case at.cause >= 0:
		s.Why = fmt.Sprintf("%s starts after %s, which ended with %s", step.phrase(), p.stepOf(at.cause), p.name(at.cause))
	default:
		s.Why = step.phrase() + " is the first step"
		if name := p.Layout.Sets[set].Name; name != "" {
			s.Why += " of " + name
		}
	}
	p.span[app] = len(p.Spans)
	p.Spans = append(p.Spans, s)
}

func (p *simulation) name(span int) string {
	return p.fleet.Applications[p.Spans[span].Application].Name
}

func (p *simulation) stepOf(span int) string {
	s := p.Spans[span]
	return p.Layout.Sets[s.Set].Steps[s.Step].phrase()
}

// makeReady continues the sync of an Application whose dependencies are ready.
func (p *simulation) makeReady(i int) bool {
	s := &p.Spans[i]
	_, lacks := p.missingDependencies[p.fleet.Applications[s.Application]]
	if lacks || p.fail[s.Application] || len(p.missing(s.Application)) > 0 {
		return false
	}
	s.Ready = p.now
	if s.Ready > s.Start {
		for _, n := range p.dependencies[s.Application] {
			to, hasStarted := p.span[n.To]
			if hasStarted && (n.Later && p.Spans[to].End == p.now || !n.Later && p.Spans[to].Start == p.now) {
				s.cause, s.Why = to, "it waits for "+p.name(to)+", because "+n.Because()
				break
			}
		}
	}
	takes, _ := p.durations.Of(p.fleet.Applications[s.Application])
	p.due[i] = p.now + takes
	return true
}

// missing returns the dependencies of an Application that are not ready yet.
func (p *simulation) missing(app int) []steps.Dependency {
	var all []steps.Dependency
	for _, n := range p.dependencies[app] {
		to, hasStarted := p.span[n.To]
		if !hasStarted || n.Later && !p.Spans[to].Healthy {
			all = append(all, n)
		}
	}
	return all
}

// next advances the clock to the next event. It returns false if there is none.
func (p *simulation) next() bool {
	var soonest time.Duration
	found := false
	note := func(t time.Duration) {
		if !found || t < soonest {
			soonest, found = t, true
		}
	}
	for _, t := range p.due {
		note(t)
	}
	for set, at := range p.sets {
		if at.step < len(p.Layout.Sets[set].Steps) && at.from > p.now {
			note(at.from)
		}
	}
	if !found {
		return p.dropInferred()
	}
	p.now = max(p.now, soonest)
	for i := range p.Spans {
		if t, ready := p.due[i]; ready && t <= p.now {
			p.Spans[i].Healthy, p.Spans[i].End = true, p.now
			p.Total = max(p.Total, p.now)
			delete(p.due, i)
		}
	}
	return true
}

// dropInferred drops the inferred dependencies on Applications that do not start, when nothing
// else can continue. It returns false if there are none.
func (p *simulation) dropInferred() bool {
	dropped := false
	for _, s := range p.Spans {
		before := len(p.dependencies[s.Application])
		p.dependencies[s.Application] = slices.DeleteFunc(p.dependencies[s.Application], func(n steps.Dependency) bool {
			_, hasStarted := p.span[n.To]
			return !n.IsCertain && !hasStarted && !s.Healthy
		})
		dropped = dropped || len(p.dependencies[s.Application]) < before
	}
	return dropped
}

// finish computes the totals, the critical path and what hangs.
func (p *simulation) finish() {
	last := -1
	for i, s := range p.Spans {
		if s.Healthy && s.End == p.Total && (last < 0 || s.End > p.Spans[last].End) {
			last = i
		}
	}
	for i := last; i >= 0; i = p.Spans[i].cause {
		p.Critical = append(p.Critical, i)
	}
	slices.Reverse(p.Critical)
	slices.SortFunc(p.Steps, func(x, y StepSpan) int { return cmp.Or(cmp.Compare(x.Set, y.Set), cmp.Compare(x.Step, y.Step)) })
	p.stuck()
	p.unordered()
}

// AtOnce returns the maximum number of Applications that are synced at the same time.
func (r *Run) AtOnce() int {
	most := 0
	for _, s := range r.Spans {
		n := 0
		for _, other := range r.Spans {
			if other.Start <= s.Start && (!other.Healthy || other.End > s.Start) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
