package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/rollout"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
)

func newFleetGraph(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph DIR...",
		Short: "Draw the components of a fleet by phase, with their dependencies",
		Long: `Draw the rollout of the components in DIR: their phases as bands, the first on
top, and an arrow from each component to what it needs, with the strongest
reason. A bold arrow leads to what must be healthy first, a dashed one is
inferred, and a red one runs against the phases. What is not deployed keeps its
place.

Who needs a database that needs an operator needs the operator: arrows that
follow from others are left out, and so are those that order nothing. The page of
-o html, which is that of cmp report, has every reason.`,
		Example: `  cmp fleet graph ./components
  cmp fleet graph ./components -o svg > fleet.svg
  cmp fleet graph ./components --component keycloak
  cmp fleet graph ./components -o dot | dot -Tpdf > fleet.pdf`,
	}
	in := addFleetInputs(cmd)
	in.source.Partial = true
	format := option.Format(cmd, "Format of the drawing", drawings()...)
	component := cmd.Flags().String("component", "", "Draw only this component, its dependencies and its dependents")
	all := cmd.Flags().Bool("all", false, "Draw every dependency, including those that follow from others or order nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := option.KnownFormat(*format, drawings()...); err != nil {
			return err
		}
		if *format == drawnPage {
			if cmd.Flags().Changed("component") || *all {
				return usage.Error{Err: errWholePage}
			}
			page, err := in.report(cmd, s, args, "")
			if err != nil {
				return err
			}
			_, err = io.WriteString(s.Out, page)
			return err
		}
		f, err := in.load(cmd, s, args)
		if err != nil {
			return err
		}
		opt := fleet.GraphOptions{All: *all}
		if cmd.Flags().Changed("component") {
			if opt.Around, err = rollout.FindApplication(f, *component); err != nil {
				return err
			}
		}
		warn(s, f.Findings)
		_, err = io.WriteString(s.Out, f.Graph(opt).Draw(draw.Format(*format)))
		return err
	}
	return cmd
}
