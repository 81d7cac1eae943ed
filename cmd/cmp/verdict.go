package main

import (
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/screen"
	"github.com/ladder-cmp/ladder/internal/verdict"
)

// Formats of a report.
const (
	reportText  = verdict.Text
	reportJSON  = verdict.JSON
	reportSARIF = verdict.SARIF
)

// strictFlag makes warnings fail a command.
func strictFlag(flags *pflag.FlagSet) *bool {
	return flags.Bool("strict", false, "Exit with 1 if there are errors or warnings")
}

// warnStrictly writes findings to standard error and, with --strict, fails if there are
// errors or warnings. Without it, even a deadlock in existing waves does not fail a command
// that has a result: the plugin must not block a running Application.
func warnStrictly(s streams, found []finding.Finding, strict bool) error {
	s.warn(found...)
	if strict && slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Severity != finding.Note }) {
		return errReported
	}
	return nil
}

// errReported makes a command exit with 1 after it has printed the reason.
var errReported = errors.New("see the findings above")

// writeVerdict prints a report. It returns errReported if the report has findings that fail.
func writeVerdict(s streams, r verdict.Verdict, format string, strict bool) error {
	r.Version = build.This(release).Version
	text, err := r.Render(format, screen.PaintFor(s.Out))
	if err := s.print(text, err); err != nil {
		return err
	}
	if r.Count(finding.Error) > 0 || strict && r.Count(finding.Warning) > 0 {
		return errReported
	}
	return nil
}
