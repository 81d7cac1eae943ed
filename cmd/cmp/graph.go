package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/wave/explain"
)

func newGraph(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph DIR",
		Short: "Draw the sync waves and references of a component",
		Long: `Draw the waves of the component in DIR as bands, with the objects in them and an
arrow from each object to what it refers to. A bold arrow is a gate: Argo CD waits
until the object at its head is healthy. A dashed arrow is inferred. Hooks of other
phases have bands of their own, in the order of the phases.

References without effect on the order are omitted, and so are those to namespaces
and CRDs unless they decide a wave. Four or more similar objects in one wave are
drawn as one. Names include a namespace only if it differs from that of most
objects.`,
		Example: `  cmp graph ./component
  cmp graph ./component -o svg > ladder.svg
  cmp graph ./component -o dot | dot -Tpdf > ladder.pdf
  cmp graph ./component --object Deployment/web`,
		Args: cobra.ExactArgs(1),
	}
	in := addInputs(cmd)
	format := option.Format(cmd, "Format of the drawing", drawings()...)
	object := cmd.Flags().String("object", "", "Draw only this object, what it depends on, and what refers to it; as KIND/NAME")
	all := cmd.Flags().Bool("all", false, "Draw every reference, and do not group similar objects")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := option.KnownFormat(*format, drawings()...); err != nil {
			return err
		}
		if *format == drawnPage {
			if cmd.Flags().Changed("object") || *all {
				return usage.Error{Err: errWholePage}
			}
			page, err := in.report(cmd, s, args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(s.Out, page)
			return err
		}
		res, err := in.generate(cmd, args[0])
		if err != nil {
			return err
		}
		opt := draw.Options{All: *all}
		if cmd.Flags().Changed("object") {
			if opt.Around, err = explain.Find(res.Plan, *object); err != nil {
				return err
			}
		}
		warn(s, res.Findings)
		_, err = io.WriteString(s.Out, draw.Ladder(res.Plan, draw.Format(*format), opt))
		return err
	}
	return cmd
}

// drawnPage is the format of a page with all of a drawing, which is that of cmp
// report.
const drawnPage = "html"

// errWholePage says that a part of a drawing is no page.
var errWholePage = errors.New("-o html draws everything and filters in the browser; drop the filter flags, or use another format")

func drawings() []string {
	var names []string
	for _, f := range draw.Formats() {
		names = append(names, string(f))
	}
	return append(names, drawnPage)
}
