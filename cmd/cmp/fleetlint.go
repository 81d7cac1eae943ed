package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

func newFleetLint(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint DIR...",
		Short: "Find errors in the rollout order of a fleet",
		Long: `Render all components of a fleet and check its rollout: steps that are missing or have no
effect, components in a step that is reserved for others, objects that several
components contain, and dependencies on components of a later step. Each finding states
the evidence, what Argo CD would do, and what to change. Without --environment, check
all environments.

Exits with 1 if there is an error or, with --strict, a warning.`,
		Example: `  cmp fleet lint ./components
  cmp fleet lint ./components --strict -o sarif > fleet.sarif`,
	}
	in := addFleetInputs(cmd)
	in.source.Partial, in.reportsLint = true, true
	in.addProjects(cmd.Flags())
	in.setEnvironmentHelp(cmd, "Check only the components deployed in this environment")
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := strictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := in.loadAll(cmd, s, args)
		if err != nil && !verdict.Reportable(err) {
			return err
		}
		r := verdict.Verdict{Findings: finding.Of(err)}
		if err == nil {
			r.Findings = append(lint.Findings(f, in.source.Environment), in.omissions...)
			finding.Sort(r.Findings)
			r.Scope = finding.Counted(len(f.Components), "component") + " and " + dependencies(len(f.Links))
		}
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}

// setEnvironmentHelp sets the help of --environment for a command that does not omit components.
func (in *fleetInputs) setEnvironmentHelp(cmd *cobra.Command, usage string) {
	cmd.Flags().Lookup("environment").Usage = usage
}

// loadAll loads a whole fleet, including components that are not deployed in the environment.
// The environment must exist.
func (in *fleetInputs) loadAll(cmd *cobra.Command, s streams, dirs []string) (*fleet.Fleet, error) {
	all := *in
	all.source.Environment = ""
	f, err := all.load(cmd, s, dirs)
	if in.omissions = all.omissions; err != nil {
		return nil, err
	}
	return f, rollout.CheckEnvironment(f, in.source.Environment)
}

// writeVerdict prints a report. It returns errReported if the report has findings that fail.
func writeVerdict(s streams, r verdict.Verdict, format string, strict bool) error {
	r.Version = build.This(release).Version
	text, err := r.Render(format, screen.PaintFor(s.Out))
	if err := s.print(text, err); err != nil {
		return err
	}
	if r.Count(finding.Error) > 0 || strict && r.Count(finding.Warning) > 0 {
		return errReported
	}
	return nil
}

func dependencies(n int) string {
	if n == 1 {
		return "1 dependency"
	}
	return fmt.Sprintf("%d dependencies", n)
}
