package command

import (
	"context"
	"slices"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/report"
	"github.com/ladder-cmp/ladder/plugin"
)

// pageOf returns the web page of a fleet: of one environment, or of each of its environments.
// ladders returns the ladders of its Applications.
func pageOf(f *fleet.Fleet, environment string, times rollout.Durations, ladders map[*fleet.Application]*report.Ladder) (string, error) {
	environments := []string{environment}
	if all := f.Environments(); environment == "" && len(all) > 1 {
		environments = append(environments, all...)
	}
	var page report.Fleet
	for _, environment := range environments {
		inEnvironment, err := f.In(environment)
		if err != nil {
			return "", err
		}
		// The findings include components that could not be rendered.
		r := report.Rollout{Environment: environment, Graph: DrawFleet(inEnvironment, GraphOptions{}),
			Findings: lint.ReportFindings(inEnvironment, environment)}
		// Each environment has its own rollout; a rollout of all of them together would not
		// exist.
		if environment != "" || len(environments) == 1 {
			r.Timeline = timeline(inEnvironment, times)
		}
		for _, app := range inEnvironment.Applications {
			r.Applications = append(r.Applications,
				report.Row{Namespace: app.Namespace, Domain: app.Component.DomainOrTier(), Rung: app.Rung, File: app.File,
					Ladder: ladders[app]})
		}
		page.Rollouts = append(page.Rollouts, r)
	}
	return page.HTML()
}

// timeline simulates a rollout.
func timeline(f *fleet.Fleet, times rollout.Durations) *report.Timeline {
	layout := rollout.NewLayout(f, rollout.LayoutSet, func(i int) component.Step { return f.Applications[i].Step })
	run := rollout.Simulate(f, layout, times, nil)
	timeline := shownRollout{Fleet: f, Run: run}.timeline()
	return &timeline
}

// FleetPage returns the HTML report of a fleet. durations is a file; empty means that durations
// are assumed.
func FleetPage(ctx context.Context, opt LoadOptions, dirs []string, durations string) (page string, found []finding.Finding, err error) {
	times, err := rollout.DurationsIn(durations)
	if err != nil {
		return "", nil, err
	}
	ladders := map[*fleet.Application]*report.Ladder{}
	opt.Source.Rendered = func(app *fleet.Application, res plugin.Result) {
		ladders[app] = report.LadderOf(app.Name, res.Plan, res.Base, res.Findings)
	}
	all, err := Load(ctx, opt, dirs)
	if err != nil {
		return "", nil, err
	}
	if err := rollout.CheckDurations(times, all.Fleet); err != nil {
		return "", nil, err
	}
	found = slices.Concat(lint.Failures(all.Fleet, opt.Source.Environment), all.Omissions)
	page, err = pageOf(all.Fleet, opt.Source.Environment, times, ladders)
	return page, found, err
}
