package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFleetPhases(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "phases DIR...",
		Short: "Compute the phases of a fleet",
		Long: `Compute for every component the earliest phase at which it can stand: the first
place of its domain's bands that is for what it is, and that comes after what it
needs of others. Each comes with the reason why it is not earlier.

--diff compares the phases in the component.yaml files with the computed ones.
--write puts the computed ones into the files, where nothing else changes. A
component keeps a later phase where no rollout is faster with it earlier (intent).
Of components with faults, and those that depend on them, it says so and exits
with 1. --compact shows the fewest steps that keep every gate, and their time.

Exits with 1 if a component has no place, or if components form a cycle.`,
		Example: `  cmp fleet phases ./components
  cmp fleet phases ./components --diff
  cmp fleet phases ./components --write --only-missing
  cmp fleet phases ./components --compact --durations durations.yaml`,
	}
	in := addFleetInputs(cmd)
	flags := cmd.Flags()
	format := option.Format(cmd, "Format", reportText, reportJSON)
	diff := flags.Bool("diff", false, "Compare the phases in the files with the computed phases")
	write := flags.Bool("write", false, "Write the computed phases to the component.yaml files")
	onlyMissing := flags.Bool("only-missing", false, "Keep the phases in the files, and compute only missing ones")
	compact := flags.Bool("compact", false, "Show the fewest steps that keep every gate")
	durations := durationsFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkPhases(flags, *format, *durations, *compact); err != nil {
			return err
		}
		times, err := rollout.DurationsIn(*durations)
		if err != nil {
			return err
		}
		f, err := in.load(cmd, s, args)
		if err != nil {
			return err
		}
		opt := fleet.PhaseOptions{OnlyMissing: *onlyMissing}
		p := f.Phases(opt)
		if *diff || *write {
			p = rollout.Phases(f, opt, times)
		}
		r := show.Phases{Fleet: f, Phases: p, Findings: append(fleet.Failures(f.Findings), p.Findings...)}
		switch {
		case *write:
			return in.writePhases(s, r)
		case *diff:
			r.Diff()
		case *compact:
			if err := rollout.CheckDurations(times, f); err != nil {
				return err
			}
			r.Compact(times)
		default:
			r.Table()
		}
		text, err := r.Render(*format)
		if err := emit(s, text, err); err != nil {
			return err
		}
		if finding.Err(r.Findings) != nil {
			return errReported
		}
		return nil
	}
	return cmd
}

// checkPhases refuses an unknown format, and flags that do not go together.
func checkPhases(flags *pflag.FlagSet, format, durations string, compact bool) error {
	if durations != "" && !compact {
		return usage.New("--durations needs --compact; add it, or use cmp fleet simulate")
	}
	return cmp.Or(option.KnownFormat(format, reportText, reportJSON), option.Alone(flags, "diff", "write", "compact"), option.Alone(flags, "compact", "only-missing"))
}

// writePhases puts phases into the files of the components.
func (in *fleetInputs) writePhases(s streams, r show.Phases) error {
	text, faults, err := r.Write(in.base)
	warn(s, faults)
	if err := emit(s, text, err); err != nil {
		return err
	}
	if finding.Err(faults) != nil {
		return errors.New("some phases were not written; fix the errors above and run it again")
	}
	return nil
}
