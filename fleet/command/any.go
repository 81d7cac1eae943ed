package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
)

// Any contains the flags of a command that takes a component or a fleet.
type Any struct {
	*flags.Rendering
	Fleet *fleetFlags
	// ofComponent and ofFleet name the flags that only one of the two accepts.
	ofComponent, ofFleet []string
}

// sharedParameters are the parameters that fleets accept, too.
var sharedParameters = []string{"environment", "kube-version", "api-versions", "argocd-version"}

// AddAny adds the flags to a command. environment is the help of --environment.
func AddAny(cmd *cobra.Command, environment string) *Any {
	in := &Any{Rendering: flags.AddRendering(cmd)}
	in.Flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "ladder" && cli.SectionOf(f) != cli.FetchingFlags && !slices.Contains(sharedParameters, f.Name) {
			in.ofComponent = append(in.ofComponent, f.Name)
		}
	})
	in.Fleet = &fleetFlags{cmd: cmd, Ladder: in.Ladder, remote: in.Remote, allowUndescribed: true}
	in.Fleet.addLoading()
	in.Fleet.setEnvironmentHelp(environment + ", and use its values")
	cli.PutFlags(in.Flags, cli.FleetFlags, "environment")
	in.ForFleet("parallel")
	return in
}

// ForFleet marks flags that are only for fleets.
func (in *Any) ForFleet(names ...string) {
	cli.PutFlags(in.Flags, cli.FleetFlags, names...)
	in.ofFleet = append(in.ofFleet, names...)
}

// ForComponent marks flags that are only for components.
func (in *Any) ForComponent(names ...string) {
	in.ofComponent = append(in.ofComponent, names...)
}

// ForBoth marks flags that both accept.
func (in *Any) ForBoth(names ...string) {
	in.ofComponent = slices.DeleteFunc(in.ofComponent, func(name string) bool { return slices.Contains(names, name) })
}

// Reject rejects the flags for a component if the arguments name a fleet, and the other way
// round.
func (in *Any) Reject(isFleet bool, args []string) error {
	var faults []error
	in.Flags.Visit(func(f *pflag.Flag) {
		switch {
		case isFleet && slices.Contains(in.ofComponent, f.Name):
			faults = append(faults, fmt.Errorf("--%s is for one component, but %s contains several; remove the flag, or name one of them", f.Name,
				strings.Join(args, " ")))
		case !isFleet && slices.Contains(in.ofFleet, f.Name):
			faults = append(faults, fmt.Errorf(
				"--%s is for a fleet, but %s is not a fleet; remove the flag, or name the directory of the components",
				f.Name, strings.Join(args, " ")))
		}
	})
	if len(faults) > 0 {
		return finding.UsageError{Err: errors.Join(faults...)}
	}
	return nil
}

// FleetOptions returns what the flags set for a fleet.
func (in *Any) FleetOptions() (LoadOptions, error) {
	settings, err := in.Settings()
	if err != nil {
		return LoadOptions{}, err
	}
	opt, err := in.Fleet.options()
	opt.Source.KubeVersion, opt.Source.APIVersions, opt.Source.Environment = settings.KubeVersion, settings.APIVersions, settings.Environment
	opt.Source.ArgoCD, opt.ArgoCD = settings.ArgoCD, in.ArgoCD
	return opt, err
}

// IsFleet reports whether the arguments of a command name a fleet: several directories, or one
// with components below it that is not a component itself. It rejects the flags for the other
// one.
func (in *Any) IsFleet(dirs []string) (is bool, err error) {
	if is = len(dirs) > 1 || in.isBelowFleet(); !is {
		is, err = in.isFleetAt(dirs[0], nil)
	}
	return is, cmp.Or(err, in.Reject(is, dirs))
}

// isBelowFleet reports whether the command is a subcommand of cmp fleet.
func (in *Any) isBelowFleet() bool { return in.Cmd.HasParent() && in.Cmd.Parent().Name() == "fleet" }

// AnyFleet reports whether a directory is a fleet, on disk or at a commit, or the command takes
// only fleets. Rendering reports unreadable directories.
func (in *Any) AnyFleet(dirs []string, at *checkout.Commit) bool {
	return in.isBelowFleet() || slices.ContainsFunc(dirs, func(dir string) bool {
		is, err := in.isFleetAt(dir, at)
		return is && err == nil
	})
}

// isFleetAt reports whether a directory is a fleet. Flags that say how to render the directory
// make it a component if no component below it has a component.yaml.
func (in *Any) isFleetAt(dir string, at *checkout.Commit) (bool, error) {
	return HasFleet(dir, at, !slices.ContainsFunc([]string{"renderer", "recurse", "include", "exclude"}, in.IsSet))
}
