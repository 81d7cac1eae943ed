// Package cli is what all commands share: where they read and write, help, formats and arguments,
// colors and progress on a terminal, findings as text, JSON and SARIF, and the build.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/checkout"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/paint"
)

// Streams are the input and outputs of a command: results go to Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Name is the name under which the program was called; cmp if empty.
	Name string
	// Root is the root command.
	Root *cobra.Command
	// Quiet is the flag --quiet; nil if there are no flags.
	Quiet *bool
	// Release is the version of the program, and Rules are what it reports.
	Release string
	Rules   func() Rules
}

// CalledAs returns the name under which the program was called.
func (s Streams) CalledAs() string { return cmp.Or(s.Name, "cmp") }

// isQuiet reports whether --quiet is set.
func (s Streams) isQuiet() bool { return s.Quiet != nil && *s.Quiet }

// Say writes a message for people.
func (s Streams) Say(format string, args ...any) {
	fmt.Fprintf(s.Err, "%s: %s\n", s.CalledAs(), WithProgramName(fmt.Sprintf(format, args...), s.CalledAs()))
}

// Named replaces the program name in a text with the one under which the program was
// called. Use it for output for people, in any format, but not for output for programs, such as
// manifests.
func (s Streams) Named(text string) string {
	return WithCommandName(text, s.CalledAs(), s.Root)
}

// Print prints a text for people, unless there is an error.
func (s Streams) Print(text string, err error) error { return s.Emit(s.Named(text), err) }

// Emit prints a result for programs, such as manifests, unless there is an error.
func (s Streams) Emit(text string, err error) error {
	if err == nil {
		_, err = io.WriteString(s.Out, text)
	}
	return err
}

// JSON prints a value as JSON.
func (s Streams) JSON(value any) error {
	return s.Emit(paint.JSON(value))
}

// Warn writes findings that did not prevent the result.
func (s Streams) Warn(all ...finding.Finding) {
	for _, f := range all {
		if s.isQuiet() && f.Severity != finding.Error {
			continue
		}
		s.Say("%s", PaintFor(s.Err).Finding(f))
	}
}

// WarnFailed writes the findings up to an error. Notes are no cause of it, and are left out.
func (s Streams) WarnFailed(all []finding.Finding) {
	s.Warn(slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return f.Severity == finding.Note })...)
}

// Note writes additional information about a result.
func (s Streams) Note(format string, args ...any) {
	if s.isQuiet() {
		return
	}
	s.Say("%s: %s", PaintFor(s.Err).Severity(finding.Note), fmt.Sprintf(format, args...))
}

// Directories removes regular files from arguments that a shell pattern such as components/*
// expanded, with a note.
func (s Streams) Directories(args []string) []string {
	dirs, files := checkout.WithoutFiles(args)
	if len(files) > 0 {
		s.Note("skipped files, because only directories can be components: %s", finding.Sanitize(strings.Join(files, ", ")))
	}
	return dirs
}

// StrictFlag makes warnings fail a command.
func StrictFlag(flags *pflag.FlagSet) *bool {
	return flags.Bool("strict", false, "Exit with 1 if there are errors or warnings")
}

// WarnStrictly writes findings to standard error and, with --strict, fails if there are
// errors or warnings. Without it, even a deadlock in existing waves does not fail a command
// that has a result: the plugin must not block a running Application.
func (s Streams) WarnStrictly(found []finding.Finding, strict bool) error {
	s.Warn(found...)
	if strict && slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Severity != finding.Note }) {
		return ErrReported
	}
	return nil
}

// ErrReported makes a command exit with 1 after it has printed the reason.
var ErrReported = errors.New("see the findings above")

// Report prints a report. It returns ErrReported if the report has findings that fail.
func (s Streams) Report(r Report, format string, strict bool) error {
	r.Version = ThisBuild(s.Release).Version
	if format == SARIF {
		r.Rules = s.Rules()
	}
	text, err := r.Render(format, PaintFor(s.Out))
	if err := s.Print(text, err); err != nil {
		return err
	}
	if r.Count(finding.Error) > 0 || strict && r.Count(finding.Warning) > 0 {
		return ErrReported
	}
	return nil
}
