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
		Short: "Draw the sync waves of a component and what its objects refer to",
		Long: `Draw the ladder of the component in DIR: its waves as bands, the objects in
them, and an arrow from each object to what it refers to. A bold arrow is a
gate: Argo CD waits until the object at its head is healthy. A dashed arrow is
inferred. Hooks of other phases have bands of their own, in the order of the
phases.

References that order nothing are left out, and so are those of everything to
its namespace or definition, unless they decide a wave or the object comes
before them. Four or more objects of a kind in one wave with the same arrows are
drawn as one. Names have a namespace in front only where it is not the one of
most objects.`,
		Example: `  cmp graph ./component
  cmp graph ./component -o svg > ladder.svg
  cmp graph ./component -o dot | dot -Tpdf > ladder.pdf
  cmp graph ./component --object Deployment/web`,
		Args: cobra.ExactArgs(1),
	}
	in := addInputs(cmd)
	format := option.Format(cmd, "Format of the drawing", drawings()...)
	object := cmd.Flags().String("object", "", "Draw only this object, all that it needs, and what refers to it; as KIND/NAME")
	all := cmd.Flags().Bool("all", false, "Draw every reference, and every object by itself")
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
var errWholePage = errors.New("the page of -o html has all, and chooses in the browser; drop the flags that choose, or draw a picture")

func drawings() []string {
	var names []string
	for _, f := range draw.Formats() {
		names = append(names, string(f))
	}
	return append(names, drawnPage)
}
