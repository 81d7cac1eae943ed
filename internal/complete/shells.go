package complete

import (
	"io"

	"github.com/spf13/cobra"
)

// Shells are the supported shells.
var Shells = []string{"bash", "zsh", "fish", "powershell"}

// Script writes the completion script of a program for a shell.
func Script(root *cobra.Command, out io.Writer, shell string, described bool) error {
	switch {
	case shell == "bash":
		return root.GenBashCompletionV2(out, described)
	case shell == "fish":
		return root.GenFishCompletion(out, described)
	case shell == "zsh" && described:
		return root.GenZshCompletion(out)
	case shell == "zsh":
		return root.GenZshCompletionNoDesc(out)
	case described:
		return root.GenPowerShellCompletionWithDesc(out)
	}
	return root.GenPowerShellCompletion(out)
}
