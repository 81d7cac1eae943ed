package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/wholefile"
)

func newReport(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write a web page of a component or a fleet, with waves, reasons and findings",
		Long: `Write one page that opens from disk and needs no network. It shows the waves of the
component in DIR with their objects, references and reasons, what Argo CD waits for,
and the findings. It holds names, waves and reasons, but no content of manifests.

If DIR has no component.yaml but a directory below it does, or if there are several
DIRs, the page shows a fleet: its components by step, their dependencies, the waves
of each, and the simulated rollout of each environment. Flags for rendering a single
component are then rejected.

The page is deterministic. Findings do not change the exit code.`,
		Example: `  cmp report ./component -o report.html
  cmp report ./components --environment production -o fleet.html`,
		Args: cobra.MinimumNArgs(1),
	}
	in := addInputs(cmd)
	ofComponent := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		ofComponent[f.Name] = !slices.Contains([]string{"ladder", "kube-version", "api-versions"}, f.Name)
	})
	output := cmd.Flags().StringP("output", "o", "-", "File to write the page to, - for standard output")
	_ = cmd.RegisterFlagCompletionFunc("output", complete.AnyFile) // the flag is there
	environment := cmd.Flags().String("environment", "", "Of a fleet, leave out components that are not deployed there")
	durations := durationsFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(formatWords, *output) {
			return usage.Errorf("--output names the file of the page here, and %q is a format of other commands; write -o report.html, or -o ./%s for a file of that name", *output, *output)
		}
		isFleet, err := isFleet(args)
		if err != nil {
			return err
		}
		if err := reportFlags(cmd.Flags(), isFleet, ofComponent, args); err != nil {
			return err
		}
		var page string
		if isFleet {
			settings, err := in.settings()
			if err != nil {
				return err
			}
			of := &fleetInputs{ladder: in.ladder, source: fleet.Source{Partial: true, Environment: *environment, KubeVersion: settings.KubeVersion, APIVersions: settings.APIVersions}}
			page, err = of.report(cmd, s, args, *durations)
			if err != nil {
				return err
			}
		} else if page, err = in.report(cmd, s, args[0]); err != nil {
			return err
		}
		if *output == "-" {
			_, err = io.WriteString(s.Out, page)
			return err
		}
		if err := wholefile.WriteFile(*output, []byte(page), 0o644); err != nil {
			return fmt.Errorf("%s: %s; name a file that can be written", *output, wholefile.Reason(err))
		}
		return nil
	}
	return cmd
}

// reportFlags refuses flags that are for a fleet where there is a component, and the
// other way round.
func reportFlags(flags *pflag.FlagSet, isFleet bool, ofComponent map[string]bool, args []string) error {
	var faults []error
	flags.Visit(func(f *pflag.Flag) {
		switch {
		case isFleet && ofComponent[f.Name]:
			faults = append(faults, fmt.Errorf("--%s is for one component, and %s is a fleet; drop it, or name one component", f.Name, strings.Join(args, " ")))
		case !isFleet && (f.Name == "environment" || f.Name == "durations"):
			faults = append(faults, fmt.Errorf("--%s is for a fleet, and %s is a component; drop it, or name the folder of the components", f.Name, args[0]))
		}
	})
	if len(faults) > 0 {
		return usage.Error{Err: errors.Join(faults...)}
	}
	return nil
}

// formatWords are what -o takes elsewhere: nobody means a file of that name.
var formatWords = append(drawings(), reportText, reportJSON, reportSARIF, diffMarkdown, "yaml")
