package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/complete"
	"github.com/ladder-cmp/ladder/internal/option"
)

func newCompletion(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion " + strings.Join(complete.Shells, "|"),
		Short: "Print the completion script for a shell",
		Long: `Print the completion script for a shell. It completes commands, flags, their values,
components and objects; objects only if the component renders within ` + complete.Timeout.String() + `.

  SHELL       COMMAND                                                        WHERE
  bash        source <(cmp completion bash)                                  in ~/.bashrc, with bash-completion
  zsh         source <(cmp completion zsh)                                   in ~/.zshrc, after compinit
  fish        cmp completion fish > ~/.config/fish/completions/cmp.fish      in a terminal, once
  powershell  cmp completion powershell | Out-String | Invoke-Expression     in $PROFILE`,
		Example: `  cmp completion bash > /etc/bash_completion.d/cmp
  cmp completion fish > ~/.config/fish/completions/cmp.fish`,
		Args:                  option.OneOfValidArgs,
		ValidArgs:             complete.Shells,
		DisableFlagsInUseLine: true,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return complete.Script(cmd.Root(), s.Out, args[0])
	}
	return cmd
}
