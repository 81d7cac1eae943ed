package command

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/internal/cli"
)

func newFleetInventory(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inventory DIR|FILE|-...",
		Short: "List the components of a fleet by step",
		Long: `List the components of a fleet by step: what each one is, where it is deployed, what it
provides to others and depends on, and the steps of the rollout. Components that are
disabled or deployed only to some environments are included.

-o checklist is a script of "argocd app wait" lines, in the order of the steps, to run
after a rollout.`,
		Example: `  cmp fleet inventory ./components > INVENTORY.md
  cmp fleet inventory ./components -o json | jq -r '.components[] | select(.rolloutPhase == "120") | .name'
  cmp fleet inventory ./components -o html > inventory.html
  cmp fleet inventory ./components -o checklist | sh`,
	}
	in := addFleetFlags(cmd)
	in.Source.Partial = true
	in.setEnvironmentHelp("Mark the components that are not deployed in this environment")
	format := cli.Format(cmd, "Format", inventory.Formats...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all, err := loadFleet(cmd.Context(), s, in, args, loadAll)
		if err != nil {
			return err
		}
		text, err := inventory.New(all.Fleet, in.Source.Environment).Render(*format)
		if err != nil {
			return err
		}
		s.Warn(all.Omissions...)
		for _, app := range all.Fleet.At(in.Source.Environment).Applications {
			if app.Failed {
				s.Warn(app.Findings...)
			}
		}
		return s.Print(text, nil)
	}
	return cmd
}
