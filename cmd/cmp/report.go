package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/option"
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
	in := addAnyInputs(cmd, "Omit components that are not deployed in this environment")
	in.fleet.source.Partial, in.fleet.source.Assume = true, true
	output := option.OutputFile(cmd, "File to write the page to, - for standard output", "the page", "report.html")
	durations := durationsFlag(cmd.Flags())
	in.forFleet(cmd.Flags(), "durations")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isFleet, err := in.isFleet(cmd, args)
		if err != nil {
			return err
		}
		page, err := in.page(cmd, s, isFleet, args, *durations)
		if err != nil {
			return err
		}
		return output.Write(s.Out, s.withProgramName(page), 0o644)
	}
	return cmd
}
