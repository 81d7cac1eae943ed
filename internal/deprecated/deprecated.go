// Package deprecated lists the names that have been replaced. Old names of commands, flags
// and variables still work, with a warning; old names of rules are listed for those who
// filter findings by rule.
package deprecated

import (
	"slices"

	"github.com/spf13/pflag"
)

// Name is a name that was replaced.
type Name struct {
	// What is named: a command, a flag or a rule. A command has its name without that of
	// the program.
	What     What
	Old, New string
	// Where lists the commands that have the flag, or print the rule; empty for a command.
	Where string
}

// What a name is the name of.
type What string

// The things that have names.
const (
	Command What = "command"
	Flag    What = "flag"
	Rule    What = "rule"
)

var names = []Name{
	{Command, "fleet check-render", "check", ""},
	{Command, "fleet diff", "diff", ""},
	{Command, "fleet graph", "graph", ""},
	{Command, "fleet phases", "fleet steps", ""},
	{Command, "split", "crds split", ""},
	{Flag, "drain", "drain-timeout", "`cmp serve`"},
	{Flag, "remote-fresh", "remote-ttl", "all commands that fetch"},
	{Flag, "touched", "changed", "`cmp check`"},
	{Rule, "doubled-key", "duplicate-key", "all commands that render, `cmp doctor`"},
	{Rule, "stray", "unused-vendored-file", "`cmp vendor --check`"},
	{Rule, "useless-parameter", "ignored-parameter", "all commands that render"},
	{Rule, "useless-values", "unexpected-values", "all commands that render"},
}

// Names returns the table, for documents and tests.
func Names() []Name { return slices.Clone(names) }

// Replaced returns the new name of a flag, and whether it has one.
func Replaced(flag string) (string, bool) {
	i := slices.IndexFunc(names, func(n Name) bool { return n.What == Flag && n.Old == flag })
	if i < 0 {
		return flag, false
	}
	return names[i].New, true
}

// Replacement returns the new name of a command.
func Replacement(command string) string {
	i := slices.IndexFunc(names, func(n Name) bool { return n.What == Command && n.Old == command })
	if i < 0 {
		return command
	}
	return names[i].New
}

// Accept lets flags be given by their old names, each of which is reported once.
func Accept(flags *pflag.FlagSet, report func(old, replacement string)) {
	var reported []string
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		replacement, old := Replaced(name)
		if old && !slices.Contains(reported, name) {
			reported = append(reported, name)
			report(name, replacement)
		}
		return pflag.NormalizedName(replacement)
	})
}
