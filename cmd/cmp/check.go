package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/check"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

func newCheck(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check DIR...|FILE|- | --changed FILE...",
		Short: "Check sync waves by simulating a sync, or find non-deterministic output",
		Long: `Simulate a sync of manifests with their waves and hooks, report each object that
cannot be applied or become healthy in its wave, and list what Argo CD waits for in
each wave. DIR is a component to render; FILE or - (standard input) contains manifests.
With --waves rungs, --waves compact or --hooks order, check the waves that Ladder computes
instead of those in the manifests.

If DIR is a directory of components, check each of them with computed waves, and print a
line for each Application; with --changed, those that contain FILE.... If one of them has
a component.yaml, only those that have one are checked, and others get a warning.

With --deterministic, render the components several times instead, and report what makes
the output differ: API versions, the Kubernetes version, generated values, the time.

Exits with 1 if there is an error or, with --strict, a warning.`,
		Example: `  cmp check ./component
  cmp check ./components --deterministic --strict
  kustomize build ./overlay | cmp check - -o sarif > waves.sarif
  git diff --name-only main | xargs cmp check --changed`,
	}
	in := inputs.AddAny(cmd, "Check only the components deployed in this environment")
	in.ExpandSets()
	cmd.Flags().Lookup("waves").Usage = "Which waves to check. rungs, compact: those that Ladder computes; off: those in the manifests (default: rungs for a directory of components, with --changed and with hooks: order, otherwise off)"
	help.Put(cmd.Flags(), help.Own, "waves") // the text above names it
	in.ForComponent("generator-values")
	in.Fleet.AddProjects()
	in.ForFleet("allow-project")
	changed := cmd.Flags().Bool("changed", false, "Check the components that contain the named files")
	in.ForComponent("changed")
	deterministic := cmd.Flags().Bool("deterministic", false, "Render components several times, and report what differs and why")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *changed {
			return nil // without files, there are no components to check
		}
		return option.Args(1, option.Many)(cmd, args)
	}
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := strictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *deterministic {
			return checkDeterminism(cmd, s, in, args, *format, *strict)
		}
		isFleet := !*changed && in.AnyFleet(checkout.Dirs(args), nil)
		if err := in.Reject(isFleet, args); err != nil {
			return err
		}
		if isFleet {
			return checkFleet(cmd.Context(), s, in, args, *format, *strict)
		}
		opt, err := in.Options()
		if err != nil {
			return err
		}
		var r verdict.Verdict
		if *changed {
			r, err = check.Changed(cmd.Context(), opt, args)
		} else {
			r, err = check.Named(cmd.Context(), opt, s.In, args)
		}
		if err != nil {
			return err
		}
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}

// checkDeterminism reports non-deterministic output of components, also of each component of a
// fleet with the flags for one.
func checkDeterminism(cmd *cobra.Command, s streams, in *inputs.Any, dirs []string, format string, strict bool) error {
	for _, flag := range []string{"changed", "waves", "parallel", "allow-project"} {
		if in.IsSet(flag) {
			return usage.Errorf("--%s has no effect with --deterministic; remove one of the two", flag)
		}
	}
	for _, arg := range dirs {
		if !checkout.IsDir(arg) {
			return usage.Errorf("%s is not a directory; --deterministic renders components, so name their directories", arg)
		}
	}
	opt, err := in.Options()
	if err != nil {
		return err
	}
	r, err := check.Determinism(cmd.Context(), opt, s.withoutFiles(dirs))
	if err != nil {
		return err
	}
	return writeVerdict(s, r, format, strict)
}

func checkFleet(ctx context.Context, s streams, in *inputs.Any, dirs []string, format string, strict bool) error {
	opt, err := in.FleetOptions()
	if err != nil {
		return err
	}
	r, err := check.Fleet(ctx, opt, s.withoutFiles(dirs))
	if err != nil {
		return err
	}
	return writeVerdict(s, r, format, strict)
}
