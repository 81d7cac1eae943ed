package command

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/steps"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFleetSteps(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "steps DIR...",
		Short: "Compute the rollout steps of a fleet",
		Long: `Compute the earliest possible step of each component, with the reason why it is not
earlier. The step depends on the bands of the component's domain, on the kinds of its
objects, and on the components that it depends on.

--write writes the steps to the component.yaml files (rolloutPhase), each with the reason
in a comment, but keeps a later step if an earlier one would not make the rollout faster;
--diff calls it "intentionally later".

If dependencies form a cycle, Ladder ignores the dependency that is easiest to remove, and
the error names it.

Exits with 1 if a component has errors, fits no step, or is part of a cycle.`,
		Example: `  cmp fleet steps ./components
  cmp fleet steps ./components --diff
  cmp fleet steps ./components --write --only-missing
  cmp fleet steps ./components --compact --durations durations.yaml`,
	}
	in := AddFleet(cmd)
	flags := cmd.Flags()
	format := cli.Format(cmd, "Format", cli.Text, cli.JSON)
	diff := flags.Bool("diff", false, "Compare the steps in the files with the computed steps")
	write := flags.Bool("write", false, "Write the computed steps to the component.yaml files")
	onlyMissing := flags.Bool("only-missing", false, "Keep the steps in the files, and compute only missing ones")
	compact := flags.Bool("compact", false, "Show the fewest steps in which each component still comes after everything that must be healthy before it")
	durations := DurationsFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkSteps(flags, *durations, *compact); err != nil {
			return err
		}
		times, err := rollout.DurationsIn(*durations)
		if err != nil {
			return err
		}
		all, err := loadFleet(cmd.Context(), s, in, args, Load)
		if err != nil {
			return err
		}
		r := NewSteps(all.Fleet, steps.Options{OnlyMissing: *onlyMissing}, *diff || *write, times)
		if *write {
			return writeSteps(s, r, all.Root)
		}
		switch {
		case *diff:
			r.Diff()
		case *compact:
			if err := rollout.CheckDurations(times, all.Fleet); err != nil {
				return err
			}
			r.Compact(times)
		default:
			r.Table()
		}
		return printSteps(s, r, *format)
	}
	return cmd
}

func printSteps(s cli.Streams, r Steps, format string) error {
	text, err := r.Render(format, cli.PaintFor(s.Out))
	if err := s.Print(text, err); err != nil {
		return err
	}
	if finding.Err(r.Findings) != nil {
		return cli.ErrReported
	}
	return nil
}

// checkSteps rejects combinations of mutually exclusive flags.
func checkSteps(flags *pflag.FlagSet, durations string, compact bool) error {
	if durations != "" && !compact {
		return usage.New("--durations needs --compact; add it, or use cmp fleet simulate")
	}
	return cmp.Or(cli.Alone(flags, "diff", "write", "compact"), cli.Alone(flags, "compact", "only-missing"))
}

// writeSteps writes the computed steps to the component.yaml files below the root of the
// repository.
func writeSteps(s cli.Streams, r Steps, root string) error {
	text, faults, err := r.Write(root)
	s.Warn(faults...)
	if err := s.Print(text, err); err != nil {
		return err
	}
	if finding.Err(faults) != nil {
		return errors.New("some steps are missing or invalid; fix the errors above and run the command again")
	}
	return nil
}
