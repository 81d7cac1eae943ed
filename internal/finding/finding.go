// Package finding represents problems of an input as values.
//
// A Finding contains the place (file and line, object, field), the problem and the
// fix, always in one line. An error, in contrast, means that Ladder could not do
// its work. If an input is so wrong that nothing can be rendered, a Finding is also
// an error, and errors.Join combines several, so that users see all problems of a
// component at once.
package finding

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Severity is the effect of a finding.
type Severity string

const (
	// Error means that the input must be corrected. As an error value it replaces
	// the output; next to an output, such as one with waves that an author set, it
	// means that a sync will hang or fail.
	Error Severity = "error"
	// Warning means that the output is correct as far as is known, but that
	// something outside it can make the sync hang or fail.
	Warning Severity = "warning"
	// Note is information that does not affect this sync.
	Note Severity = "note"
)

// Rule is the stable name of what a finding is about, by which documents explain it and lists of
// accepted findings name it, such as "duplicate-object".
type Rule string

// StandardInput is the File of findings about standard input.
const StandardInput = "standard input"

// Finding is a problem of an input. Rule and Message are always set, the fields of
// the place as far as they are known.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     Rule     `json:"rule"`
	// File is the path of the file inside the repository, with slashes.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 means unknown.
	Line int `json:"line,omitempty"`
	// Object is the name of a manifest in the form "Deployment shop/web".
	Object string `json:"object,omitempty"`
	// Field is a path inside the object or file, such as "spec.replicas".
	Field string `json:"field,omitempty"`
	// Message is the problem.
	Message string `json:"message"`
	// Remedy is the fix: it starts with a verb, or suggests a name in a question.
	Remedy string `json:"remedy,omitempty"`
	// Question reports that Remedy is a question.
	Question bool `json:"-"`
	// Missing is an object that is not in the component but may be in another one:
	// "Service shop/web".
	Missing string `json:"-"`
	// Also are the names of other objects that the finding is about, separated by ", ";
	// Message lists them (see WithAlso).
	Also string `json:"-"`
	// About tells the finding apart from others with the same rule at the same place:
	// the names, or the cause that a library gives. Unlike Message it does not depend
	// on the waves of objects, on lines and on the directory. Empty if one is possible.
	About string `json:"-"`
}

// Error formats the finding in one line:
//
//	shop/values.yaml:3: image.tag: got number, want string; fix: quote it
func (f Finding) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(Sanitize(f.File))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	}
	for _, part := range []string{f.Object, f.Field} {
		if part != "" {
			b.WriteString(Sanitize(part))
			b.WriteString(": ")
		}
	}
	b.WriteString(oneLine(f.Message))
	if f.Remedy != "" {
		b.WriteString("; ")
		if !f.Question {
			b.WriteString("fix: ")
		}
		b.WriteString(oneLine(f.Remedy))
	}
	return b.String()
}

// Failed is the rule of errors without a rule.
const Failed Rule = "failed"

// Fault returns an error with a problem and its fix, from a function that does not
// know the place. The caller adds it.
func Fault(message, remedy string) Finding {
	return Finding{Severity: Error, Rule: Failed, Message: message, Remedy: remedy}
}

// Asking returns the finding with a question as its remedy, such as whether a similar
// name is meant; unchanged if the question is empty.
func (f Finding) Asking(question string) Finding {
	if question != "" {
		f.Remedy, f.Question = question, true
	}
	return f
}

// Of returns the findings in err, in order. Other errors are converted to findings
// of severity Error with only a message, so that a caller can print all errors in
// the same way.
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

// Err joins the findings of severity Error; nil if there are none.
func Err(all []Finding) error {
	var errs []error
	for _, f := range all {
		if f.Severity == Error {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// Sort sorts findings by place, independent of the order of checks.
func Sort(all []Finding) {
	type entry struct {
		Finding
		text func() string // composed at most once: it costs more than all else here
	}
	entries := make([]entry, len(all))
	for i, f := range all {
		entries[i] = entry{f, sync.OnceValue(f.Error)}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.text(), b.text())
	})
	for i, e := range entries {
		all[i] = e.Finding
	}
}

// Redacted returns the finding as its text shows it: without credentials and in one
// line, in every field.
func (f Finding) Redacted() Finding {
	f.File, f.Object, f.Field = Sanitize(f.File), Sanitize(f.Object), Sanitize(f.Field)
	f.Message, f.Remedy = oneLine(f.Message), oneLine(f.Remedy)
	return f
}

// oneLine ensures that a finding is one line, whatever a library put into its
// message.
func oneLine(s string) string {
	return Sanitize(strings.Join(strings.Fields(CutMiddle(s, rawText)), " "))
}

// Sanitize escapes what a terminal or a log would interpret: line breaks, escape
// sequences, bidirectional marks. Names in messages come from the input, which is
// untrusted. Credentials in URLs are removed, and so is the middle of a text that is longer than
// MaxText.
func Sanitize(s string) string {
	var b strings.Builder
	for _, r := range CutMiddle(WithoutCredentials(CutMiddle(s, rawText)), MaxText) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
