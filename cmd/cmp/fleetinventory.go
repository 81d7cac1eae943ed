package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/inventory"
	"github.com/ladder-cmp/ladder/internal/fleets"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newFleetInventory(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inventory DIR...",
		Short: "List the components of a fleet by step",
		Long: `List the components of a fleet by step: what each one is, where it is deployed, what it
provides to others and depends on, and the steps of the rollout. Components that are
disabled or deployed only to some environments are included.`,
		Example: `  cmp fleet inventory ./components > INVENTORY.md
  cmp fleet inventory ./components -o json | jq -r '.components[] | select(.rolloutPhase == "120") | .name'
  cmp fleet inventory ./components -o html > inventory.html`,
	}
	in := inputs.AddFleet(cmd)
	in.Source.Partial = true
	in.SetEnvironmentHelp("Mark the components that are not deployed in this environment")
	format := option.Format(cmd, "Format", inventory.Formats...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all, err := loadFleet(cmd.Context(), s, in, args, fleets.LoadAll)
		if err != nil {
			return err
		}
		text, err := inventory.New(all.Fleet, in.Source.Environment).Render(*format)
		if err != nil {
			return err
		}
		s.warn(all.Omissions...)
		for _, app := range all.Fleet.At(in.Source.Environment).Applications {
			if app.Failed {
				s.warn(app.Findings...)
			}
		}
		return s.print(text, nil)
	}
	return cmd
}
