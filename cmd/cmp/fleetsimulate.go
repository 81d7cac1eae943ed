package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newFleetSimulate(s streams) *cobra.Command {
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

--observed and --from-cluster read the durations of real syncs from the status of the
Applications, and compare each step with the recorded rollout with the most Applications.

Exits with 1 if the rollout never ends and --fail is not set.`,
		Example: `  cmp fleet simulate ./components
  cmp fleet simulate ./components --fail vault
  cmp fleet simulate ./components --compare ./components-before
  cmp fleet simulate ./components --from-cluster --context production
  cmp fleet simulate ./components -o svg > rollout.svg`,
	}
	sim := &simulation{in: addFleetInputs(cmd)}
	sim.in.source.Partial = true
	flags := cmd.Flags()
	format := option.Format(cmd, "Format", reportText, reportJSON, "mermaid", "svg")
	sim.layout = option.Choice(cmd, "layout", "Steps to simulate: set (from the files), computed, or compact (the fewest steps)", rollout.LayoutSet, rollout.LayoutComputed, rollout.LayoutCompact)
	flags.StringSliceVar(&sim.fail, "fail", nil, "Names of Applications that never become healthy")
	flags.StringVar(&sim.compare, "compare", "", "Another directory of components to compare with")
	flags.StringVar(&sim.against, "against", "", "Profile to compare with, for the same components: a built-in profile or a ladder.yaml")
	_ = cmd.RegisterFlagCompletionFunc("against", complete.ProfilesOrFiles)
	flags.BoolVar(&sim.noCatchAll, "no-catch-all", false, "Leave out the last step, which contains the Applications that no other step selects")
	sim.durations = durationsFlag(flags)
	sim.observed.add(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkSimulate(flags, sim.isComparison(), *format, sim.fail); err != nil {
			return err
		}
		output, done, err := sim.run(cmd, s, args)
		if err != nil {
			return err
		}
		text, err := output.Render(*format)
		if err == nil && !done {
			return cmp.Or(s.print(text, nil), errReported)
		}
		return s.print(text, err)
	}
	return cmd
}

// simulation contains the flags of cmp fleet simulate.
type simulation struct {
	in               *fleetInputs
	layout           *string
	fail             []string
	compare, against string
	noCatchAll       bool
	durations        *string
	observed         observedInput
}

func (sim *simulation) isComparison() bool { return sim.compare != "" || sim.against != "" }

// renderer is the output for one or two rollouts, in any format.
type renderer interface {
	Render(format string) (string, error)
}

// run simulates one or two rollouts. done is false if a single one never completes although
// --fail is not set.
func (sim *simulation) run(cmd *cobra.Command, s streams, args []string) (output renderer, done bool, err error) {
	times, err := rollout.DurationsIn(*sim.durations)
	if err != nil {
		return nil, false, err
	}
	f, err := sim.in.loadOne(cmd, s, args)
	if err != nil {
		return nil, false, err
	}
	failing, err := rollout.FindApplications(f, sim.fail)
	if sim.compare == "" {
		err = errors.Join(rollout.CheckDurations(times, f), err)
	}
	if err != nil {
		return nil, false, err
	}
	if times.Observed, err = sim.observed.read(cmd, s, f, sim.in.source.Environment); err != nil {
		return nil, false, err
	}
	warn(s, append(lint.Failures(f, sim.in.source.Environment), rollout.Findings(f, *sim.layout, sim.in.source.Environment)...))
	options := rollout.Options{Layout: *sim.layout, WithoutCatchAll: sim.noCatchAll, Times: times, Failing: failing}
	run, err := options.Simulate(f)
	if err != nil {
		return nil, false, err
	}
	if sim.isComparison() {
		output, err := sim.in.simulateOther(cmd, s, otherRollout{dir: sim.compare, against: sim.against, Options: options}, f, run, strings.Join(args, " "))
		return output, true, err
	}
	return show.Rollout{Fleet: f, Run: run, Fail: failing, Observed: times.Observed}, run.Done() || len(sim.fail) > 0, nil
}
