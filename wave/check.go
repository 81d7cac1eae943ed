package wave

import (
	"fmt"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Check compares the waves of a plan with what the objects demand, and returns
// a finding for each demand that is not met. Of an order that Assign computed
// alone it finds nothing; what it finds comes from waves that an author wrote.
func (p *Plan) Check(base *knowledge.Base) []finding.Finding {
	l := &ladder{plan: &Plan{Graph: p.Graph, Places: p.Places}, base: base} // which reports circles to nobody: Assign does
	l.constrain()
	if l.contract() != nil {
		return nil
	}
	var found []finding.Finding
	report := func(i int, message, remedy string) {
		n := p.Graph.Nodes[i]
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: "wrong-wave", File: n.File, Line: n.Line, Object: n.Key.String(),
			Message: message, Remedy: remedy})
	}
	for _, c := range l.rules {
		from, to := p.Places[c.from].Wave, p.Places[c.to].Wave
		if from >= to+c.gap {
			continue
		}
		when := fmt.Sprintf("which comes later, in wave %d", to)
		if from == to {
			when = "which is in the same wave and must be healthy before"
			if c.ref.Meaning != knowledge.Healthy {
				when = "which is in the same wave, where Argo CD applies it later"
			}
		}
		report(c.from, fmt.Sprintf("in wave %d it %s %s, %s", from, c.ref.Why, p.name(c.to), when), "correct the sync-wave of one of the two, or drop both")
	}
	for _, u := range l.units {
		for _, i := range u.nodes {
			if !l.withConsumer(u) || !p.awaited(p.Places[i].Wave) || len(u.users) == 0 {
				continue
			}
			first := p.Places[u.users[0].from].Wave
			for _, c := range u.users {
				first = min(first, p.Places[c.from].Wave)
			}
			if p.Places[i].Wave < first {
				report(i, fmt.Sprintf("in wave %d it waits for a Pod that uses it, and the first comes in wave %d, which waits for wave %d", p.Places[i].Wave, first, p.Places[i].Wave),
					"put it into the wave of "+p.name(u.users[0].from)+", or drop its sync-wave")
			}
		}
	}
	finding.Sort(found)
	return found
}

// awaited reports whether something comes after a wave, so that Argo CD waits
// for it.
func (p *Plan) awaited(wave int) bool {
	for _, place := range p.Places {
		if place.Computed && place.Wave > wave {
			return true
		}
	}
	return false
}
