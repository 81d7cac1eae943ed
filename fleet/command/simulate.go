package command

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFleetSimulate(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate DIR...",
		Short: "Simulate the rollout of a fleet",
		Long: `Simulate the rollout as Argo CD performs it: a step starts when all Applications of the
previous step are synced and healthy. Within a step, at most maxUpdate Applications are
synced at the same time. Print when each Application starts and becomes healthy, the
critical path, and the duration.

Ladder assumes the duration of an Application from its rung. The file of --durations sets
it for one Application, in a line such as "vault: 2m30s", or for a rung, under "defaults".
With --fail, an Application never becomes healthy, and the report shows what waits for it.

Exits with 1 if the rollout never ends and --fail is not set.`,
		Example: `  cmp fleet simulate ./components
  cmp fleet simulate ./components --fail vault
  cmp fleet simulate ./components --against ./components-before
  cmp fleet simulate ./components -o mermaid > rollout.mmd`,
	}
	in := AddFleet(cmd)
	in.Source.Partial = true
	var sim Simulation
	flags := cmd.Flags()
	format := cli.Format(cmd, "Format", cli.Text, cli.JSON, "mermaid")
	layout := cli.Choice(cmd, "layout", "Steps to simulate: set (from the files), computed, or compact (the fewest steps)", rollout.LayoutSet, rollout.LayoutComputed, rollout.LayoutCompact)
	flags.StringSliceVar(&sim.Fail, "fail", nil, "Names of Applications that never become healthy")
	against := flags.String("against", "", "What to compare with: another directory of components, or for the same components a built-in profile or a ladder.yaml")
	durations := DurationsFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sim.Layout, sim.Durations = *layout, *durations
		if info, err := os.Stat(*against); err == nil && info.IsDir() {
			sim.Compare = *against
		} else {
			sim.Against = *against
		}
		if err := checkSimulate(sim, *format); err != nil {
			return err
		}
		opt, err := in.Options()
		if err != nil {
			return err
		}
		result, found, err := sim.Simulate(cmd.Context(), opt, s.Directories(args))
		s.Warn(found...)
		if err != nil {
			return err
		}
		text, err := result.Render(*format)
		if err == nil && !result.Done {
			return cmp.Or(s.Print(text, nil), cli.ErrReported)
		}
		return s.Print(text, err)
	}
	return cmd
}

// DurationsFlag adds the flag --durations, and returns its value.
func DurationsFlag(flags *pflag.FlagSet) *string {
	return flags.String("durations", "", "File with the duration of each Application, such as \"vault: 2m30s\" (default: assumed)")
}

// checkSimulate rejects flags that do not apply to one or two rollouts.
func checkSimulate(sim Simulation, format string) error {
	if sim.IsComparison() && format != cli.Text && format != cli.JSON {
		return usage.New("a comparison needs --output text or json; use one of them, or draw each rollout alone")
	}
	if sim.IsComparison() && len(sim.Fail) > 0 {
		return usage.New("--fail applies only to a single rollout; simulate each rollout separately")
	}
	return nil
}
