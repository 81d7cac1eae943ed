package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// OnlyParent makes a command print its help, and reject arguments that are not subcommands.
func OnlyParent(cmd *cobra.Command) {
	cmd.Args = oneOfItsCommands
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// oneOfItsCommands rejects an argument that is not a subcommand.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := finding.NearestTo(args[0])
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			near.Add(sub.CommandPath(), sub.Name())
		}
	}
	return finding.Usagef("unknown command %q; %s", cmd.CommandPath()+" "+args[0], near.Or("see "+cmd.CommandPath()+" --help"))
}

// ShowHelp prints the help of the named command below root.
func ShowHelp(root *cobra.Command, names []string) error {
	at := root
	for _, name := range names {
		i := slices.IndexFunc(at.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
		if i < 0 {
			return oneOfItsCommands(at, []string{name})
		}
		at = at.Commands()[i]
	}
	at.InitDefaultHelpFlag()
	return at.Help()
}
