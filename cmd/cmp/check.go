package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/manifests"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/internal/verdict"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

func newCheck(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check DIR...|FILE|- | --changed FILE...",
		Short: "Check sync waves by simulating a sync",
		Long: `Simulate a sync of manifests with their waves and hooks, report each object that
cannot be applied or become healthy in its wave, and list what Argo CD waits for in
each wave. DIR is a component to render; FILE or - (standard input) contains manifests.
With --waves, check the waves that Ladder computes instead of those in the manifests.

If DIR is a directory of components, check each of them with the waves that Ladder
computes, and print a line for each Application. With --changed, do the same for the
components that contain FILE..., for example the files that a commit changes. The
first line of the output says which waves were checked. Directories of manifests that
belong to no component get a warning.

Exits with 1 if there is an error or, with --strict, a warning.`,
		Example: `  cmp check ./component
  cmp check ./components --strict
  kustomize build ./overlay | cmp check - -o sarif > waves.sarif
  git diff --name-only main | xargs cmp check --changed`,
	}
	in := addAnyInputs(cmd, "Check only the components deployed in this environment")
	in.ExpandSets()
	in.flags.Lookup("waves").Usage = "Which waves to check. rungs, compact: those that Ladder computes; off: those in the manifests (default: off for one component or file, otherwise rungs)"
	in.forComponent("generator-values")
	in.fleet.addProjects(cmd.Flags())
	in.forFleet(cmd.Flags(), "project-from-components", "allow-project")
	changed := cmd.Flags().Bool("changed", false, "Check the components that contain the named files")
	in.forComponent("changed")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *changed {
			return nil // no files, no components
		}
		return cobra.MinimumNArgs(1)(cmd, args)
	}
	format := option.Format(cmd, "Format of the report", reportText, reportJSON, reportSARIF)
	strict := strictFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := knownReport(*format); err != nil {
			return err
		}
		isFleet := !*changed && (belowFleet(cmd) || in.anyFleet(slices.DeleteFunc(slices.Clone(args), isFile), nil))
		if err := in.ready(isFleet, args); err != nil {
			return err
		}
		var r verdict.Verdict
		var err error
		asTheyAre := plugin.Settings{Order: wave.Options{Waves: wave.Off}}
		switch {
		case isFleet:
			r, err = in.fleet.check(cmd, s, args)
		case *changed:
			r, err = checkChanged(in.Component, args)
		case len(args) > 1:
			r, err = checkAll(in.Component, args, asTheyAre)
		default:
			r, err = checkOne(in.Component, s.In, args[0], asTheyAre)
		}
		if err != nil {
			return err
		}
		return writeVerdict(s, r, *format, *strict)
	}
	return cmd
}

// unexpanded says that the ApplicationSets of a file are not expanded.
func unexpanded(objs []object.Object) []finding.Finding {
	var all []finding.Finding
	for _, o := range objs {
		if o.ID.GroupKind() == "ApplicationSet.argoproj.io" {
			all = append(all, finding.Finding{Severity: finding.Note, Rule: "not-expanded", File: o.File, Line: o.Line, Object: o.ID.String(),
				Message: "an ApplicationSet in a file is not expanded, so its Applications are not checked", Remedy: "name the directory of the file in its repository"})
		}
	}
	return all
}

// isFile reports whether an argument is a file of manifests or standard input.
func isFile(arg string) bool { return !manifests.IsDir(arg) }

// checkOne checks a component or manifests. Its error is about the command line.
func checkOne(in *inputs.Component, stdin io.Reader, arg string, defaults plugin.Settings) (verdict.Verdict, error) {
	var res plugin.Result
	var err error
	if manifests.IsDir(arg) {
		res, err = in.Generate(arg, defaults)
	} else {
		res, err = in.Annotate(stdin, arg, defaults)
	}
	if usage.Is(err) {
		return verdict.Verdict{}, err
	}
	if err != nil { // what cannot be ordered at all is the gravest finding
		return verdict.Verdict{Findings: finding.Of(err)}, nil
	}
	if !manifests.IsDir(arg) {
		res.Findings = append(res.Findings, unexpanded(res.Objects)...)
	}
	waves := checkedWaves(in, defaults)
	if waves == verdict.Computed && slices.ContainsFunc(res.Plan.Places, func(p wave.Placement) bool { return p.Author }) {
		waves = verdict.Following
	}
	return verdict.Verdict{Findings: slices.Concat(res.Findings, res.RenewalFindings(), res.LookupFindings()), Plan: res.Plan, Gates: res.Plan.Audit(res.Base), Waves: waves}, nil
}
