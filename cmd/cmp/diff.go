package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newDiff(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff DIR DIR | REV DIR... | REV..REV DIR... | REV...[REV] DIR... | --applications FILE DIR...",
		Short: "Compare components or fleets before and after a change",
		Long: `Render components before and after a change, and compare objects, waves and findings.
For a directory of components, also compare the findings of the fleet. Values in Secrets
are not printed.

Compare two directories, or the same ones at two revisions of their git repository: REV
compares a branch, tag or commit with the work tree; REV..REV compares two revisions. With
three dots, start from the merge base, to leave out later commits on the first revision.

With --applications, --context or --kubeconfig, compare a fleet with the Applications that
deploy it now; for each other repository that they use, add --repo URL=DIR.

Exits with 1 if the change introduces a finding of severity error. With --exit-code: 0 if
nothing differs, 1 if something does, 2 on errors, like kubectl diff.`,
		Example: `  cmp diff main ./component
  cmp diff origin/main... ./components -o markdown > comment.md
  cmp diff ./component.old ./component
  cmp diff ./components --applications argocd/root.yaml
  cmp diff ./components --context production`,
	}
	in := addAnyInputs(cmd, "Compare only the components deployed in this environment")
	in.ExpandSets()
	in.fleet.source.Partial = true
	out := addDiffOutput(cmd)
	former := addFormerInput(cmd, in)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if former.given() {
			return option.Args(1, option.Many)(cmd, args)
		}
		return option.Args(2, option.Many)(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if err := former.check(); err != nil {
			return err
		}
		if former.given() {
			if err := in.ready(true, args); err != nil {
				return err
			}
			return in.fleet.takeover(cmd, s, args, former, out)
		}
		in.forComponent("generator-values")
		ch, err := checkout.ReadChange(args, s.directories)
		if err != nil {
			return out.trouble(err)
		}
		isFleet := belowFleet(cmd) || in.anyFleet(ch.After, ch.To) || in.anyFleet(ch.Before, ch.From)
		if err := in.ready(isFleet, ch.After); err != nil {
			return err
		}
		command := "cmp " + strings.Join(append([]string{"diff"}, args...), " ")
		if isFleet {
			return in.fleet.diff(cmd, s, ch, out, command)
		}
		return diff(in.Component, s, ch, out, command)
	}
	return cmd
}

// diff compares components before and after a change.
func diff(in *inputs.Component, s streams, ch checkout.Change, out diffOutput, command string) error {
	if err := in.DeriveAlways(); err != nil {
		return out.trouble(err)
	}
	r := compare.Report{Command: command}
	for i := range ch.Before {
		before, after, err := in.Sides(ch, i)
		if err != nil {
			return out.trouble(err)
		}
		if before.Failed && after.Failed {
			r.Unknown = append(r.Unknown, ch.After[i])
		}
		c := compare.Components(before, after)
		if c.Different() {
			r.All = append(r.All, compare.Named{Name: ch.After[i], Comparison: c})
		} else if after.Failed {
			warn(s, after.Findings)
			continue // and it did before
		}
		r.Compared++
	}
	return out.write(s, r, r.All.Names(), r.All.AddsError(), r.Unknown)
}
