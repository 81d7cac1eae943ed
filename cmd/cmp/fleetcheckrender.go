package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

func newFleetCheckRender(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check-render DIR...",
		Short: "Render every component of a fleet and check its sync waves",
		Long: `Render every component of a fleet, compute its sync waves and play their sync, as
cmp check does for one: a line for each Application with the number of its
objects, waves and findings, and then the findings. Charts in registries are not
fetched, and so not judged. Disabled components are. A component.yaml that asks for
what the platform alone decides is a finding, too, as in cmp fleet lint.

Exits with 1 if there is a finding of severity error.`,
		Example: `  cmp fleet check-render ./components
  cmp fleet check-render ./components -o json`,
	}
	in := addFleetInputs(cmd)
	in.source.Assume = false
	in.addProjects(cmd.Flags())
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		f, err := in.loadAll(cmd, s, args)
		if err != nil && !verdict.Reportable(err) {
			return err
		}
		r := verdict.Verdict{Findings: finding.Of(err)}
		if err == nil {
			objects := 0
			for _, app := range f.Applications {
				if app.In(in.source.Environment) {
					r.Applications = append(r.Applications, verdict.Judge(app))
					r.Findings = append(r.Findings, app.Findings...)
					objects += len(app.Objects)
				}
			}
			r.Findings = append(r.Findings, f.Overreach(in.source.Environment)...)
			finding.Sort(r.Findings)
			r.Of = finding.Counted(objects, "object") + " of " + finding.Counted(len(r.Applications), "Application")
			slices.SortFunc(r.Applications, func(x, y verdict.Application) int { return strings.Compare(x.Name, y.Name) })
		}
		return writeVerdict(s, r, *format, false)
	}
	return cmd
}
