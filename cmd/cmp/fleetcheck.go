package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

// check checks every component of a fleet separately, and the settings of the fleet.
func (in *fleetInputs) check(cmd *cobra.Command, s streams, dirs []string) (verdict.Verdict, error) {
	f, err := in.loadAll(cmd, s, dirs)
	if err != nil && !verdict.Reportable(err) {
		return verdict.Verdict{}, err
	}
	if err != nil {
		return verdict.Verdict{Findings: finding.Of(err)}, nil
	}
	r := verdict.Verdict{Waves: verdict.Computed}
	objects, unchecked := 0, 0
	for _, app := range f.At(in.source.Environment).Applications {
		if app.IsIn(in.source.Environment) {
			r.Applications = append(r.Applications, verdict.Summarize(app))
			objects += len(app.Objects)
			if app.IsChartMissing {
				unchecked++
			}
		}
	}
	r.Findings = slices.Concat(lint.Rendering(f, in.source.Environment, nil), lint.Overreach(f, in.source.Environment), in.omissions)
	finding.Sort(r.Findings)
	r.Scope = finding.Counted(objects, "object") + " of " + finding.Counted(len(r.Applications)-unchecked, "Application")
	if unchecked > 0 {
		r.Scope += "; not checked: " + finding.Counted(unchecked, "Application")
	}
	slices.SortFunc(r.Applications, func(x, y verdict.Application) int { return strings.Compare(x.Name, y.Name) })
	return r, nil
}
