package steps

import (
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
)

// The Pod network comes first, because on a new cluster no other Pod starts before it. Where Argo
// CD runs in the same cluster, there is a network already, perhaps one that Argo CD only adopts. So
// this decides nothing that the owners or the profile decided: an Application whose step is before
// that of the network keeps it, and one whose only places are before it stays there.

// networkDependencies returns the dependencies on the Pod network that contradict no other one.
func networkDependencies(f *fleet.Fleet, others []Dependency) []Dependency {
	out := outgoing(f, others)
	var all []Dependency
	for _, l := range f.Networks.Links() {
		user, network := f.Applications[l.From], f.Applications[l.To]
		if f.OnDifferentClusters(user, network) || chain(out, l.To, l.From, true) != nil || !deployedTogether(f, user, network) {
			continue
		}
		all = append(all, Dependency{From: l.From, To: l.To, network: true, reason: l.Reasons[0], reasonCount: 1})
	}
	return all
}

// deployedTogether reports whether two Applications are deployed in the same environment.
func deployedTogether(f *fleet.Fleet, a, b *fleet.Application) bool {
	return slices.ContainsFunc(f.Scope(""), func(e string) bool { return fleet.Deployed(a, e) && fleet.Deployed(b, e) })
}

// releaseNetworks lets a Pod network whose number only defines an order move to the step of the
// first Application that needs it.
func releaseNetworks(f *fleet.Fleet, all []Dependency, choices []candidates) {
	for _, n := range all {
		user, network := f.Applications[n.From], f.Applications[n.To]
		if user.Step.Set && network.Step.Set && choices[n.To].keeps {
			choices[n.To].earliest = min(choices[n.To].earliest, user.Step.Number)
		}
	}
}

// withNetworks adds the dependencies on the Pod network to steps that satisfy all others.
func (p *Plan) withNetworks(all []Dependency, choices []candidates, placed []position) []position {
	all = slices.DeleteFunc(all, func(n Dependency) bool {
		step := p.fleet.Applications[n.From].Step
		return !placed[n.From].ok || !placed[n.To].ok || step.Set && step.Number < placed[n.To].step
	})
	before := p.dependencies
	for len(all) > 0 {
		p.dependencies = append(slices.Clone(before), all...)
		next := p.earliestSolution(choices)
		out := outgoing(p.fleet, p.dependencies)
		left := slices.DeleteFunc(slices.Clone(all), func(n Dependency) bool { // no place for it, or for what depends on it
			for i := range next {
				if placed[i].ok && !next[i].ok && (i == n.From || chain(out, i, n.From, false) != nil) {
					return true
				}
			}
			return false
		})
		if len(left) == len(all) {
			return next
		}
		all = left
	}
	p.dependencies = before
	return placed
}
