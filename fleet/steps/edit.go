package steps

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Edit changes the component.yaml of a component.
type Edit struct {
	*fleet.Component
	Changes []Change
}

// Change is a key with its values; Before is empty if the key is missing. Why is the reason for
// the value, which is written as a comment next to it.
type Change struct{ Key, Before, After, Why string }

// IsUnchanged reports whether the value is already correct, so that only an existing reason is
// updated.
func (c Change) IsUnchanged() bool { return c.Before == c.After }

// Edits returns the changes that set every step to the computed one. The findings are
// components without a component.yaml, and those whose step depends on one that is unknown.
func (p *Plan) Edits() ([]Edit, []finding.Finding) {
	var all []Edit
	var faults []finding.Finding
	unknown := p.unknown()
	for i, row := range p.Steps {
		if row.isCorrect() || row.Verdict() == NoPlace || row.Failed {
			continue
		}
		if n, because := unknown[i]; because {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.NotWritten, File: row.File, Object: row.Name,
				Message: "its step was not written: it must come " + sentence(p.fleet,
					n) + ", and the step of " + p.fleet.Applications[n.To].Name + " is unknown", Remedy: "fix the errors of that component first"})
			continue
		}
		if !row.Described {
			faults = append(faults, finding.Finding{Severity: finding.Warning, Rule: finding.NotFound, File: row.File, Object: row.Name,
				Message: "it has no " + component.File + " to write the step " + row.Computed.Text + " into", Remedy: "add one"})
			continue
		}
		all = addChanges(all, row.Component, row.changes(p.fleet.StepKey(row.Application))...)
	}
	slices.SortFunc(all, func(x, y Edit) int { return strings.Compare(x.Dir, y.Dir) })
	for _, e := range all { // crdsPhase is written after the other key
		slices.SortFunc(e.Changes, func(x, y Change) int { return -strings.Compare(x.Key, y.Key) })
	}
	finding.Sort(faults)
	return all, faults
}

// ReasonUpdates lists the steps that do not change, with the reasons that replace outdated ones
// in the files.
func (p *Plan) ReasonUpdates() []Edit {
	var all []Edit
	for _, row := range p.Steps {
		if row.isCorrect() && row.Described && !row.Failed {
			all = addChanges(all, row.Component, Change{p.fleet.StepKey(row.Application), row.Step.Text, row.Step.Text, finding.Sanitize(row.Why)})
		}
	}
	return all
}

// addChanges adds changes to the edit of a component.
func addChanges(all []Edit, c *fleet.Component, changes ...Change) []Edit {
	i := slices.IndexFunc(all, func(e Edit) bool { return e.Component == c })
	if i < 0 {
		return append(all, Edit{c, changes})
	}
	all[i].Changes = append(all[i].Changes, changes...)
	return all
}

// isCorrect reports whether the current step is correct.
func (p ComputedStep) isCorrect() bool {
	v := p.Verdict()
	return v == Equal || v == Intent
}

// unknown returns the Applications that depend on one without a step, or on one that cannot be
// rendered, each with that dependency.
func (p *Plan) unknown() map[int]Dependency {
	all := map[int]Dependency{}
	for more := true; more; {
		more = false
		for _, n := range p.dependencies {
			to := p.Steps[n.To]
			_, depends := all[n.To]
			if _, known := all[n.From]; !known && (depends || to.Failed || !to.Computed.Set) {
				all[n.From], more = n, true
			}
		}
	}
	return all
}

// changes returns the changes of the keys that contain the step: both keys, if both are set.
func (p ComputedStep) changes(key string) []Change {
	why := finding.Sanitize(p.Why)
	all := []Change{{key, p.Step.Text, p.Computed.Text, why}}
	if key == "rolloutPhase" && p.RolloutPhase.Set && p.Wave.Set {
		all = append(all, Change{"wave", p.Wave.Text, p.Computed.Text, why})
	}
	return all
}

// Apply changes the text of the file.
func (e Edit) Apply(text []byte) ([]byte, error) {
	for _, c := range e.Changes {
		if c.IsUnchanged() {
			text = component.Explain(text, c.Key, c.Why, true)
			continue
		}
		var err error
		if text, err = component.Set(text, c.Key, c.After); err != nil {
			f := finding.Of(err)[0]
			f.Rule, f.File, f.Line, f.Field = finding.NotWritten, e.File, e.Line(c.Key), c.Key
			return nil, f
		}
		text = component.Explain(text, c.Key, c.Why, false)
	}
	return text, nil
}
