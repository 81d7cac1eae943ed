package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
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

// durationsFlag is the name of the flag for a durations file.
func durationsFlag(flags *pflag.FlagSet) *string {
	return flags.String("durations", "", "File with the duration of each Application, such as \"vault: 2m30s\" (default: assumed)")
}

// other returns the fleet to compare with, and its name in the output.
func (in *fleetInputs) other(cmd *cobra.Command, s streams, f *fleet.Fleet, dir, against string) (*fleet.Fleet, string, error) {
	if dir != "" {
		other, err := in.loadOne(cmd, s, []string{dir})
		if err == nil {
			warn(s, other.Failures(in.source.Environment))
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

// beside simulates the other rollout, too.
func (in *fleetInputs) beside(cmd *cobra.Command, s streams, o otherRollout, f *fleet.Fleet, run *rollout.Run, title string) (show.Rollouts, error) {
	other, otherTitle, err := in.other(cmd, s, f, o.dir, o.against)
	if err != nil {
		return show.Rollouts{}, err
	}
	if o.dir != "" {
		if err := rollout.CheckDurations(o.Times, f, other); err != nil {
			return show.Rollouts{}, err
		}
	}
	beside, err := o.Simulate(other)
	if err != nil {
		return show.Rollouts{}, err
	}
	if o.against != "" && !rollout.IsPlaced(beside.Layout) {
		return show.Rollouts{}, finding.Finding{Severity: finding.Error, Rule: "no-place", Field: "--against", Message: "no component is at a place of " + otherTitle + ", so all would be synced at once",
			Remedy: "add --layout computed, or use a profile for the steps of the components"}
	}
	return show.Rollouts{Titles: [2]string{title, otherTitle}, Fleets: [2]*fleet.Fleet{f, other}, Runs: [2]*rollout.Run{run, beside}}, nil
}

// checkSimulate rejects flags that do not apply to one or two rollouts.
func checkSimulate(flags *pflag.FlagSet, both bool, format string, fail []string) error {
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
