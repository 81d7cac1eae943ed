package rollout

import (
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/steps"
)

// ComputeSteps computes the steps of a fleet. An Application keeps a step that is later than
// necessary if an earlier one would not make the rollout faster: its owners probably
// chose it on purpose.
func ComputeSteps(f *fleet.Fleet, opt steps.Options, times Durations) *steps.Plan {
	p := steps.Compute(f, opt)
	intended := intendedLater(f, p, times)
	if len(intended) == 0 {
		return p
	}
	opt.Intended = intended
	kept := steps.Compute(f, opt)
	for i, place := range p.Steps {
		if place.Computed.Set && !kept.Steps[i].Computed.Set { // keeping it leaves no step for others
			return p
		}
	}
	return kept
}

// intendedLater returns the Applications whose later step does not slow the rollout, with their
// earliest steps.
func intendedLater(f *fleet.Fleet, p *steps.Plan, times Durations) map[int]component.Step {
	all := map[int]component.Step{}
	for i, place := range p.Steps {
		if place.Verdict() == steps.Earlier && !p.HasEarlierDependent(i) {
			all[i] = place.Computed
		}
	}
	simulate := func(moved func(i int) bool) *Run {
		return Simulate(f, NewLayout(f, "", func(i int) component.Step {
			if p.Steps[i].Verdict() == steps.Earlier && !moved(i) {
				return p.Steps[i].Step
			}
			return p.Steps[i].Computed
		}), times, nil)
	}
	if len(all) == 0 {
		return nil
	}
	helps := map[int]bool{}
	before := simulate(func(int) bool { return false })
	for more := true; more; {
		more = false
		for _, span := range before.Critical { // no other makes the rollout faster by itself
			i := before.Spans[span].Application
			if _, candidate := all[i]; !candidate || helps[i] {
				continue
			}
			if after := simulate(func(j int) bool { return helps[j] || j == i }); faster(after, before) {
				helps[i], before, more = true, after, true
				break
			}
		}
	}
	if len(helps) == 0 && faster(simulate(func(int) bool { return true }), before) { // only all of them together
		return nil
	}
	for i := range helps {
		delete(all, i)
	}
	return all
}

// faster reports whether a rollout ends earlier than another one, or ends and the other
// one does not.
func faster(a, b *Run) bool { return a.Done() && (!b.Done() || a.Total < b.Total) }
