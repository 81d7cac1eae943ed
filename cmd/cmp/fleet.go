package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/fetchers"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// fleetInputs contains the flags that select a fleet and configure its rendering.
type fleetInputs struct {
	source fleet.Source
	ladder *string
	remote *fetchers.Options
	// base is the repository of the last fleet that was loaded.
	base string
	// lints is true for a command whose output contains the findings of lint.
	lints bool
	// at is the revision to load; nil means the work tree.
	at *checkout.Commit
	// undescribed takes a directory of components without any component.yaml, too.
	undescribed bool
	// left are warnings about what the fleet that was loaded last leaves out.
	left []finding.Finding
	// projectsFromComponents lets components choose among the projects of the source.
	projectsFromComponents bool
}

// addFleetInputs adds the flags to a command.
func addFleetInputs(cmd *cobra.Command) *fleetInputs {
	in := &fleetInputs{}
	in.source.Assume = true
	cmd.Args = cobra.MinimumNArgs(1)
	flags := cmd.Flags()
	in.addLoading(flags)
	flags.StringVar(&in.source.KubeVersion, "kube-version", "", "Kubernetes version for .Capabilities in templates, such as 1.34.2")
	flags.StringSliceVarP(&in.source.APIVersions, "api-versions", "a", nil, "API versions for .Capabilities in templates")
	in.ladder = ladderfile.Flag(flags)
	in.remote = fetchers.Add(flags, fetchers.UserCache())
	inputs.ShowProgress(cmd, in.remote)
	return in
}

// addLoading adds the flags that only fleets have. The command may have --environment
// already, for components.
func (in *fleetInputs) addLoading(flags *pflag.FlagSet) {
	if flags.Lookup("environment") == nil {
		flags.StringVar(&in.source.Environment, "environment", "", "Omit components that are not deployed in this environment")
	}
	flags.IntVar(&in.source.Parallel, "parallel", 0, "Components rendered at the same time (default: one per processor)")
}

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
	dirs = s.directories(dirs)
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
	if !in.lints && !src.Unrendered {
		warn(s, f.Renamed())
	}
	return f, rollout.CheckEnvironment(f, in.source.Environment)
}

// find returns the paths in a repository of the directories to load. What they leave out is
// kept in left.
func (in *fleetInputs) find(c *checkout.Checkout, dirs []string) ([]string, error) {
	var all []string
	var faults []error
	in.left = nil
	rels := make([]string, len(dirs))
	var named []string
	for i, dir := range dirs {
		var err error
		if rels[i], err = in.rel(c, dir); err != nil {
			return nil, err
		}
		named = append(named, c.Show(rels[i]))
	}
	for _, rel := range rels {
		if !in.undescribed {
			faults = append(faults, locate.CheckFleet(c.Repo, rel, c.Show, ""))
		}
		members, left := locate.Fleet(c.Repo, rel, c.Show)
		all = append(all, members...)
		for _, f := range left {
			if f.File == c.Show(rel) || !slices.Contains(named, f.File) {
				in.left = append(in.left, f)
			}
		}
	}
	return all, errors.Join(faults...)
}

// rel returns the path of a directory in a repository. It need not exist if the other side of
// a comparison may have it.
func (in *fleetInputs) rel(c *checkout.Checkout, dir string) (string, error) {
	if in.source.Absent {
		return checkout.InRepository(c.Base, dir)
	}
	return c.Rel(dir)
}

// directories removes regular files from arguments that a shell pattern such as components/*
// expanded, with a note.
func (s streams) directories(args []string) []string {
	dirs, files := checkout.WithoutFiles(args)
	if len(files) > 0 {
		note(s, "skipped files, because only directories can be components: %s", finding.Sanitize(strings.Join(files, ", ")))
	}
	return dirs
}
