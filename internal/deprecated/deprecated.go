// Package deprecated lists replaced names. Old names of commands, flags, variables and
// annotations still work, with a warning, and so do those of rules in the accepted findings
// of a fleet. The others are listed for users who filter findings by rule.
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
	{Flag, "generators", "generator-values", "`cmp fleet import`"},
	{Flag, "remote-fresh", "remote-ttl", "all commands that fetch"},
	{Flag, "touched", "changed", "`cmp check`"},
	{Rule, "against-phases", "later-step", "`cmp fleet`"},
	{Rule, "doubled-key", "duplicate-key", "all commands that render, `cmp doctor`"},
	{Rule, "gate-without-customer", "gate-without-dependent", "`cmp check`, `cmp fleet lint`"},
	{Rule, "negative-phase", "negative-step", "`cmp fleet appset`"},
	{Rule, "no-phase", "no-step", "`cmp fleet`"},
	{Rule, "octal-phase", "octal-step", "`cmp fleet`"},
	{Rule, "phase-label", "step-label", "`cmp fleet`"},
	{Rule, "phase-order", "step-order", "`cmp fleet steps`"},
	{Rule, "same-phase", "same-step", "`cmp fleet`"},
	{Rule, "stray", "unused-vendored-file", "`cmp vendor --check`"},
	{Rule, "useless-parameter", "ignored-parameter", "all commands that render"},
	{Rule, "useless-values", "unexpected-values", "all commands that render"},
}

// Names returns the table, for documentation and tests.
func Names() []Name { return slices.Clone(names) }

// Replaced returns the new name of a flag, and whether it has one.
func Replaced(flag string) (string, bool) { return replaced(Flag, flag) }

// ReplacedRule returns the new name of a rule, and whether it has one.
func ReplacedRule(rule string) (string, bool) { return replaced(Rule, rule) }

func replaced(what What, old string) (string, bool) {
	i := slices.IndexFunc(names, func(n Name) bool { return n.What == what && n.Old == old })
	if i < 0 {
		return old, false
	}
	return names[i].New, true
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
