package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/deprecated"
	"github.com/ladder-cmp/ladder/internal/help"
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
		newFleetImport(s),
		newFleetInventory(s),
		newFleetLint(s), newFleetSchema(s),
		newFleetSteps(s),
		newFleetSimulate(s),
		newFleetAppset(s),
		newFleetApps(s),
		newFleetBootstrap(s),
		deprecated.Alias(newFleetSteps(s), "phases", s.warn),
		deprecated.Alias(newCheck(s), "check-render", s.warn),
		deprecated.Alias(newDiff(s), "diff", s.warn),
		deprecated.Alias(newGraph(s), "graph", s.warn),
	)
	return cmd
}
