// Package deprecated lists replaced names. Old names of commands, flags, variables and
// annotations still work, with a warning; old names of rules are listed for users who filter findings
// by rule.
package deprecated

import (
	"slices"

	"github.com/spf13/pflag"
)

// Name is a replaced name.
type Name struct {
	// What is the kind of name. A command has its name without that of the program.
	What     What
	Old, New string
	// Where lists the commands that have the flag, or report the rule, or the objects that have the
	// annotation; empty for a command.
	Where string
}

// What is a kind of name.
type What string

// The kinds of names.
const (
	Annotation What = "annotation"
	Command    What = "command"
	Flag       What = "flag"
	Rule       What = "rule"
)

var names = []Name{
	{Annotation, "ladder/after", "ladder-cmp.github.io/after", "objects of a component"},
	{Annotation, "ladder/not-after", "ladder-cmp.github.io/not-after", "objects of a component"},
	{Annotation, "ladder/rung", "ladder-cmp.github.io/rung", "objects of a component"},
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

// Names returns the table, for documentation and tests.
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

// Accept makes old names of flags work, and reports each once.
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
