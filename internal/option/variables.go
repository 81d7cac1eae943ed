package option

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// Variable names the variable that stands for a flag.
func Variable(flag string) string {
	return servePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

const servePrefix = "LADDER_SERVE_"

// FromVariables sets the flags that were not given and whose variables are.
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
			faults = append(faults, usage.Errorf("%s: %s", name, Fault(err)))
		}
	})
	for name := range env {
		if strings.HasPrefix(name, servePrefix) && !known[name] {
			faults = append(faults, usage.Errorf("%s stands for no flag; see cmp serve --help, and write a flag in capitals", name))
		}
	}
	return errors.Join(faults...)
}

// NoneNegative checks the flags that count something.
func NoneNegative(flags *pflag.FlagSet) error {
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		if value := f.Value.String(); f.Value.Type() != "string" && strings.HasPrefix(value, "-") {
			faults = append(faults, usage.Errorf("--%s is %s; give it a number from 0 up", f.Name, value))
		}
	})
	return errors.Join(faults...)
}

// Fault says what is wrong with a flag, without the function that found it.
func Fault(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	wants := "a number"
	switch invalid.GetFlag().Value.Type() {
	case "bool":
		wants = "true or false"
	case "duration":
		wants = "a time such as 30s"
	case "stringSlice":
		wants = "a list such as a,b"
	case screen.LookType:
		wants = strings.Join(screen.Looks, ", ")
	}
	return fmt.Sprintf("--%s: got %q, want %s", invalid.GetFlag().Name, invalid.GetValue(), wants)
}
