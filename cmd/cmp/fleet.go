package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/inputs"
)

func newFleet(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Validate, simulate and generate the rollout of many components",
		Long: `Work on a fleet: a directory of components, each with a component.yaml. Each component
becomes an Argo CD Application, and Applications are rolled out in steps. The fleet key
in ladder.yaml configures the rollout. cmp check, diff, graph and report also accept a
fleet.`,
		Example: `  cmp fleet lint ./components
  cmp fleet appset ./components > argocd/platform.yaml`,
	}
	help.Parent(cmd)
	cmd.AddCommand(
		newFleetInventory(s),
		newFleetLint(s),
		newFleetSteps(s),
		newFleetSimulate(s),
		newFleetAppset(s),
		newFleetApps(s),
		newFleetBootstrap(s),
	)
	return cmd
}

// loadFleet loads a fleet with a function of package fleets, and prints the warnings about it.
func loadFleet(ctx context.Context, s streams, in *inputs.Fleet, dirs []string, load func(context.Context, fleets.Options, []string) (fleets.Loaded, error)) (fleets.Loaded, error) {
	opt, err := in.Options()
	if err != nil {
		return fleets.Loaded{}, err
	}
	return load(ctx, opt, s.withoutFiles(dirs))
}

// withoutFiles removes regular files from arguments that a shell pattern such as components/*
// expanded, with a note.
func (s streams) withoutFiles(args []string) []string {
	dirs, files := checkout.WithoutFiles(args)
	if len(files) > 0 {
		s.note("skipped files, because only directories can be components: %s", finding.Sanitize(strings.Join(files, ", ")))
	}
	return dirs
}
