package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/deprecated"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// acceptOldFlags lets the flags of a command and those below it be given by their old
// names, with a warning.
func acceptOldFlags(cmd *cobra.Command, s streams) {
	reported := map[string]bool{} // by a command and by those above it, whose flags it has
	acceptFlags(cmd, func(old, replacement string) {
		if !reported[old] {
			reported[old] = true
			warnOfOldName(s, "--"+old, "flag", "--"+replacement)
		}
	})
}

func acceptFlags(cmd *cobra.Command, report func(old, replacement string)) {
	deprecated.Accept(cmd.Flags(), report)
	for _, sub := range cmd.Commands() {
		acceptFlags(sub, report)
	}
}

// oldName is a command under a name that it had before: hidden, and with a warning.
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
