package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/check"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

func newCheck(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check DIR...|FILE|- | --changed FILE...",
		Short: "Check sync waves by simulating a sync",
		Long: `Simulate a sync of manifests with their waves and hooks, report each object that
cannot be applied or become healthy in its wave, and list what Argo CD waits for in
each wave. DIR is a component to render; FILE or - (standard input) contains manifests.
With --waves rungs or --waves compact, check the waves that Ladder computes instead of
those in the manifests.

If DIR is a directory of components, check each of them with the waves that Ladder
computes, and print a line for each Application. With --changed, check the components
that contain FILE..., such as the files that a commit changes, with the waves that
Ladder computes, but print only the findings and a summary. The first line of the
output says which waves were checked. Directories that contain manifests but belong to
no component get a warning.

Exits with 1 if there is an error or, with --strict, a warning.`,
		Example: `  cmp check ./component
  cmp check ./components --strict
  kustomize build ./overlay | cmp check - -o sarif > waves.sarif
  git diff --name-only main | xargs cmp check --changed`,
	}
	in := addAnyInputs(cmd, "Check only the components deployed in this environment")
	in.ExpandSets()
	in.flags.Lookup("waves").Usage = "Which waves to check. rungs, compact: those that Ladder computes; off: those in the manifests (default: rungs for a directory of components and with --changed, otherwise off)"
	help.Put(in.flags, help.Own, "waves") // the text above names it
	in.forComponent("generator-values")
	in.fleet.addProjects(cmd.Flags())
	in.forFleet(cmd.Flags(), "project-from-components", "allow-project")
	changed := cmd.Flags().Bool("changed", false, "Check the components that contain the named files")
	in.forComponent("changed")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *changed {
			return nil // without files, there are no components to check
		}
		return option.Args(1, option.Many)(cmd, args)
	}
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := strictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isFleet := !*changed && (belowFleet(cmd) || in.anyFleet(manifests.Dirs(args), nil))
		if err := in.complete(isFleet, args); err != nil {
			return err
		}
		var r verdict.Verdict
		var err error
		switch {
		case isFleet:
			r, err = in.fleet.check(cmd, s, args)
		case *changed:
			r, err = check.Changed(in.Component, args)
		default:
			r, err = check.Named(in.Component, s.In, args)
		}
		if err != nil {
			return err
		}
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}
