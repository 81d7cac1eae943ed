package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/compare"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/paint"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/usage"
)

// Formats of a comparison.
const (
	diffText     = "text"
	diffMarkdown = "markdown"
	diffJSON     = "json"
)

// diffOutput contains the flags for the output of a comparison.
type diffOutput struct {
	format             *string
	exitCode, nameOnly *bool
	null               *bool
	limit              *int
	// given reports whether one of the flags is set.
	given func(flag string) bool
}

func (o diffOutput) check() error {
	if *o.limit < compare.LeastMarkdown {
		return usage.Errorf("--limit is %d; use at least %d", *o.limit, compare.LeastMarkdown)
	}
	if *o.nameOnly && *o.format != diffText {
		return usage.Errorf("--name-only prints only names; remove it, or -o %s", *o.format)
	}
	if *o.null && !*o.nameOnly {
		return usage.New("--null has no effect without --name-only; add it")
	}
	if o.given("limit") && *o.format != diffMarkdown {
		return usage.New("--limit applies only to markdown; remove it, or add -o markdown")
	}
	return nil
}

// trouble is an error that --exit-code must not report as a difference.
func (o diffOutput) trouble(err error) error {
	if *o.exitCode {
		return usage.Error{Err: err}
	}
	return err
}

// write prints a comparison. names are the items that differ, fails means that the change
// introduces an error, and unknown lists the items that could not be compared.
func (o diffOutput) write(s streams, what told, names []string, fails bool, unknown []string) error {
	var text string
	switch {
	case *o.nameOnly:
		for _, name := range names {
			if *o.null {
				text += name + "\x00"
			} else {
				text += finding.Sanitize(name) + "\n"
			}
		}
	case *o.format == diffJSON:
		data, err := json.MarshalIndent(what.JSON(), "", "  ")
		if err != nil {
			return o.trouble(err)
		}
		text = string(data) + "\n"
	case *o.format == diffMarkdown:
		text = what.Markdown(*o.limit)
	default:
		text = what.Text(screen.PaintFor(s.Out))
	}
	if !*o.nameOnly {
		text = s.spelled(text)
	}
	if _, err := io.WriteString(s.Out, text); err != nil {
		return o.trouble(err)
	}
	if *o.exitCode && len(unknown) > 0 {
		return usage.New(compare.UnknownText(finding.Sanitize(strings.Join(unknown, ", "))))
	}
	if *o.exitCode && len(names) > 0 || !*o.exitCode && fails {
		return errReported
	}
	return nil
}

func addDiffOutput(cmd *cobra.Command) diffOutput {
	flags := cmd.Flags()
	return diffOutput{
		given:    flags.Changed,
		format:   option.Format(cmd, "Format (markdown is for a comment on a pull request)", diffText, diffMarkdown, diffJSON),
		limit:    flags.Int("limit", compare.MostMarkdown, "Maximum size of the markdown in bytes; GitHub accepts 65536 characters in a comment. The rest is omitted, with a note"),
		exitCode: flags.Bool("exit-code", false, "Exit with 1 if anything differs, and with 2 on errors"),
		nameOnly: flags.Bool("name-only", false, "Print only the name of each component that differs"),
		null:     flags.Bool("null", false, "With --name-only: end each name with NUL and do not escape it, for scripts"),
	}
}

// told is a comparison in all formats.
type told interface {
	Text(p paint.Paint) string
	// Markdown returns at most limit bytes.
	Markdown(limit int) string
	JSON() any
}
