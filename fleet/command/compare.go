package command

import (
	"context"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// CompareFleets compares a fleet before and after a change, with the components of all environments.
// The findings are those of components that fail on both sides.
func CompareFleets(ctx context.Context, opt LoadOptions, ch checkout.Change, commandLine string) (r Change, found []finding.Finding, err error) {
	environment := opt.Source.Environment
	opt.Source.Environment = ""
	if opt.Source.Random, err = flags.TemporaryRandom(); err != nil {
		return r, nil, err
	}
	if err := ch.CheckDirs(); err != nil {
		return r, nil, err
	}
	opt.Source.AllowMissingDirs = ch.Revisions
	r.Command = commandLine
	var sides [2]*fleet.Fleet
	var dirs [2]string
	for i, side := range []struct {
		dirs []string
		at   *checkout.Commit
	}{{ch.Before, ch.From}, {ch.After, ch.To}} {
		opt.At = side.at
		all, err := Load(ctx, opt, side.dirs)
		if err != nil {
			return r, nil, checkout.AtRevision(err, side.at)
		}
		sides[i], dirs[i] = all.Fleet, strings.Join(side.dirs, ", ")
		r.Names[i] = checkout.Called(all.Root, side.dirs)
		if side.at != nil {
			r.Names[i] = side.at.Name + ":" + r.Names[i]
		}
	}
	if err := rollout.CheckEnvironment(sides[0], environment, sides[1]); err != nil {
		return r, nil, err
	}
	r.Comparison = inventory.Compare(sides[0], dirs[0], sides[1], dirs[1], environment)
	return r, inventory.FaultsOf(sides[1], r.Unknown), nil
}
