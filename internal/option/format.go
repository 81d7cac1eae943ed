// Package option contains what the flags of several commands share: formats,
// conflicting flags, environment variables for flags, and errors.
package option

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/nearest"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// Choices sets the completion of a flag with fixed values.
func Choices(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// Format adds the flag for the output format; the first is the default.
func Format(cmd *cobra.Command, what string, known ...string) *string {
	format := cmd.Flags().StringP("output", "o", known[0], what+": "+anyOf(known))
	Choices(cmd, "output", known...)
	return format
}

// KnownFormat rejects an unknown format.
func KnownFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return usage.Errorf("unknown format %q; %s", format, nearest.Or(format, known, "use "+anyOf(known)))
}

// anyOf formats choices as part of a sentence.
func anyOf(all []string) string {
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// OneOf checks the value of an enumerated flag.
func OneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if k == value {
			return nil
		}
	}
	return usage.Errorf("--%s: unknown value %q; %s", flag, value, nearest.Or(value, known, "use "+anyOf(known)))
}

// Alone checks that at most one of several flags is set.
func Alone(flags *pflag.FlagSet, names ...string) error {
	var given []string
	for _, name := range names {
		if flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return usage.Errorf("%s cannot be combined; use one of them", strings.Join(given, " and "))
	}
	return nil
}
