package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

func newCheck(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check DIR|FILE|- | --changed FILE...",
		Short: "Check the sync waves of manifests by simulating a sync",
		Long: `Simulate a sync of manifests with their waves and hooks, report each object that
could not be applied or become healthy in its wave, and list what Argo CD waits
for in each wave. DIR is a component to render; FILE or - (standard input) holds
rendered manifests.

With --waves, check the order that Ladder would compute. With --changed, check the
components that contain the FILEs, in the order that the plugin computes: the
nearest directory above with a component.yaml, or else the chart, or the nearest
kustomization.

Exits with 1 if there is a finding of severity error.`,
		Example: `  cmp check ./component
  kustomize build ./overlay | cmp check - -o sarif > waves.sarif
  git diff --name-only main | xargs cmp check --changed`,
	}
	in := addInputs(cmd)
	changed := cmd.Flags().Bool("changed", false, "Check the components that contain the named files")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *changed {
			return nil // no files, no components
		}
		return cobra.ExactArgs(1)(cmd, args)
	}
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		asTheyAre := plugin.Settings{Order: wave.Options{Waves: wave.Off}}
		if *changed {
			return in.checkTouched(cmd, s, args, *format)
		}
		var res plugin.Result
		var err error
		if manifests.IsDir(args[0]) {
			res, err = in.generate(cmd, args[0], asTheyAre)
		} else {
			res, err = in.annotate(s, args[0], asTheyAre)
		}
		if usage.Is(err) {
			return err
		}
		r := verdict.Verdict{Findings: slices.Concat(res.Findings, res.RenewalFindings(), res.LookupFindings())}
		if err != nil {
			// What cannot be ordered at all is the gravest finding.
			r.Findings = finding.Of(err)
		} else {
			r.Plan, r.Gates = res.Plan, res.Plan.Audit(res.Base)
		}
		return writeVerdict(s, r, *format, false)
	}
	return cmd
}
