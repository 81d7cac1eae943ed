package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/wave/explain"
)

func newGraph(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph DIR...",
		Short: "Draw the sync waves of a component, or the steps of a fleet",
		Long: `Draw the sync waves of the component in DIR with their objects, and an arrow from each
object to the ones it refers to. A bold arrow is a gate: Argo CD waits until the object
that it points to is healthy. A dashed arrow is inferred. References that do not affect
the order are omitted, and similar objects of a wave are drawn as one.

If DIR is a directory of components, or there are several, draw the steps of the fleet
with its components and their dependencies. A red arrow contradicts the order.`,
		Example: `  cmp graph ./component
  cmp graph ./component --object Deployment/web -o svg > web.svg
  cmp graph ./components --component keycloak
  cmp graph ./components -o dot | dot -Tpdf > fleet.pdf`,
		Args: option.Args(1, option.Many),
	}
	in := addAnyInputs(cmd, "Omit components that are not deployed in this environment")
	in.ExpandSets()
	in.forComponent("generator-values")
	in.fleet.source.Partial, in.fleet.source.Assume = true, true
	format := option.Format(cmd, "Format of the drawing", graphFormats()...)
	object := cmd.Flags().String("object", "", "Draw only this object, its dependencies and its dependents; as KIND/NAME")
	component := cmd.Flags().String("component", "", "Draw only this component, its dependencies and its dependents")
	all := cmd.Flags().Bool("all", false, "Draw every reference or dependency, and do not group similar objects")
	in.forComponent("object")
	in.forFleet(cmd.Flags(), "component")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isFleet, err := in.isFleet(cmd, args)
		if err != nil {
			return err
		}
		if *format == htmlFormat {
			if cmd.Flags().Changed("object") || cmd.Flags().Changed("component") || *all {
				return usage.Error{Err: errWholePage}
			}
			page, err := in.page(cmd, s, isFleet, args, "")
			return s.print(page, err)
		}
		if isFleet {
			drawing, err := in.fleet.graph(cmd, s, args, *component, *all, draw.Format(*format))
			return emit(s, drawing, err)
		}
		res, err := in.Generate(args[0])
		if err != nil {
			return err
		}
		opt := draw.Options{All: *all, ApplicationNames: res.GeneratedNames()}
		if cmd.Flags().Changed("object") {
			if opt.Focus, err = explain.Find(res.Plan, *object); err != nil {
				return err
			}
		}
		warn(s, res.Findings)
		return emit(s, draw.Ladder(res.Plan, draw.Format(*format), opt), nil)
	}
	return cmd
}

// htmlFormat is the format of the interactive page, the same as that of cmp report.
const htmlFormat = "html"

// errWholePage means that a page cannot show only a part of a drawing.
var errWholePage = errors.New("-o html draws everything and filters in the browser; remove the filter flags, or use another format")

func graphFormats() []string {
	var names []string
	for _, f := range draw.Formats() {
		names = append(names, string(f))
	}
	return append(names, htmlFormat)
}
