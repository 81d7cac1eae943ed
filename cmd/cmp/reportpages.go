package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/report"
	"github.com/ladder-cmp/ladder/plugin"
)

// page returns the page of a component or a fleet.
func (in *anyInputs) page(cmd *cobra.Command, s streams, isFleet bool, dirs []string, durations string) (string, error) {
	if isFleet {
		return in.fleet.report(cmd, s, dirs, durations)
	}
	page, found, err := in.Page(dirs[0])
	warn(s, found)
	return page, err
}

// report returns the page of a fleet.
func (in *fleetInputs) report(cmd *cobra.Command, s streams, dirs []string, durations string) (string, error) {
	times, err := rollout.DurationsIn(durations)
	if err != nil {
		return "", err
	}
	ladders := map[*fleet.Application]*report.Ladder{}
	in.source.Rendered = func(app *fleet.Application, res plugin.Result) {
		ladders[app] = report.LadderOf(app.Name, res.Plan, res.Base, res.Findings)
	}
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return "", err
	}
	if err := rollout.CheckDurations(times, f); err != nil {
		return "", err
	}
	warn(s, slices.Concat(lint.Failures(f, in.source.Environment), in.omissions))
	return show.Page(f, in.source.Environment, times, ladders)
}
