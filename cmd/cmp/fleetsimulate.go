package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFleetSimulate(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate DIR...",
		Short: "Simulate the rollout of a fleet",
		Long: `Simulate the rollout as Argo CD performs it: a step begins when all Applications of the
previous step are synced and healthy, and at most maxUpdate of them are synced at the same
time. Print when each begins and is healthy, the critical path, and the total duration.

The duration of an Application is assumed from its kind unless --durations sets it: a line
such as "vault: 2m30s" for each, and defaults by rung below the key defaults. With --fail,
an Application never becomes healthy, and the report shows what waits for it.

Exits with 1 if the rollout never ends and --fail is not set.`,
		Example: `  cmp fleet simulate ./components
  cmp fleet simulate ./components --fail vault
  cmp fleet simulate ./components --compare ./components-before
  cmp fleet simulate ./components -o svg > rollout.svg`,
	}
	in := addFleetInputs(cmd)
	in.source.Partial = true
	flags := cmd.Flags()
	format := option.Format(cmd, "Format", reportText, reportJSON, "mermaid", "svg")
	layout := flags.String("layout", rollout.LayoutSet, "Steps to simulate: set (from the files), computed, or compact (the fewest steps)")
	option.Choices(cmd, "layout", rollout.LayoutSet, rollout.LayoutComputed, rollout.LayoutCompact)
	fail := flags.StringSlice("fail", nil, "Application that never becomes healthy")
	compare := flags.String("compare", "", "Another directory of components to compare with")
	against := flags.String("against", "", "Another profile for the same components to compare with: a built-in profile or a ladder.yaml")
	_ = cmd.RegisterFlagCompletionFunc("against", complete.ProfilesOrFiles)
	noRest := flags.Bool("no-catch-all", false, "Leave out the last step, which contains what no other step selects")
	durations := durationsFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		both := *compare != "" || *against != ""
		if err := checkSimulate(flags, both, *format, *layout, *fail); err != nil {
			return err
		}
		times, err := rollout.DurationsIn(*durations)
		if err != nil {
			return err
		}
		f, err := in.loadOne(cmd, s, args)
		if err != nil {
			return err
		}
		failing, err := rollout.ApplicationsNamed(f, *fail)
		if *compare == "" {
			err = errors.Join(rollout.CheckDurations(times, f), err)
		}
		if err != nil {
			return err
		}
		warn(s, append(fleet.Failures(f.Findings), rollout.Doubts(f, *layout, in.source.Environment)...))
		play := func(f *fleet.Fleet) (*rollout.Run, error) { return rollout.Play(f, *layout, *noRest, times, failing) }
		run, err := play(f)
		if err != nil {
			return err
		}
		var shown interface {
			Render(format string) (string, error)
		} = show.Rollout{Fleet: f, Run: run, Fail: failing}
		if both {
			if shown, err = in.beside(cmd, s, otherRollout{dir: *compare, against: *against, times: times, play: play}, f, run, strings.Join(args, " ")); err != nil {
				return err
			}
		}
		text, err := shown.Render(*format)
		if err == nil && !both && !run.Done() && len(*fail) == 0 {
			return cmp.Or(emit(s, text, nil), errReported)
		}
		return emit(s, text, err)
	}
	return cmd
}

// checkSimulate refuses unknown values, and flags that are not for two rollouts, or not
// for one.
func checkSimulate(flags *pflag.FlagSet, both bool, format, layout string, fail []string) error {
	if err := errors.Join(option.KnownFormat(format, reportText, reportJSON, "mermaid", "svg"), option.OneOf("layout", layout, rollout.LayoutSet, rollout.LayoutComputed, rollout.LayoutCompact)); err != nil {
		return usage.Error{Err: err}
	}
	if err := option.Alone(flags, "compare", "against"); err != nil {
		return err
	}
	if both && format != reportText && format != reportJSON {
		return usage.New("a comparison needs --output text or json; use one of them, or draw each rollout alone")
	}
	if both && len(fail) > 0 {
		return usage.New("--fail works with a single rollout; simulate each alone")
	}
	return nil
}
