package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// loadOne loads the components of one environment: each environment has its own rollout.
func (in *fleetInputs) loadOne(cmd *cobra.Command, s streams, dirs []string) (*fleet.Fleet, error) {
	f, err := in.load(cmd, s, dirs)
	if err != nil {
		return nil, err
	}
	if all := f.Environments(); len(all) > 1 && in.source.Environment == "" {
		return nil, usage.Errorf("%s: each environment has its own rollout; use --environment %s", strings.Join(dirs, " "), strings.Join(all, " or "))
	}
	return f, nil
}

// durationsFlag adds the flag --durations, and returns its value.
func durationsFlag(flags *pflag.FlagSet) *string {
	return flags.String("durations", "", "File with the duration of each Application, such as \"vault: 2m30s\" (default: assumed)")
}

// otherFleet returns the fleet to compare with, and its name in the output.
func (in *fleetInputs) otherFleet(cmd *cobra.Command, s streams, f *fleet.Fleet, dir, against string) (*fleet.Fleet, string, error) {
	if dir != "" {
		other, err := in.loadOne(cmd, s, []string{dir})
		if err == nil {
			warn(s, lint.Failures(other, in.source.Environment))
		}
		return other, dir, err
	}
	p, err := ladderfile.Profile(against)
	other := *f
	other.Profile = p
	return &other, against, err
}

// otherRollout contains the flags that select the rollout to compare with.
type otherRollout struct {
	dir, against string
	rollout.Options
}

// simulateOther simulates the other rollout, too.
func (in *fleetInputs) simulateOther(cmd *cobra.Command, s streams, o otherRollout, f *fleet.Fleet, run *rollout.Run, title string) (show.Rollouts, error) {
	other, otherTitle, err := in.otherFleet(cmd, s, f, o.dir, o.against)
	if err != nil {
		return show.Rollouts{}, err
	}
	if o.dir != "" {
		if err := rollout.CheckDurations(o.Times, f, other); err != nil {
			return show.Rollouts{}, err
		}
	}
	otherRun, err := o.Simulate(other)
	if err != nil {
		return show.Rollouts{}, err
	}
	if o.against != "" && !rollout.IsPlaced(otherRun.Layout) {
		return show.Rollouts{}, finding.Finding{Severity: finding.Error, Rule: "no-place", Field: "--against", Message: "no component has a step of the profile " + otherTitle + ", so all would be synced at once",
			Remedy: "add --layout computed, or use a profile that contains the steps of the components"}
	}
	return show.Rollouts{Titles: [2]string{title, otherTitle}, Fleets: [2]*fleet.Fleet{f, other}, Runs: [2]*rollout.Run{run, otherRun}}, nil
}

// checkSimulate rejects flags that do not apply to one or two rollouts.
func checkSimulate(flags *pflag.FlagSet, isComparison bool, format string, fail []string) error {
	if err := option.Alone(flags, "compare", "against"); err != nil {
		return err
	}
	if isComparison && format != reportText && format != reportJSON {
		return usage.New("a comparison needs --output text or json; use one of them, or draw each rollout alone")
	}
	if isComparison && len(fail) > 0 {
		return usage.New("--fail applies only to a single rollout; simulate each rollout separately")
	}
	return nil
}
