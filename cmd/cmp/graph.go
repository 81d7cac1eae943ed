package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/view"
)

func newGraph(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph DIR...",
		Short: "Draw the sync waves of a component, or the steps of a fleet, also as an HTML page",
		Long: `Draw the sync waves of the component in DIR with their objects, and an arrow from each
object to the ones it refers to. A bold arrow is a gate: Argo CD waits until the object
that it points to is healthy. A dashed arrow is inferred. References that do not affect
the order are omitted, and similar objects of a wave are drawn as one.

If DIR is a directory of components, or there are several, draw the steps of the fleet
with its components and their dependencies. A red arrow contradicts the order.

-o html is a self-contained page that works offline: waves, reasons, findings and, for a
fleet, the simulated rollout of each environment. It has no content of manifests.`,
		Example: `  cmp graph ./component
  cmp graph ./component --object Deployment/web -o dot > web.dot
  cmp graph ./component -o html > report.html
  cmp graph ./components --object keycloak
  cmp graph ./components -o dot | dot -Tpdf > fleet.pdf`,
		Args: option.Args(1, option.Many),
	}
	in := inputs.AddAny(cmd, "Omit components that are not deployed in this environment")
	in.ExpandSets()
	in.ForComponent("generator-values")
	in.Fleet.Source.Partial, in.Fleet.Source.Assume = true, true
	format := option.Format(cmd, "Format of the drawing", graphFormats()...)
	around := cmd.Flags().String("object", "", "Draw only this object (KIND/NAME), or this component of a fleet, its dependencies and its dependents")
	all := cmd.Flags().Bool("all", false, "Draw every reference or dependency, and do not group similar objects")
	durations := durationsFlag(cmd.Flags())
	in.ForFleet("durations")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isFleet, err := in.IsFleet(args)
		if err != nil {
			return err
		}
		if *format == htmlFormat {
			if in.IsSet("object") || *all {
				return usage.Error{Err: errWholePage}
			}
			page, err := pageOf(cmd.Context(), s, in, isFleet, args, *durations)
			return s.print(page, err)
		}
		if in.IsSet("durations") {
			return usage.Errorf("--durations has no effect on -o %s; remove it, or write -o html", *format)
		}
		graph := view.GraphOptions{Format: draw.Format(*format), All: *all}
		if in.IsSet("object") {
			graph.Around = around
		}
		if isFleet {
			return graphFleet(cmd.Context(), s, in, args, graph)
		}
		opt, err := in.Options()
		if err != nil {
			return err
		}
		drawing, found, err := view.Graph(cmd.Context(), opt, args[0], graph)
		s.warn(found...)
		return s.emit(drawing, err)
	}
	return cmd
}

func graphFleet(ctx context.Context, s streams, in *inputs.Any, dirs []string, graph view.GraphOptions) error {
	opt, err := in.FleetOptions()
	if err != nil {
		return err
	}
	drawing, found, err := view.FleetGraph(ctx, opt, s.withoutFiles(dirs), graph)
	s.warn(found...)
	return s.emit(drawing, err)
}

// pageOf returns the page of a component or a fleet.
func pageOf(ctx context.Context, s streams, in *inputs.Any, isFleet bool, dirs []string, durations string) (string, error) {
	if isFleet {
		opt, err := in.FleetOptions()
		if err != nil {
			return "", err
		}
		page, found, err := view.FleetPage(ctx, opt, s.withoutFiles(dirs), durations)
		s.warn(found...)
		return page, err
	}
	opt, err := in.Options()
	if err != nil {
		return "", err
	}
	page, found, err := view.Page(ctx, opt, dirs[0])
	s.warn(found...)
	return page, err
}

// htmlFormat is the format of the interactive page.
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
