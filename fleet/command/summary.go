package command

import (
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// summarize counts the findings of an Application.
func summarize(app *fleet.Application) cli.ReportedComponent {
	r := cli.Report{Findings: app.Findings}
	j := cli.ReportedComponent{Name: app.Name, Path: app.File, State: cli.Rendered, Objects: len(app.Objects), Waves: app.Waves,
		Errors: r.Count(finding.Error), Warnings: r.Count(finding.Warning), Notes: r.Count(finding.Note)}
	switch {
	case app.Failed:
		j.State = cli.NotRendered
	case app.IsChartMissing:
		j.State = cli.NotFetched
	}
	return j
}
