// Package command contains the commands below cmp fleet, and what check, diff and graph do for a
// fleet.
package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/cli"
)

// New returns cmp fleet with the commands below it.
func New(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Validate, simulate and generate the rollout of many components",
		Long: `Work on a fleet: Applications and ApplicationSets that exist already, in files,
directories or the output of kubectl (-), with what they deploy; or a directory of
components, each with a component.yaml, which becomes an Application. Applications are
rolled out in steps. The fleet key in ladder.yaml configures the rollout of components.
cmp check, diff and graph also accept a fleet.`,
		Example: `  cmp fleet lint ./argocd
  kubectl get applications,applicationsets -A -o yaml | cmp fleet inventory -
  cmp fleet lint ./components
  cmp fleet apps ./components > argocd/platform.yaml`,
	}
	cli.OnlyParent(cmd)
	cmd.AddCommand(
		newFleetInventory(s),
		newFleetLint(s),
		newFleetSteps(s),
		newFleetSimulate(s),
		newFleetApps(s),
		newFleetBootstrap(s),
	)
	return cmd
}

// loadFleet loads the fleet that the arguments name with Load or one of its variants.
func loadFleet(ctx context.Context, s cli.Streams, in *fleetFlags, dirs []string,
	load func(context.Context, LoadOptions, []string) (Loaded, error)) (Loaded, error) {
	opt, err := in.options()
	if err != nil {
		return Loaded{}, err
	}
	opt.Stdin = s.In
	return load(ctx, opt, Arguments(s, dirs))
}
