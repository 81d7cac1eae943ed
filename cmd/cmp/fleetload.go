package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// load reads and renders the fleet in directories of one repository.
func (in *fleetInputs) load(cmd *cobra.Command, s streams, dirs []string) (*fleet.Fleet, error) {
	base, err := ladderfile.Base(*in.ladder)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if dir == "" {
			return nil, usage.New(`empty directory name; use the directory of the components, or "." for this one`)
		}
	}
	if err := in.checkProjects(); err != nil {
		return nil, err
	}
	if p := in.source.Parallel; p < 0 {
		return nil, usage.Errorf("--parallel is %d; use 1 or more, or 0 for one per processor", p)
	}
	dirs = s.withoutFiles(dirs)
	c, err := checkout.Open(dirs[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dirs[0], err)
	}
	defer c.Close()
	c = c.At(in.at)
	in.base = c.Base
	src := in.source
	src.Repo, src.Show, src.NoRepository = c.Repo, c.Show, c.NoRepository
	if src.Dirs, err = in.find(c, dirs); err != nil {
		return nil, err
	}
	if src.Remote, err = in.remote.Remote(nil, nil); err != nil {
		return nil, err
	}
	if !s.quiet() {
		src.Progress = screen.Progress(s.Err)
	}
	f, err := fleet.LoadUntilInterrupted(cmd.Context(), src, base)
	if err != nil {
		return nil, err
	}
	if !in.reportsLint && !src.SkipRendering {
		warn(s, f.RenamedRuleWarnings)
	}
	return f, rollout.CheckEnvironment(f, in.source.Environment)
}

// find returns the paths in a repository of the directories to load. Warnings about directories
// that are skipped are kept in in.omissions. A directory need not exist if the other side of a
// comparison may have it.
func (in *fleetInputs) find(c *checkout.Checkout, dirs []string) ([]string, error) {
	rel := c.Rel
	if in.source.AllowMissingDirs {
		rel = func(dir string) (string, error) { return checkout.InRepository(c.Base, dir) }
	}
	rels := make([]string, len(dirs))
	var faults []error
	for i, dir := range dirs {
		var err error
		if rels[i], err = rel(dir); err != nil {
			return nil, err
		}
		if !in.allowUndescribed {
			faults = append(faults, locate.CheckFleet(c.Repo, rels[i], c.Show, ""))
		}
	}
	var all []string
	all, in.omissions = locate.Fleets(c.Repo, rels, c.Show)
	return all, errors.Join(faults...)
}

// withoutFiles removes regular files from arguments that a shell pattern such as components/*
// expanded, with a note.
func (s streams) withoutFiles(args []string) []string {
	dirs, files := checkout.WithoutFiles(args)
	if len(files) > 0 {
		note(s, "skipped files, because only directories can be components: %s", finding.Sanitize(strings.Join(files, ", ")))
	}
	return dirs
}
