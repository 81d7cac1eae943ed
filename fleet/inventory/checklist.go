package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// checklistTimeout is how long a line waits for the Applications of a step, in seconds.
const checklistTimeout = 600

// applicationsOf returns the Applications of each step in an environment, or in all of them, as
// they are called in Argo CD.
func applicationsOf(f *fleet.Fleet, environment string) map[string][]string {
	all := map[string][]string{}
	sets, err := fleet.Sets(f, environment)
	if err != nil {
		return all // cmp fleet lint says why
	}
	for _, s := range sets {
		for _, d := range s.Deployments(f.Enabled()) {
			step := f.FormatStep(d.Step)
			all[step] = append(all[step], d.Name)
		}
	}
	return all
}

// Checklist returns a shell script that waits, step by step, until every Application is synced and
// healthy: the check after a rollout, whose first line that fails names the step.
func (inv Inventory) Checklist() string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Waits until the Applications of each step are synced and healthy, in order.\nset -e\n")
	for _, row := range inv.Steps {
		names := slices.Compact(slices.Sorted(slices.Values(inv.applications[row.Step])))
		if len(names) == 0 {
			continue
		}
		for i := range names {
			names[i] = finding.Quote(names[i])
		}
		title := strings.TrimSpace(row.Step + " " + row.Band)
		if row.Title != "" {
			title = strings.TrimPrefix(title+", "+row.Title, ", ")
		}
		fmt.Fprintf(&b, "\n# %s\nargocd app wait %s --sync --health --timeout %d\n", finding.Sanitize(title),
			strings.Join(names, " "), checklistTimeout)
	}
	return b.String()
}
