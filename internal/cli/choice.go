package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Choices sets the completion of a flag with fixed values.
func Choices(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// Format adds the flag for the output format; the first is the default. An unknown format is
// rejected before the command runs.
func Format(cmd *cobra.Command, what string, known ...string) *string {
	return FormatFlag(cmd, what+": "+anyOf(known), known...)
}

// FormatFlag is Format with the usage of the flag.
func FormatFlag(cmd *cobra.Command, usageText string, known ...string) *string {
	format := cmd.Flags().StringP("output", "o", known[0], usageText)
	Choices(cmd, "output", known...)
	addCheck(cmd, func() error {
		if slices.Contains(known, *format) {
			return nil
		}
		return finding.Usagef("unknown format %q; %s", *format, finding.NearestOr(*format, known, "use "+anyOf(known)))
	})
	return format
}

// Choice adds a flag with fixed values; the first is the default. Other values are rejected
// before the command runs.
func Choice(cmd *cobra.Command, flag, usageText string, known ...string) *string {
	value := cmd.Flags().String(flag, known[0], usageText)
	Choices(cmd, flag, known...)
	addCheck(cmd, func() error { return OneOf(flag, *value, known...) })
	return value
}

// addCheck adds a check of flags to those that a command makes before it runs.
func addCheck(cmd *cobra.Command, check func() error) {
	earlier := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if earlier == nil {
			return check()
		}
		return errors.Join(earlier(cmd, args), check())
	}
}

// anyOf formats choices as part of a sentence.
func anyOf(all []string) string {
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// OneOf checks the value of an enumerated flag.
func OneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return finding.Usagef("--%s: unknown value %q; %s", flag, value, finding.NearestOr(value, known, "use "+anyOf(known)))
}

// Alone checks that at most one of several flags is set.
func Alone(flags *pflag.FlagSet, names ...string) error {
	var set []string
	for _, name := range names {
		if flags.Changed(name) {
			set = append(set, "--"+name)
		}
	}
	if len(set) > 1 {
		return finding.Usagef("%s cannot be combined; use one of them", strings.Join(set, " and "))
	}
	return nil
}
