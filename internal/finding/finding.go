// Package finding holds what is wrong with an input, as values.
//
// A Finding says where (file and line, object, field), what, and what to do
// about it, always in one line. An error is different: it says that we could
// not do our work. The two meet where the input is so wrong that nothing can
// be rendered; for that a Finding is an error too, and errors.Join carries
// several, because people want to see every fault of a component at once.
package finding

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Severity says what a finding does to the result.
type Severity string

const (
	// Error means that the input is wrong and must change. As an error value it
	// stands in place of an output; beside an output, such as one in the waves
	// that an author insisted on, it says that a sync of that hangs or fails.
	Error Severity = "error"
	// Warning means that the output is right as far as we can see, but that
	// something outside it can make the sync hang or fail.
	Warning Severity = "warning"
	// Note is worth knowing, and nothing to be afraid of in this sync.
	Note Severity = "note"
)

// Finding is one fault of an input. Rule and Message are always set, the
// place fields as far as they are known.
type Finding struct {
	Severity Severity `json:"severity"`
	// Rule is the stable name of what was violated, such as "duplicate-object".
	Rule string `json:"rule"`
	// File is the path of the file inside the repository, with slashes.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 means that the fault has no line of its own.
	Line int `json:"line,omitempty"`
	// Object names a manifest the way people do: "Deployment shop/web".
	Object string `json:"object,omitempty"`
	// Field is a path inside the object or file, such as "spec.replicas".
	Field string `json:"field,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Remedy says what to do: it starts with a verb, or asks for a misspelled name.
	Remedy string `json:"remedy,omitempty"`
	// Missing names an object that is not in the component and may be in another
	// one: "Service shop/web".
	Missing string `json:"-"`
}

// Error makes a Finding usable as an error and prints it in one line:
//
//	shop/values.yaml:3: image.tag: got number, want string; fix: quote it
func (f Finding) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(Harmless(f.File))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	}
	for _, part := range []string{f.Object, f.Field} {
		if part != "" {
			b.WriteString(Harmless(part))
			b.WriteString(": ")
		}
	}
	b.WriteString(oneLine(f.Message))
	if f.Remedy != "" {
		b.WriteString("; ")
		if !strings.HasSuffix(f.Remedy, "?") { // did you mean "X"?
			b.WriteString("fix: ")
		}
		b.WriteString(oneLine(f.Remedy))
	}
	return b.String()
}

// Failed is the rule of errors that name none.
const Failed = "failed"

// Fault is the error of a function that does not know the place of what it is given:
// what is wrong, and what to do about it. Its caller adds the place.
func Fault(message, remedy string) error {
	return Finding{Severity: Error, Rule: Failed, Message: message, Remedy: remedy}
}

// Of returns the findings that err carries, in the order they were joined.
// What is no Finding comes back as one of severity Error that holds only the
// text, so a caller can print every error the same way.
func Of(err error) []Finding {
	if err == nil {
		return nil
	}
	//lint:ignore errorlint the tree of errors is walked here, one at a time
	if f, ok := err.(Finding); ok {
		return []Finding{f}
	}
	//lint:ignore errorlint the same
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var all []Finding
		for _, inner := range e.Unwrap() {
			all = append(all, Of(inner)...)
		}
		return all
	case interface{ Unwrap() error }:
		var f Finding
		if errors.As(err, &f) {
			return Of(e.Unwrap())
		}
	}
	return []Finding{{Severity: Error, Rule: Failed, Message: err.Error()}}
}

// Err joins those findings that are errors; nil means there are none.
func Err(all []Finding) error {
	var errs []error
	for _, f := range all {
		if f.Severity == Error {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// Sort orders findings by where they are, so that a report does not depend on
// the order of the checks that made it.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Error(), b.Error())
	})
}

// Told is the finding as its text tells it, field by field: without credentials
// and in one line.
func (f Finding) Told() Finding {
	f.File, f.Object, f.Field = Harmless(f.File), Harmless(f.Object), Harmless(f.Field)
	f.Message, f.Remedy = oneLine(f.Message), oneLine(f.Remedy)
	return f
}

// oneLine keeps the promise that a finding is one line, whatever a library
// put into its message.
func oneLine(s string) string {
	return Harmless(strings.Join(strings.Fields(s), " "))
}

// Harmless writes out what a terminal or a log would obey instead of showing:
// line breaks, escape sequences, marks that turn the direction of text. Names
// in messages come from the input, which anybody may have written. Addresses lose
// their credentials.
func Harmless(s string) string {
	var b strings.Builder
	for _, r := range WithoutCredentials(s) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
