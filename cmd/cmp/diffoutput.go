package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// diffOutput contains the flags for the output of a comparison.
type diffOutput struct {
	format, nameOnly *string
	exitCode         *bool
	limit            *int
	// isSet reports whether one of the flags is set.
	isSet func(flag string) bool
}

func (o diffOutput) check() error {
	if name := *o.nameOnly; name != "" && name != namesLines && name != namesNull {
		return usage.Errorf("--name-only: unknown value %q; use --name-only, or --name-only=%s", name, namesNull)
	}
	if *o.limit < compare.LeastMarkdown {
		return usage.Errorf("--limit is %d; use at least %d", *o.limit, compare.LeastMarkdown)
	}
	if *o.nameOnly != "" && *o.format != compare.FormatText {
		return usage.Errorf("--name-only prints only names; remove it, or -o %s", *o.format)
	}
	if o.isSet("limit") && *o.format != compare.FormatMarkdown {
		return usage.New("--limit applies only to markdown; remove it, or add -o markdown")
	}
	return nil
}

// exitError returns err so that --exit-code reports it with exit code 2 and not as a difference.
func (o diffOutput) exitError(err error) error {
	if *o.exitCode {
		return usage.Error{Err: err}
	}
	return err
}

// write prints a comparison. names are the items that differ, fails means that the change
// introduces an error, and unknown lists the items that could not be compared.
func (o diffOutput) write(s streams, comparison compare.Shown, names []string, fails bool, unknown []string) error {
	text := compare.Lines(names, *o.nameOnly == namesNull)
	if *o.nameOnly == "" {
		formatted, err := compare.Format(comparison, *o.format, *o.limit, screen.PaintFor(s.Out))
		if err != nil {
			return o.exitError(err)
		}
		text = s.withProgramName(formatted)
	}
	if err := s.emit(text, nil); err != nil {
		return o.exitError(err)
	}
	if *o.exitCode && len(unknown) > 0 {
		return usage.New(compare.UnknownText(finding.Sanitize(strings.Join(unknown, ", "))))
	}
	if *o.exitCode && len(names) > 0 || !*o.exitCode && fails {
		return errReported
	}
	return nil
}

// Values of --name-only.
const (
	namesLines = "lines"
	namesNull  = "null"
)

func nameOnlyFlag(cmd *cobra.Command) *string {
	value := cmd.Flags().String("name-only", "", "Print only the name of each component that differs; with =null, end each with NUL and do not escape it, for scripts")
	cmd.Flags().Lookup("name-only").NoOptDefVal = namesLines
	option.Choices(cmd, "name-only", namesLines, namesNull)
	return value
}

func addDiffOutput(cmd *cobra.Command) diffOutput {
	flags := cmd.Flags()
	return diffOutput{
		isSet:    flags.Changed,
		format:   option.Format(cmd, "Format (markdown is for a comment on a pull request)", compare.FormatText, compare.FormatMarkdown, compare.FormatJSON),
		limit:    flags.Int("limit", compare.MostMarkdown, "Maximum size of the markdown in bytes; GitHub accepts 65536 characters in a comment. The rest is omitted, with a note"),
		exitCode: flags.Bool("exit-code", false, "Exit with 1 if anything differs, and with 2 on errors"),
		nameOnly: nameOnlyFlag(cmd),
	}
}
