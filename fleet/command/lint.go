package command

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
)

func newFleetLint(s cli.Streams) *cobra.Command {
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
	in := AddFleet(cmd)
	in.Source.Partial = true
	in.AddProjects()
	in.SetEnvironmentHelp("Check only the components deployed in this environment")
	format := cli.Format(cmd, "Format of the report", cli.Text, cli.JSON, cli.SARIF)
	strict := cli.StrictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := in.Options()
		if err != nil {
			return err
		}
		r, err := CheckRollout(cmd.Context(), opt, s.Directories(args))
		if err != nil {
			return err
		}
		return s.Report(r, *format, *strict)
	}
	return cmd
}
