package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/view"
)

func newReport(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write an HTML report of a component or a fleet, with waves, reasons and findings",
		Long: `Write a self-contained HTML page that works offline. It shows the waves of the
component in DIR with their objects, references and reasons, what Argo CD waits for,
and the findings. It contains names, waves and reasons, but no content of manifests.

If DIR is a directory of components, or there are several, the page shows a fleet: its
components by step, their dependencies, the waves of each, and the simulated rollout of
each environment. Flags for rendering a single component are rejected for a fleet.

The same input always produces the same page. Findings do not change the exit code.`,
		Example: `  cmp report ./component -o report.html
  cmp report ./components --environment production -o fleet.html`,
		Args: option.Args(1, option.Many),
	}
	in := inputs.AddAny(cmd, "Omit components that are not deployed in this environment")
	in.Fleet.Source.Partial, in.Fleet.Source.Assume = true, true
	output := option.OutputFile(cmd, "File to write the page to, - for standard output", "the page", "report.html")
	durations := durationsFlag(cmd.Flags())
	in.ForFleet("durations")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isFleet, err := in.IsFleet(args)
		if err != nil {
			return err
		}
		page, err := pageOf(cmd.Context(), s, in, isFleet, args, *durations)
		if err != nil {
			return err
		}
		return output.Write(s.Out, s.withProgramName(page), 0o644)
	}
	return cmd
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
