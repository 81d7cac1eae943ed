package command

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
)

func newFleetSimulate(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate DIR|FILE|-...",
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
	in := addFleetFlags(cmd)
	in.Source.Partial = true
	var sim simulation
	flags := cmd.Flags()
	format := cli.Format(cmd, "Format", cli.Text, cli.JSON, "mermaid")
	layout := cli.Choice(cmd, "layout", "Steps to simulate: set (from the files), computed, or compact (the fewest steps)",
		rollout.LayoutSet, rollout.LayoutComputed, rollout.LayoutCompact)
	flags.StringSliceVar(&sim.Fail, "fail", nil, "Names of Applications that never become healthy")
	against := flags.String("against", "",
		"What to compare with: another directory of components, or for the same components a built-in profile or a ladder.yaml")
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
		opt, err := in.options()
		if err != nil {
			return err
		}
		opt.Stdin = s.In
		result, found, err := sim.simulate(cmd.Context(), opt, Arguments(s, args))
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
func checkSimulate(sim simulation, format string) error {
	if sim.isComparison() && format != cli.Text && format != cli.JSON {
		return finding.Usage("a comparison needs --output text or json; use one of them, or draw each rollout alone")
	}
	if sim.isComparison() && len(sim.Fail) > 0 {
		return finding.Usage("--fail applies only to a single rollout; simulate each rollout separately")
	}
	return nil
}

// simulation says which rollouts of a fleet to simulate.
type simulation struct {
	// Layout selects the steps, as rollout.Options does.
	Layout string
	// Fail are the names of Applications that never become healthy.
	Fail []string
	// Compare is another directory, and Against another profile, to compare with. At most one
	// of the two is set.
	Compare, Against string
	// Durations is a file; empty means that durations are assumed.
	Durations string
}

// rendering is one simulated rollout or two, to print in any format.
type rendering interface {
	Render(format string) (string, error)
}

// simulated is the result of a simulation.
type simulated struct {
	rendering
	// Done is false if a single rollout never completes although no Application was to fail.
	Done bool
}

// isComparison reports whether two rollouts are simulated.
func (sim simulation) isComparison() bool { return sim.Compare != "" || sim.Against != "" }

// simulate simulates the rollout of a fleet, and the one to compare with.
func (sim simulation) simulate(ctx context.Context, opt LoadOptions, dirs []string) (result simulated, found []finding.Finding, err error) {
	times, err := rollout.DurationsIn(sim.Durations)
	if err != nil {
		return result, nil, err
	}
	all, err := loadOne(ctx, opt, dirs)
	if err != nil {
		return result, found, err
	}
	f, environment := all.Fleet, opt.Source.Environment
	failing, err := rollout.FindApplications(f, sim.Fail)
	if sim.Compare == "" {
		err = errors.Join(rollout.CheckDurations(times, f), err)
	}
	if err != nil {
		return result, found, err
	}
	found = slices.Concat(found, lint.Failures(f, environment), rollout.Findings(f, sim.Layout, environment))
	options := rollout.Options{Layout: sim.Layout, Times: times, Failing: failing}
	run, err := options.Simulate(f)
	if err != nil {
		return result, found, err
	}
	if !sim.isComparison() {
		return simulated{shownRollout{Fleet: f, Run: run, Fail: failing}, run.Done() || len(sim.Fail) > 0}, found, nil
	}
	other, more, err := sim.other(ctx, opt, f)
	found = append(found, more...)
	if err != nil {
		return result, found, err
	}
	otherRun, err := sim.simulateOther(options, f, other)
	if err != nil {
		return result, found, err
	}
	return simulated{rollouts{Titles: [2]string{strings.Join(dirs, " "), cmp.Or(sim.Compare, sim.Against)},
		Fleets: [2]*fleet.Fleet{f, other}, Runs: [2]*rollout.Run{run, otherRun}}, true}, found, nil
}

// other returns the fleet to compare with.
func (sim simulation) other(ctx context.Context, opt LoadOptions, f *fleet.Fleet) (*fleet.Fleet, []finding.Finding, error) {
	if sim.Compare != "" {
		all, err := loadOne(ctx, opt, []string{sim.Compare})
		if err != nil {
			return nil, nil, err
		}
		return all.Fleet, lint.Failures(all.Fleet, opt.Source.Environment), nil
	}
	p, err := flags.ProfileNamed(sim.Against)
	other := *f
	other.Profile = p
	return &other, nil, err
}

// simulateOther simulates the rollout to compare with.
func (sim simulation) simulateOther(options rollout.Options, f, other *fleet.Fleet) (*rollout.Run, error) {
	if sim.Compare != "" {
		if err := rollout.CheckDurations(options.Times, f, other); err != nil {
			return nil, err
		}
	}
	run, err := options.Simulate(other)
	if err != nil {
		return nil, err
	}
	if sim.Against != "" && !rollout.IsPlaced(run.Layout) {
		return nil, finding.Finding{Severity: finding.Error, Rule: appset.NoStep, Field: "--against",
			Message: "no component has a step of the profile " + sim.Against + ", so all would be synced at once",
			Remedy:  "add --layout computed, or use a profile that contains the steps of the components"}
	}
	return run, nil
}
