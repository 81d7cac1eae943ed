package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/locate"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// anyInputs are the flags of a command that takes a component or a fleet.
type anyInputs struct {
	*inputs.Component
	flags *pflag.FlagSet
	fleet *fleetInputs
	// ofComponent and ofFleet name the flags that only one of the two accepts.
	ofComponent, ofFleet []string
}

// sharedParameters are the parameters that fleets accept, too.
var sharedParameters = []string{"environment", "kube-version", "api-versions"}

// addAnyInputs adds the flags to a command. environment is the help of --environment.
func addAnyInputs(cmd *cobra.Command, environment string) *anyInputs {
	in := &anyInputs{Component: inputs.Add(cmd), flags: cmd.Flags()}
	flags := cmd.Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "ladder" && help.Of(f) != help.Fetching && !slices.Contains(sharedParameters, f.Name) {
			in.ofComponent = append(in.ofComponent, f.Name)
		}
	})
	in.fleet = &fleetInputs{ladder: in.Ladder, remote: in.Remote, allowUndescribed: true}
	in.fleet.addLoading(flags)
	in.fleet.setEnvironmentHelp(cmd, environment+", and use its values")
	help.Put(flags, help.Fleet, "environment")
	in.forFleet(flags, "parallel")
	return in
}

// forFleet marks flags that are only for fleets.
func (in *anyInputs) forFleet(flags *pflag.FlagSet, names ...string) {
	help.Put(flags, help.Fleet, names...)
	in.ofFleet = append(in.ofFleet, names...)
}

// forComponent marks flags that are only for components.
func (in *anyInputs) forComponent(names ...string) {
	in.ofComponent = append(in.ofComponent, names...)
}

// complete completes the inputs for a fleet or a component, and rejects flags for the other one.
func (in *anyInputs) complete(isFleet bool, args []string) error {
	var faults []error
	in.flags.Visit(func(f *pflag.Flag) {
		switch {
		case isFleet && slices.Contains(in.ofComponent, f.Name):
			faults = append(faults, fmt.Errorf("--%s is for one component, but %s contains several; remove the flag, or name one of them", f.Name, strings.Join(args, " ")))
		case !isFleet && slices.Contains(in.ofFleet, f.Name):
			faults = append(faults, fmt.Errorf("--%s is for a fleet, but %s is not a fleet; remove the flag, or name the directory of the components", f.Name, strings.Join(args, " ")))
		}
	})
	if len(faults) > 0 {
		return usage.Error{Err: errors.Join(faults...)}
	}
	if !isFleet {
		return nil
	}
	settings, err := in.Settings()
	in.fleet.source.KubeVersion, in.fleet.source.APIVersions, in.fleet.source.Environment = settings.KubeVersion, settings.APIVersions, settings.Environment
	return err
}

// isFleet reports whether the arguments of a command name a fleet: several directories, or one
// with components below it that is not a component itself. It also completes the inputs.
func (in *anyInputs) isFleet(cmd *cobra.Command, dirs []string) (is bool, err error) {
	if is = len(dirs) > 1 || belowFleet(cmd); !is {
		is, err = in.isFleetAt(dirs[0], nil)
	}
	return is, cmp.Or(err, in.complete(is, dirs))
}

// belowFleet reports whether a command is a subcommand of cmp fleet.
func belowFleet(cmd *cobra.Command) bool { return cmd.HasParent() && cmd.Parent().Name() == "fleet" }

// anyFleet reports whether a directory is a fleet. Rendering reports unreadable ones.
func (in *anyInputs) anyFleet(dirs []string, at *checkout.Commit) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		is, err := in.isFleetAt(dir, at)
		return is && err == nil
	})
}

// isFleetAt reports whether there are components below a directory, on disk or at a commit,
// and it is not one itself. Flags that say how to render the directory make it one if no
// component has a component.yaml.
func (in *anyInputs) isFleetAt(dir string, at *checkout.Commit) (bool, error) {
	if dir == "" {
		return false, nil
	}
	c, err := checkout.Open(dir)
	if err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	c = c.At(at)
	if (fleet.Source{Repo: c.Repo, Dirs: []string{c.Dir}, Show: c.Show}).IsFleet() {
		return true, nil
	}
	return !slices.ContainsFunc([]string{"renderer", "recurse", "include", "exclude"}, in.IsSet) && locate.HoldsOnlyComponents(c.Repo, c.Dir), nil
}
