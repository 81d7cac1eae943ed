package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/fetchers"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
)

// fleetInputs contains the flags that select a fleet and configure its rendering.
type fleetInputs struct {
	source fleet.Source
	ladder *string
	remote *fetchers.Options
	// base is the root of the repository of the fleet that was loaded last.
	base string
	// reportsLint is true for a command whose output contains the findings of lint.
	reportsLint bool
	// at is the revision to load; nil means the work tree.
	at *checkout.Commit
	// allowUndescribed means that a directory of components without any component.yaml is a
	// fleet, too.
	allowUndescribed bool
	// omissions are warnings about directories that the fleet that was loaded last does not
	// include.
	omissions []finding.Finding
	// projectsFromComponents lets components choose among the projects of the source.
	projectsFromComponents bool
}

// addFleetInputs adds the flags to a command.
func addFleetInputs(cmd *cobra.Command) *fleetInputs {
	in := &fleetInputs{}
	in.source.Assume = true
	cmd.Args = option.Args(1, option.Many)
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
