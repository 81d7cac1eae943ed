package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/manual"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write a manual page for each command to DIR: cmp.1, cmp-render.1, cmp-fleet-lint.1
and so on. Their date is SOURCE_DATE_EPOCH, or that of the commit that the program
was built from.

Use a separate directory: diffutils has a page cmp.1, too.`,
		Example: `  mkdir -p ~/ladder/man1 && cmp man ~/ladder/man1
  man -M ~/ladder cmp-fleet-lint`,
		Args: option.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkout.CheckDir(args[0]); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return manual.Write(root, args[0], manual.Date(release))
		},
	}
}
