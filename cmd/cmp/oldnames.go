package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/deprecated"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// acceptOldFlags accepts old names of flags in all commands, with a warning. It prints the
// warning after all flags are parsed, because --quiet may come later.
func acceptOldFlags(root *cobra.Command, s streams) {
	var early [][2]string
	parsed := false
	report := func(old, replacement string) {
		if parsed { // from the environment
			warnOfOldName(s, "--"+old, "flag", "--"+replacement)
			return
		}
		// A command also reports to its parents.
		if names := [2]string{old, replacement}; !slices.Contains(early, names) {
			early = append(early, names)
		}
	}
	var accept func(*cobra.Command)
	accept = func(cmd *cobra.Command) {
		deprecated.Accept(cmd.Flags(), report)
		for _, sub := range cmd.Commands() {
			accept(sub)
		}
	}
	accept(root)
	root.PersistentPreRun = func(*cobra.Command, []string) {
		parsed = true
		for _, names := range early {
			report(names[0], names[1])
		}
	}
}

// oldName returns a hidden command under its former name, which prints a warning.
func oldName(s streams, cmd *cobra.Command, name string) *cobra.Command {
	_, args, _ := strings.Cut(cmd.Use, " ")
	cmd.Use, cmd.Hidden = name+" "+args, true
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, path, _ := strings.Cut(cmd.CommandPath(), cmd.Root().CommandPath()+" ")
		warnOfOldName(s, "cmp "+path, "command", "cmp "+deprecated.Replacement(path))
		return run(cmd, args)
	}
	return cmd
}

func warnOfOldName(s streams, old, what, replacement string) {
	warn(s, []finding.Finding{{Severity: finding.Warning, Rule: "deprecated", Field: old, Message: "the " + what + " is deprecated", Remedy: "use " + replacement}})
}
