package deprecated

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// AcceptFlags accepts old names of flags in all commands, with a warning. It warns after all
// flags are parsed, because one of them may turn warnings off.
func AcceptFlags(root *cobra.Command, warn func(...finding.Finding)) {
	var pending [][2]string
	parsed := false
	report := func(old, replacement string) {
		if parsed { // from the environment
			warn(warning("--"+old, Flag, "--"+replacement))
			return
		}
		// The flag sets of a command and of its parents report the same flag.
		if names := [2]string{old, replacement}; !slices.Contains(pending, names) {
			pending = append(pending, names)
		}
	}
	acceptBelow(root, report)
	root.PersistentPreRun = func(*cobra.Command, []string) {
		parsed = true
		for _, names := range pending {
			report(names[0], names[1])
		}
	}
}

func acceptBelow(cmd *cobra.Command, report func(old, replacement string)) {
	Accept(cmd.Flags(), report)
	for _, sub := range cmd.Commands() {
		acceptBelow(sub, report)
	}
}

// Alias turns a command into a hidden one under its former name, which warns.
func Alias(cmd *cobra.Command, name string, warn func(...finding.Finding)) *cobra.Command {
	_, args, _ := strings.Cut(cmd.Use, " ")
	cmd.Use, cmd.Hidden = name+" "+args, true
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		_, path, _ := strings.Cut(cmd.CommandPath(), cmd.Root().CommandPath()+" ")
		replacement, _ := replaced(Command, path)
		warn(warning("cmp "+path, Command, "cmp "+replacement))
		if check == nil {
			return nil
		}
		return check(cmd, args)
	}
	return cmd
}

func warning(old string, what What, replacement string) finding.Finding {
	return finding.Finding{Severity: finding.Warning, Rule: "deprecated", Field: old, Message: "the " + string(what) + " is deprecated", Remedy: "use " + replacement}
}
