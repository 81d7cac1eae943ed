package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/compare"
)

// exitRules is how commands that compare tell people how they end.
const exitRules = `Exits with 1 if the change brings a finding of severity error, such as a component
that cannot be rendered any more. With --exit-code it is as with diff and kubectl
diff: 0 if nothing differs, 1 if something does, 2 if that could not be found out.`

// twoSides is how commands that compare tell people what they take.
const twoSides = `The sides are two directories, or directories at two revisions of their git
repository. REV is a branch, a tag or a commit, compared with what lies in the
work tree, committed or not; REV..REV are two of them. With three dots the first
side is the commit since which the two, or REV and HEAD, have parted, so that
what others did to REV since then does not show. Revisions are read from git's
own files: nothing is checked out, and no git program is needed.`

func newDiff(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff DIR DIR | REV[..[.]REV] DIR...",
		Short: "Show what a change does to the objects and waves of components",
		Long: `Render components before and after a change, and show what differs: added, removed
and changed objects, field by field; waves that moved, and why; waits that were
added or removed; and findings that are new or fixed. For Secrets, only the changed
keys are named, never their values.

` + twoSides + `

` + exitRules,
		Example: `  cmp diff main ./component
  cmp diff origin/main... ./apps/* -o markdown > comment.md
  cmp diff v1.4..v1.5 ./component -o json
  cmp diff ./component.old ./component`,
		Args: cobra.MinimumNArgs(2),
	}
	in := addInputs(cmd)
	out := addDiffOutput(cmd, "directory")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if err := in.seeding.throwaway(); err != nil {
			return out.trouble(err)
		}
		ch, err := checkout.ReadChange(args, s.directories)
		if err != nil {
			return out.trouble(err)
		}
		r := compare.Report{Command: "cmp " + strings.Join(append([]string{"diff"}, args...), " ")}
		for i := range ch.Before {
			before, after, err := in.sides(cmd, ch, i)
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
			r.Looked++
		}
		return out.write(s, r, r.All.Names(), r.All.Fails(), r.Unknown)
	}
	return cmd
}
