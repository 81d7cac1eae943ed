package main

import (
	"github.com/spf13/cobra"
)

func newFleet(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Check, compute and generate the rollout of many components",
		Long: `Look at a folder of components, each with a component.yaml: what each renders to,
what it needs of the others, and whether the phases in which they are rolled out
are right. The key fleet of its ladder.yaml says how it is rolled out.`,
		Example: `  cmp fleet lint ./components
  cmp fleet appset ./components > argocd/platform.yaml`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newFleetGraph(s),
		newFleetImport(s),
		newFleetInventory(s),
		newFleetLint(s), newFleetCheckRender(s), newFleetSchema(s),
		newFleetPhases(s),
		newFleetSimulate(s),
		newFleetDiff(s),
		newFleetAppset(s),
		newFleetApps(s),
		newFleetBootstrap(s),
	)
	for _, sub := range cmd.Commands() {
		sub.Args = asUsage(sub.Args)
	}
	return cmd
}
