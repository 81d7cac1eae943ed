// Package view shows components and fleets: as HTML pages, as drawings, and fleets as simulated
// rollouts. Its functions return the findings to print next to what they show.
package view

import (
	"context"
	"slices"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/report"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// Page returns the HTML report of the component in dir, and the findings of its rendering.
func Page(ctx context.Context, opt inputs.Options, dir string) (page string, found []finding.Finding, err error) {
	page, err = inputs.With(ctx, opt, dir, func(ctx context.Context, req plugin.Request, base *knowledge.Base) (string, error) {
		res, err := plugin.Generate(ctx, req, base)
		if err != nil {
			return "", err
		}
		found = res.Findings
		return report.Component{Ladder: report.LadderOf(req.DirName, res.Plan, res.Base, res.Findings)}.HTML()
	})
	return page, found, err
}

// FleetPage returns the HTML report of a fleet. durations is a file; empty means that durations
// are assumed.
func FleetPage(ctx context.Context, opt fleets.Options, dirs []string, durations string) (page string, found []finding.Finding, err error) {
	times, err := rollout.DurationsIn(durations)
	if err != nil {
		return "", nil, err
	}
	ladders := map[*fleet.Application]*report.Ladder{}
	opt.Source.Rendered = func(app *fleet.Application, res plugin.Result) {
		ladders[app] = report.LadderOf(app.Name, res.Plan, res.Base, res.Findings)
	}
	all, err := fleets.Load(ctx, opt, dirs)
	if err != nil {
		return "", nil, err
	}
	if err := rollout.CheckDurations(times, all.Fleet); err != nil {
		return "", nil, err
	}
	found = slices.Concat(lint.Failures(all.Fleet, opt.Source.Environment), all.Omissions)
	page, err = show.Page(all.Fleet, opt.Source.Environment, times, ladders)
	return page, found, err
}
