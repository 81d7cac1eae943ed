package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Variable returns the environment variable of a flag.
func Variable(flag string) string {
	return servePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

const servePrefix = "LADDER_SERVE_"

// FromVariables sets flags from environment variables, if they are not set.
func FromVariables(flags *pflag.FlagSet, env map[string]string) error {
	var faults []error
	known := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := Variable(f.Name)
		known[name] = true
		value, set := env[name]
		if !set || f.Changed {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			faults = append(faults, finding.Usagef("%s: %s", name, Fault(err)))
		}
	})
	for name := range env {
		if strings.HasPrefix(name, servePrefix) && !known[name] {
			near := finding.NearestTo(name)
			for _, variable := range slices.Sorted(maps.Keys(known)) {
				near.Add(variable, variable)
			}
			faults = append(faults, finding.Usagef("unknown variable %s: cmp serve has no such flag; %s", name, near.Or("see cmp serve --help")))
		}
	}
	return errors.Join(faults...)
}

// NoneNegative checks numeric flags.
func NoneNegative(flags *pflag.FlagSet) error {
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		if value := f.Value.String(); f.Value.Type() != "string" && strings.HasPrefix(value, "-") {
			faults = append(faults, finding.Usagef("--%s is %s; use a number from 0 up", f.Name, value))
		}
	})
	return errors.Join(faults...)
}

// Suggestion suggests a flag for an unknown one; it is empty for other errors, and
// if no flag is similar.
func Suggestion(flags *pflag.FlagSet, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	near := finding.NearestTo(unknown.GetSpecifiedName())
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			near.Add("--"+f.Name, f.Name)
		}
	})
	return near.String()
}

// Fault returns the message of a flag error, without the function's name.
func Fault(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	expected := "a number"
	switch invalid.GetFlag().Value.Type() {
	case "bool":
		expected = "true or false"
	case "duration":
		expected = "a time such as 30s"
	case "stringSlice":
		expected = "a list such as a,b"
	case ColorModeType:
		expected = strings.Join(ColorModes, ", ")
	}
	return fmt.Sprintf("--%s: must be %s, not %q", invalid.GetFlag().Name, expected, invalid.GetValue())
}
