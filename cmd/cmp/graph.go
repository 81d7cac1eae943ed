package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/fleet/command"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/report"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

func newGraph(s cli.Streams) *cobra.Command {
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
		Args: cli.Args(1, cli.Many),
	}
	in := command.AddAny(cmd, "Omit components that are not deployed in this environment")
	in.ExpandSets()
	in.ForComponent("generator-values")
	in.Fleet.Source.Partial, in.Fleet.Source.Assume = true, true
	format := cli.Format(cmd, "Format of the drawing", graphFormats()...)
	around := cmd.Flags().String("object", "",
		"Draw only this object (KIND/NAME), or this component of a fleet, its dependencies and its dependents")
	all := cmd.Flags().Bool("all", false, "Draw every reference or dependency, and do not group similar objects")
	durations := command.DurationsFlag(cmd.Flags())
	in.ForFleet("durations")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isFleet, err := in.IsFleet(args)
		if err != nil {
			return err
		}
		if *format == htmlFormat {
			if in.IsSet("object") || *all {
				return finding.UsageError{Err: errWholePage}
			}
			page, err := pageOf(cmd.Context(), s, in, isFleet, args, *durations)
			return s.Print(page, err)
		}
		if in.IsSet("durations") {
			return finding.Usagef("--durations has no effect on -o %s; remove it, or write -o html", *format)
		}
		graph := graphOptions{Format: draw.Format(*format), All: *all}
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
		drawing, found, err := drawComponent(cmd.Context(), opt, args[0], graph)
		s.Warn(found...)
		return s.Emit(drawing, err)
	}
	return cmd
}

func graphFleet(ctx context.Context, s cli.Streams, in *command.Any, dirs []string, graph graphOptions) error {
	opt, err := in.FleetOptions()
	if err != nil {
		return err
	}
	drawing, found, err := command.FleetGraph(ctx, opt, command.Arguments(s, dirs), graph.Format, graph.Around, graph.All)
	s.Warn(found...)
	return s.Emit(drawing, err)
}

// pageOf returns the page of a component or a fleet.
func pageOf(ctx context.Context, s cli.Streams, in *command.Any, isFleet bool, dirs []string, durations string) (string, error) {
	if isFleet {
		opt, err := in.FleetOptions()
		if err != nil {
			return "", err
		}
		page, found, err := command.FleetPage(ctx, opt, command.Arguments(s, dirs), durations)
		s.Warn(found...)
		return page, err
	}
	opt, err := in.Options()
	if err != nil {
		return "", err
	}
	page, found, err := componentPage(ctx, opt, dirs[0])
	s.Warn(found...)
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

// graphOptions say what to draw.
type graphOptions struct {
	Format draw.Format
	// Around is the object or component to draw with its dependencies and dependents; nil draws
	// everything.
	Around *string
	// All also draws references that do not affect the order, and does not group objects.
	All bool
}

// drawComponent draws the waves of the component in dir.
func drawComponent(ctx context.Context, opt flags.Options, dir string,
	graph graphOptions) (drawing string, found []finding.Finding, err error) {
	res, err := opt.Generate(ctx, dir)
	if err != nil {
		return "", res.Findings, err
	}
	of := draw.Options{All: graph.All, ApplicationNames: res.GeneratedNames()}
	if graph.Around != nil {
		if of.Focus, err = findObjects(res.Plan, *graph.Around); err != nil {
			return "", nil, err
		}
	}
	return draw.Ladder(res.Plan, graph.Format, of), res.Findings, nil
}

// componentPage returns the HTML report of the component in dir, and the findings of its rendering.
func componentPage(ctx context.Context, opt flags.Options, dir string) (page string, found []finding.Finding, err error) {
	page, err = flags.With(ctx, opt, dir, func(ctx context.Context, req plugin.Request, base *knowledge.Base) (string, error) {
		res, err := plugin.Generate(ctx, req, base)
		if err != nil {
			return "", err
		}
		found = res.Findings
		return report.Component{Ladder: report.LadderOf(req.DirName, res.Plan, res.Base, res.Findings)}.HTML()
	})
	return page, found, err
}
