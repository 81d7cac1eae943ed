package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/screen"
)

// streams are the input and outputs of a command: results go to Out, everything else to Err.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Name is the name under which the program was called; cmp if empty.
	Name string
	// Root is the root command.
	Root *cobra.Command
	// Quiet is the flag --quiet; nil if there are no flags.
	Quiet *bool
	// Memory is the flag --max-memory; nil if nothing is run.
	Memory *maxMemory
}

// name returns the name under which the program was called.
func (s streams) name() string { return cmp.Or(s.Name, "cmp") }

// quiet reports whether --quiet is set.
func (s streams) quiet() bool { return s.Quiet != nil && *s.Quiet }

// say writes a message for people.
func (s streams) say(format string, args ...any) {
	fmt.Fprintf(s.Err, "%s: %s\n", s.name(), help.WithProgramName(fmt.Sprintf(format, args...), s.name()))
}

// withProgramName replaces the program name in a text with the one under which the program was
// called. Use it for output for people, in any format, but not for output for programs, such as
// manifests.
func (s streams) withProgramName(text string) string {
	return help.WithCommandName(text, s.name(), s.Root)
}

// print prints a text for people, unless there is an error.
func (s streams) print(text string, err error) error { return s.emit(s.withProgramName(text), err) }

// emit prints a result for programs, such as manifests, unless there is an error.
func (s streams) emit(text string, err error) error {
	if err == nil {
		_, err = io.WriteString(s.Out, text)
	}
	return err
}

// writeJSON prints a value as JSON.
func writeJSON(s streams, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	return s.emit(string(text)+"\n", err)
}

// warn writes findings that did not prevent the result.
func (s streams) warn(all ...finding.Finding) {
	for _, f := range all {
		if s.quiet() && f.Severity != finding.Error {
			continue
		}
		s.say("%s", screen.PaintFor(s.Err).Finding(f))
	}
}

// note writes additional information about a result.
func (s streams) note(format string, args ...any) {
	if s.quiet() {
		return
	}
	s.say("%s: %s", screen.PaintFor(s.Err).Severity(finding.Note), fmt.Sprintf(format, args...))
}
