package complete

import (
	"io"

	"github.com/spf13/cobra"
)

// Shells are the supported shells.
var Shells = []string{"bash", "zsh", "fish", "powershell"}

// Script writes the completion script of a program for a shell.
func Script(root *cobra.Command, out io.Writer, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	}
	return root.GenPowerShellCompletionWithDesc(out)
}
