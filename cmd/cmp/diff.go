package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/change"
	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/inputs"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newDiff(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff DIR DIR | RANGE DIR...",
		Short: "Compare components or fleets before and after a change",
		Long: `Render components before and after a change, and compare objects, waves and findings, but
not the values in Secrets. For a directory of components, compare the rollout of the fleet
and its findings; to compare objects, name the components, such as ./components/*.

Compare two directories, or the same ones at two revisions of their git repository. RANGE
is REV (a branch, tag or commit; the other side is the work tree) or REV..REV. REV... and
REV...REV start from the merge base, which leaves out later commits on the first revision.

Exits with 1 if the change introduces a finding of severity error. With --exit-code: 0 if
nothing differs, 1 if something does, 2 on errors, like kubectl diff.`,
		Example: `  cmp diff main ./component
  cmp diff origin/main... ./components -o markdown > comment.md
  cmp diff ./component.old ./component`,
	}
	in := inputs.AddAny(cmd, "Compare only the components deployed in this environment")
	in.ExpandSets()
	in.Fleet.Source.Partial = true
	out := addDiffOutput(cmd)
	cmd.Args = option.Args(2, option.Many)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		command := "cmp " + strings.Join(append([]string{"diff"}, args...), " ")
		in.ForComponent("generator-values")
		ch, err := checkout.ReadChange(args, s.withoutFiles)
		if err != nil {
			return out.exitError(err)
		}
		isFleet := in.AnyFleet(ch.After, ch.To) || in.AnyFleet(ch.Before, ch.From)
		if err := in.Reject(isFleet, ch.After); err != nil {
			return err
		}
		if isFleet {
			return diffFleet(cmd.Context(), s, in, ch, out, command)
		}
		return diffComponents(cmd.Context(), s, in, ch, out, command)
	}
	return cmd
}

func diffComponents(ctx context.Context, s streams, in *inputs.Any, ch checkout.Change, out diffOutput, command string) error {
	opt, err := in.Options()
	if err != nil {
		return err
	}
	r, found, err := change.Components(ctx, opt, ch, command)
	s.warn(found...)
	if err != nil {
		return out.exitError(err)
	}
	return out.write(s, r, r.All.Names(), r.All.AddsError(), r.Unknown)
}
