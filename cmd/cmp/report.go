package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
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
		Args: cobra.MinimumNArgs(1),
	}
	in := addAnyInputs(cmd, "Omit components that are not deployed in this environment")
	in.fleet.source.Partial, in.fleet.source.Assume = true, true
	output := cmd.Flags().StringP("output", "o", "-", "File to write the page to, - for standard output")
	_ = cmd.RegisterFlagCompletionFunc("output", complete.AnyFile) // the flag is there
	durations := durationsFlag(cmd.Flags())
	in.forFleet(cmd.Flags(), "durations")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(formatWords, *output) {
			return usage.Errorf("--output names the file of the page here, and %q is a format of other commands; write -o report.html, or -o ./%s for a file of that name", *output, *output)
		}
		isFleet, err := in.isFleet(cmd, args)
		if err != nil {
			return err
		}
		if err := in.ready(isFleet, args); err != nil {
			return err
		}
		page, err := in.page(cmd, s, isFleet, args, *durations)
		if err != nil {
			return err
		}
		if *output == "-" {
			return s.print(page, nil)
		}
		if err := wholefile.WriteFile(*output, []byte(s.spelled(page)), 0o644); err != nil {
			return fmt.Errorf("%s: %s; name a file that can be written", *output, wholefile.Reason(err))
		}
		return nil
	}
	return cmd
}

// formatWords are formats that -o accepts in other commands, and that are unlikely as names of
// files.
var formatWords = append(drawings(), reportText, reportJSON, reportSARIF, diffMarkdown, "yaml")
