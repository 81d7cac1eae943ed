package command

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/appset"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/object"
)

// fleetFlags contains the flags that select a fleet and configure its rendering.
type fleetFlags struct {
	// Source contains what the flags set, and what the command sets for all of its fleets.
	Source fleet.Source
	// Ladder is the file of --ladder.
	Ladder *string

	cmd              *cobra.Command
	rendering        *flags.Rendering // nil if the command reads these flags for components, too
	generators       func() (appset.Values, error)
	remote           *flags.Fetching
	allowUndescribed bool
}

// addFleetFlags adds the flags to a command whose arguments are directories of components, or
// Applications: files, directories and standard input.
func addFleetFlags(cmd *cobra.Command) *fleetFlags {
	in := &fleetFlags{cmd: cmd}
	in.Source.Assume = true
	cmd.Args = cli.Args(1, cli.Many)
	set := cmd.Flags()
	in.addLoading()
	in.rendering = flags.AddRendering(cmd, "kube-version", "api-versions")
	in.Ladder = in.rendering.Ladder
	in.generators = flags.GeneratorValues(set)
	in.remote = flags.AddFetching(set, flags.UserCache())
	flags.ShowProgress(cmd, in.remote)
	return in
}

// addLoading adds the flags that only fleets have. The command may have --environment already,
// for components.
func (in *fleetFlags) addLoading() {
	flags := in.cmd.Flags()
	if flags.Lookup("environment") == nil {
		flags.StringVar(&in.Source.Environment, "environment", "", "Omit components that are not deployed in this environment")
	}
	flags.IntVar(&in.Source.Parallel, "parallel", 0, "Components rendered at the same time (default: one per processor)")
}

// setEnvironmentHelp sets the help of --environment for a command that does not omit components.
func (in *fleetFlags) setEnvironmentHelp(usage string) {
	in.cmd.Flags().Lookup("environment").Usage = usage
}

// AddProjects adds the flags that let components choose their AppProject.
func (in *fleetFlags) AddProjects() {
	flags := in.cmd.Flags()
	flags.StringSliceVar(&in.Source.Projects, "allow-project", nil, "Name of an AppProject that a component may choose; may be repeated")
}

// options returns what the flags set.
func (in *fleetFlags) options() (LoadOptions, error) {
	opt := LoadOptions{Source: in.Source, Ladder: *in.Ladder, Remote: in.remote, AllowUndescribed: in.allowUndescribed,
		Generators: in.generators}
	if err := in.checkProjects(); err != nil {
		return opt, err
	}
	if in.rendering != nil {
		settings, err := in.rendering.Settings()
		if err != nil {
			return opt, err
		}
		opt.Source.KubeVersion, opt.Source.APIVersions = settings.KubeVersion, settings.APIVersions
	}
	if p := in.Source.Parallel; p < 0 {
		return opt, finding.Usagef("--parallel is %d; use 1 or more, or 0 for one per processor", p)
	}
	if !flags.IsQuiet(in.cmd) {
		opt.Source.Progress = cli.Progress(in.cmd.ErrOrStderr())
	}
	return opt, nil
}

// checkProjects rejects names that no AppProject has.
func (in *fleetFlags) checkProjects() error {
	for _, name := range in.Source.Projects {
		if !object.IsName(name) {
			return finding.Usagef("--allow-project: %q is not a valid AppProject name; write the whole name, patterns are not supported", name)
		}
	}
	return nil
}
