package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/inputs"
)

// diff compares a fleet before and after a change.
func (in *fleetInputs) diff(cmd *cobra.Command, s streams, ch checkout.Change, out diffOutput, command string) error {
	var err error
	if in.source.Random, err = inputs.TemporaryRandom(); err != nil {
		return out.exitError(err)
	}
	if err := ch.CheckDirs(); err != nil {
		return out.exitError(err)
	}
	in.source.AllowMissingDirs = ch.Revisions
	r := show.Change{Command: command}
	var sides [2]*fleet.Fleet
	var dirs [2]string
	for i, side := range []struct {
		dirs []string
		at   *checkout.Commit
	}{{ch.Before, ch.From}, {ch.After, ch.To}} {
		in.at = side.at
		sides[i], in.base, err = in.loadSide(cmd, s, side.dirs)
		if err != nil {
			return out.exitError(checkout.AtRevision(err, side.at))
		}
		dirs[i] = strings.Join(side.dirs, ", ")
		r.Names[i] = checkout.Called(in.base, side.dirs)
		if side.at != nil {
			r.Names[i] = side.at.Name + ":" + r.Names[i]
		}
	}
	if err := rollout.CheckEnvironment(sides[0], in.source.Environment, sides[1]); err != nil {
		return err
	}
	r.Comparison = inventory.Compare(sides[0], dirs[0], sides[1], dirs[1], in.source.Environment)
	warn(s, inventory.FaultsOf(sides[1], r.Unknown))
	return out.write(s, r, r.Components(), compare.AnyError(r.New), r.Unknown)
}

// loadSide loads one side of a comparison with the components of all environments. base is the
// root of its repository.
func (in *fleetInputs) loadSide(cmd *cobra.Command, s streams, dirs []string) (f *fleet.Fleet, base string, err error) {
	all := *in
	all.source.Environment, all.reportsLint = "", true
	f, err = all.load(cmd, s, dirs)
	return f, all.base, err
}
