package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/importer"
	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/fleet/lint"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/fleet/show"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/inputs"
)

// Fleets compares a fleet before and after a change, with the components of all environments.
// The findings are those of components that fail on both sides.
func Fleets(ctx context.Context, opt fleets.Options, ch checkout.Change, command string) (r show.Change, found []finding.Finding, err error) {
	environment := opt.Source.Environment
	opt.Source.Environment = ""
	if opt.Source.Random, err = inputs.TemporaryRandom(); err != nil {
		return r, nil, err
	}
	if err := ch.CheckDirs(); err != nil {
		return r, nil, err
	}
	opt.Source.AllowMissingDirs = ch.Revisions
	r.Command = command
	var sides [2]*fleet.Fleet
	var dirs [2]string
	for i, side := range []struct {
		dirs []string
		at   *checkout.Commit
	}{{ch.Before, ch.From}, {ch.After, ch.To}} {
		opt.At = side.at
		all, err := fleets.Load(ctx, opt, side.dirs)
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

// Deployed compares a fleet with the Applications that deploy its components now. It ignores
// those that cannot be imported.
func Deployed(ctx context.Context, opt fleets.Options, dirs []string, from importer.Sources, command string) (r show.Replacement, found []finding.Finding, err error) {
	if opt.Source.Random, err = inputs.TemporaryRandom(); err != nil {
		return r, nil, err
	}
	existing, found, err := existingApplications(ctx, opt.Source, dirs[0], from)
	if err != nil {
		return r, found, err
	}
	all, err := fleets.Load(ctx, opt, dirs)
	if err != nil {
		return r, found, err
	}
	found = append(found, lint.Failures(all.Fleet, opt.Source.Environment)...)
	return show.NewTakeover(all.Fleet, opt.Source.Environment, command, existing), found, nil
}

// existingApplications reads Applications, and renders their sources in the repository of a
// directory.
func existingApplications(ctx context.Context, src fleet.Source, dir string, from importer.Sources) ([]importer.ExistingApplication, []finding.Finding, error) {
	repo, err := checkout.Open(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer repo.Close()
	input, found, err := from.Read(ctx, repo)
	if err != nil {
		return nil, found, err
	}
	input.Random, input.KubeVersion, input.APIVersions = src.Random, src.KubeVersion, src.APIVersions
	existing, more, err := importer.ExistingApplications(ctx, input)
	found = append(found, slices.DeleteFunc(more, func(f finding.Finding) bool { return f.Severity == finding.Note })...)
	return existing, found, err
}
