package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/nearest"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// oneOfItsCommands rejects an argument that is not a subcommand.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := nearest.New(args[0])
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			near.Add(sub.CommandPath(), sub.Name())
		}
	}
	return usage.Errorf("unknown command %q; %s", cmd.CommandPath()+" "+args[0], near.Or("see "+cmd.CommandPath()+" --help"))
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Long:  `Print the help of a command, as that command does with --help.`,
		Example: `  cmp help render
  cmp help fleet lint`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if at, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range at.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return complete.WithPrefix(names, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
			for _, name := range args {
				i := slices.IndexFunc(at.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
				if i < 0 {
					return oneOfItsCommands(at, []string{name})
				}
				at = at.Commands()[i]
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// asUsage turns errors about arguments into usage errors.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if usage.Is(err) {
			return err
		}
		switch {
		case err == nil:
		case strings.HasPrefix(err.Error(), "unknown command"):
			err = fmt.Errorf("unexpected argument %q", args[0])
		case !strings.Contains(err.Error(), "arg(s)"): // not cobra's own text
		case len(args) == 0 || strings.HasPrefix(err.Error(), "requires at least"):
			err = errors.New("missing argument")
		default:
			err = fmt.Errorf("unexpected argument %q", args[len(args)-1])
		}
		if err != nil {
			return usage.Errorf("%w; usage: %s", err, strings.TrimSpace(cmd.UseLine()))
		}
		return nil
	}
}
