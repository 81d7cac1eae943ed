package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/wave"
)

func newFleetLint(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint DIR|FILE|-...",
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
	in := addFleetFlags(cmd)
	in.Source.Partial = true
	in.AddProjects()
	in.setEnvironmentHelp("Check only the components deployed in this environment")
	format := cli.Format(cmd, "Format of the report", cli.Text, cli.JSON, cli.SARIF)
	strict := cli.StrictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := in.options()
		if err != nil {
			return err
		}
		opt.Stdin = s.In
		r, err := checkRollout(cmd.Context(), opt, Arguments(s, args))
		if err != nil {
			return err
		}
		r.Named = args
		return s.Report(r, *format, *strict)
	}
	return cmd
}

// CheckFleet checks every component of a fleet separately, and the settings of the fleet.
func CheckFleet(ctx context.Context, opt LoadOptions, dirs []string) (r cli.Report, err error) {
	all, err := loadAll(ctx, opt, dirs)
	if err != nil {
		return cli.Faulty(err)
	}
	r.Waves = cli.Computed
	if opt.Source.Waves == wave.Off || all.Fleet.InPlace() {
		r.Waves = cli.Written
	}
	f, environment := all.Fleet, opt.Source.Environment
	objects, unchecked := 0, 0
	for _, app := range f.At(environment).Applications {
		if app.IsIn(environment) {
			r.Applications = append(r.Applications, summarize(app))
			objects += len(app.Objects)
			if app.IsChartMissing {
				unchecked++
			}
		}
	}
	r.Findings = slices.Concat(lint.Rendering(f, environment, nil), lint.Overreach(f, environment), lint.Dangling(f, environment),
		all.Omissions)
	finding.Sort(r.Findings)
	r.Scope = finding.Counted(objects, "object") + " of " + finding.Counted(len(r.Applications)-unchecked, "Application")
	if unchecked > 0 {
		r.Scope += "; not checked: " + finding.Counted(unchecked, "Application")
	}
	slices.SortFunc(r.Applications, func(x, y cli.ReportedComponent) int { return strings.Compare(x.Name, y.Name) })
	return r, nil
}

// checkRollout checks the rollout of a fleet: its steps, its dependencies and shared objects.
func checkRollout(ctx context.Context, opt LoadOptions, dirs []string) (cli.Report, error) {
	all, err := loadAll(ctx, opt, dirs)
	if err != nil {
		return cli.Faulty(err)
	}
	found := append(lint.Findings(all.Fleet, opt.Source.Environment), all.Omissions...)
	finding.Sort(found)
	return cli.Report{Findings: found, Scope: finding.Counted(len(all.Fleet.Components),
		"component") + " and " + dependencies(len(all.Fleet.Links))}, nil
}

func dependencies(n int) string {
	if n == 1 {
		return "1 dependency"
	}
	return fmt.Sprintf("%d dependencies", n)
}

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
