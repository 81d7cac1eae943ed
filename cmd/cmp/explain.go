package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/wave"
	"github.com/ladder-cmp/ladder/wave/explain"
)

func newExplain(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain DIR [KIND/NAME]",
		Short: "Explain the sync waves of a component, or of one object in it",
		Long: `Explain the order of the component in DIR: a table of its objects in the order in
which Argo CD applies them, with the reason for each wave. For a single object,
print the whole chain of reasons for its wave, and its references.

For an ApplicationSet, also list the Applications that it generates.

Errors that do not prevent the explanation, such as a deadlock in existing waves, are
reported on standard error, and the command exits with 0. With --strict, it exits with 1
if there is an error or a warning.`,
		Example: `  cmp explain ./component
  cmp explain ./component Deployment/web
  cmp explain ./component Deployment/shop/web
  cmp explain ./component -o json | jq '.objects[] | select(.rung == "controllers") | .name'`,
		Args: option.Args(1, 2),
	}
	in := inputs.Add(cmd)
	in.ExpandSets()
	strict := cmd.Flags().Bool("strict", false, "Exit with 1 if there is an error or a warning (default: findings do not change the exit code if the component can be rendered and ordered)")
	format := option.Format(cmd, "Format", reportText, reportJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		res, err := in.Generate(args[0])
		if err != nil {
			s.warn(res.Findings...)
			return err
		}
		order, err := explain.Order(res.Plan, res.SetsByNode(), args[1:]...)
		if err != nil {
			return err
		}
		exitErr := warnStrictly(s, res.AllFindings(), *strict)
		if len(args) == 1 && res.Plan.NeedsNoWaves() {
			s.note("%s", whyNoWaves(res.Plan))
		}
		if awaited := res.Plan.WaitsToRead(); len(args) == 1 && awaited != "" {
			s.note("each sync waits for %s, only because other objects read what that writes: while it is unhealthy, no sync goes on; waves: compact does not wait", awaited)
		}
		if *format == reportJSON {
			return cmp.Or(writeJSON(s, order), exitErr)
		}
		return cmp.Or(s.print(order.Text(), nil), exitErr)
	}
	return cmd
}

// whyNoWaves says why a plan has one wave.
func whyNoWaves(p *wave.Plan) string {
	switch {
	case p.OmitsGates():
		return "Ladder adds no waves: each wait would be for an object that may never be healthy"
	case p.RefersToAwaited():
		return "Ladder adds no waves: nothing shows that one object must wait for another, and those that refer to others start together with them"
	}
	return "no object needs to wait for another, so Ladder adds no waves"
}
