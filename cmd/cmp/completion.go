package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/complete"
)

// shells are the supported shells.
var shells = []struct {
	name  string
	write func(root *cobra.Command, out io.Writer, described bool) error
}{
	{"bash", (*cobra.Command).GenBashCompletionV2},
	{"zsh", func(root *cobra.Command, out io.Writer, described bool) error {
		if described {
			return root.GenZshCompletion(out)
		}
		return root.GenZshCompletionNoDesc(out)
	}},
	{"fish", (*cobra.Command).GenFishCompletion},
	{"powershell", func(root *cobra.Command, out io.Writer, described bool) error {
		if described {
			return root.GenPowerShellCompletionWithDesc(out)
		}
		return root.GenPowerShellCompletion(out)
	}},
}

func newCompletion(s streams) *cobra.Command {
	var names []string
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	cmd := &cobra.Command{
		Use:   "completion " + strings.Join(names, "|"),
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
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:             names,
		DisableFlagsInUseLine: true,
	}
	bare := cmd.Flags().Bool("no-descriptions", false, "Complete without descriptions")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return shells[slices.Index(names, args[0])].write(cmd.Root(), s.Out, !*bare)
	}
	return cmd
}
