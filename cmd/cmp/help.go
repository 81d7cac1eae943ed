package main

import (
	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/help"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Long:  `Print the help of a command, as that command does with --help.`,
		Example: `  cmp help render
  cmp help fleet lint`,
		ValidArgsFunction: complete.Commands,
		RunE:              func(cmd *cobra.Command, args []string) error { return help.Show(cmd.Root(), args) },
	}
}
