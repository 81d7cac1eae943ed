package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/internal/screen"
)

// streams are what a command reads and where it writes: results to Out, all
// else to Err.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Name is what the program is called by; cmp if empty.
	Name string
	// Quiet is the flag --quiet; nil if there are no flags.
	Quiet *bool
}

// name is what the program is called by.
func (s streams) name() string { return cmp.Or(s.Name, "cmp") }

// quiet reports whether only results and errors are wanted.
func (s streams) quiet() bool { return s.Quiet != nil && *s.Quiet }

// say writes a line for people.
func (s streams) say(format string, args ...any) {
	fmt.Fprintf(s.Err, "%s: %s\n", s.name(), help.Spelled(fmt.Sprintf(format, args...), s.name()))
}

// emit prints what was made, if nothing went wrong.
func emit(s streams, text string, err error) error {
	if err == nil {
		_, err = io.WriteString(s.Out, text)
	}
	return err
}

// warn writes the findings that left a result possible.
func warn(s streams, all []finding.Finding) {
	for _, f := range all {
		if s.quiet() && f.Severity != finding.Error {
			continue
		}
		s.say("%s: %s", screen.PaintFor(s.Err).Severity(f.Severity), f.Error())
	}
}

// note writes what is worth knowing beside a result.
func note(s streams, format string, args ...any) {
	if s.quiet() {
		return
	}
	s.say("%s: %s", screen.PaintFor(s.Err).Severity(finding.Note), fmt.Sprintf(format, args...))
}
