package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	objects := 0
	for i, app := range f.Renderings(in.source.Environment) {
		switch {
		case !app.IsIn(in.source.Environment):
		case i < len(f.Applications):
			r.Applications = append(r.Applications, verdict.Summarize(app))
			r.Findings = append(r.Findings, app.Findings...)
			objects += len(app.Objects)
		default: // in another environment
			r.Findings = append(r.Findings, slices.DeleteFunc(slices.Clone(app.Findings), func(found finding.Finding) bool { return slices.Contains(r.Findings, found) })...)
		}
	}
	r.Findings = append(r.Findings, f.Overreach(in.source.Environment)...)
	finding.Sort(r.Findings)
	r.Scope = finding.Counted(objects, "object") + " of " + finding.Counted(len(r.Applications), "Application")
	slices.SortFunc(r.Applications, func(x, y verdict.Application) int { return strings.Compare(x.Name, y.Name) })
	return r, nil
}
