package steps

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Compact is a rollout in the fewest steps that keep every gate.
type Compact struct {
	// Steps is the step of each Application, in the order of the fleet, starting at 1. An
	// Application that is not deployed has the step that it would have.
	Steps []int
	// Why contains the reasons.
	Why []string
	// Count is the number of steps.
	Count int
}

// Compact computes the fewest steps: each Application comes directly after its dependencies, and
// a smoke test after all components of its domain that are before it in the computed steps. It
// returns nil if an Application has no computed step.
func (p *Plan) Compact() *Compact {
	if slices.ContainsFunc(p.Steps, func(row ComputedStep) bool { return !row.Computed.Set }) {
		return nil
	}
	var gates []Dependency
	for i, smoke := range p.Steps {
		if smoke.Rung != knowledge.Smokes {
			continue
		}
		for j, other := range p.Steps {
			if other.Rung != knowledge.Smokes && p.together(smoke, other) && other.Computed.Number < smoke.Computed.Number {
				gates = append(gates, Dependency{From: i, To: j, Later: true, IsCertain: true,
					reason: fleet.Reason{Why: "it checks what is in " + smoke.Band}})
			}
		}
	}
	slices.SortFunc(gates, func(x, y Dependency) int { return cmp.Or(p.fleet.Compare(x.From, y.From), p.fleet.Compare(x.To, y.To)) })
	gates = append(slices.Clone(p.dependencies), gates...)
	gates = slices.DeleteFunc(gates, func(n Dependency) bool { return !p.Steps[n.To].IsEnabled() })
	c := &Compact{Steps: make([]int, len(p.Steps)), Why: make([]string, len(p.Steps))}
	for i := range c.Steps {
		c.Steps[i], c.Why[i] = 1, "it waits for nothing"
	}
	for changed := true; changed; {
		changed = false
		for _, n := range gates {
			least := c.Steps[n.To] + n.gap()
			if c.Steps[n.From] < least {
				c.Steps[n.From], changed = least, true
			}
		}
	}
	for _, n := range slices.Backward(gates) { // the reasons of dependencies take precedence over those of smoke tests
		if c.Steps[n.From] > 1 && c.Steps[n.From] == c.Steps[n.To]+n.gap() {
			c.Why[n.From] = sentence(p.fleet, n)
		}
	}
	for i, step := range c.Steps {
		if p.Steps[i].IsEnabled() {
			c.Count = max(c.Count, step)
		}
	}
	return c
}

// together reports whether a smoke test checks an Application: both are of the same domain, or
// of the same band if the smoke test has no domain.
func (p *Plan) together(smoke, other ComputedStep) bool {
	if domain := smoke.Component.DomainOrTier(); domain != "" {
		return domain == other.Component.DomainOrTier()
	}
	return smoke.Band == other.Band
}
