package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/cobra"
)

// Many is the maximum for a command that takes any number of arguments.
const Many = math.MaxInt

// Args checks the number of arguments of a command.
func Args(minimum, maximum int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < minimum:
			return badArgs(cmd, errors.New("missing argument"))
		case maximum == 0 && len(args) > 0:
			return badArgs(cmd, fmt.Errorf("unexpected argument %q", args[0]))
		case len(args) > maximum:
			return badArgs(cmd, fmt.Errorf("unexpected argument %q", args[len(args)-1]))
		}
		return nil
	}
}

// ArgsUnless checks the number of arguments of a command that takes none with a boolean flag.
func ArgsUnless(flag string, minimum, maximum int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case cmd.Flag(flag).Value.String() != "true":
			return Args(minimum, maximum)(cmd, args)
		case len(args) > 0:
			return badArgs(cmd, fmt.Errorf("--%s takes no directory; remove one of the two", flag))
		}
		return nil
	}
}

// OneOfValidArgs checks that the only argument is one of the known ones.
func OneOfValidArgs(cmd *cobra.Command, args []string) error {
	if err := Args(1, 1)(cmd, args); err != nil {
		return err
	}
	if err := cobra.OnlyValidArgs(cmd, args); err != nil {
		return badArgs(cmd, err)
	}
	return nil
}

// badArgs adds the usage line of a command to an error about its arguments.
func badArgs(cmd *cobra.Command, err error) error {
	return finding.Usagef("%w; usage: %s", err, strings.TrimSpace(cmd.UseLine()))
}
