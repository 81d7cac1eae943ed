// Package textedit changes parts of a YAML text and keeps the rest byte for byte:
// it converts the YAML library's lines and columns to offsets, finds where entries
// begin and end, and replaces text there. What to write where is up to its callers.
package textedit

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Lines finds lines of a text by number, counted from 0. It searches only as far as
// needed: the metadata of a CRD precedes half a megabyte of schema. It is not safe
// for concurrent use.
type Lines struct {
	text   string
	starts []int // offsets of the lines found so far
	next   int   // where the search continues
}

// NewLines returns the lines of a text.
func NewLines(text string) *Lines { return &Lines{text: text} }

// Span returns the start and end of line n, including its line break; both are the
// end of the text if the line does not exist.
func (l *Lines) Span(n int) (from, to int) {
	l.find(n + 1)
	from, to = len(l.text), len(l.text)
	if n < 0 || n >= len(l.starts) {
		return from, to
	}
	from = l.starts[n]
	if n+1 < len(l.starts) {
		to = l.starts[n+1]
	}
	return from, to
}

// At returns line n with its line break, or "" if it does not exist.
func (l *Lines) At(n int) string {
	from, to := l.Span(n)
	return l.text[from:to]
}

// Count returns the number of lines.
func (l *Lines) Count() int {
	l.find(math.MaxInt)
	return len(l.starts)
}

// Offset converts a line and column of the YAML library, which count from 1 and in
// characters, to an offset, and returns false if there is none. The line after the
// last one is the end. A byte order mark is not a character of the first line.
func (l *Lines) Offset(line, column int) (int, bool) {
	at, _ := l.Span(line - 1)
	switch {
	case line < 1 || at == len(l.text) && (line-1 > l.Count() || column > 1):
		return 0, false
	case line == 1 && strings.HasPrefix(l.text, byteOrderMark):
		at = len(byteOrderMark)
	}
	for ; column > 1; column-- {
		if at >= len(l.text) {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(l.text[at:])
		at += size
	}
	return at, true
}

const byteOrderMark = "\ufeff"

// find searches the starts of lines up to number n.
func (l *Lines) find(n int) {
	if l.starts == nil && l.text != "" {
		l.starts = []int{0}
	}
	for len(l.starts) <= n && l.next < len(l.text) {
		if b := breakLen(l.text, l.next); b > 0 {
			l.next += b
			if l.next < len(l.text) {
				l.starts = append(l.starts, l.next)
			}
		} else {
			l.next++
		}
	}
}

// CountBreaks counts the line breaks of a text.
func CountBreaks(text string) int {
	if !hasOddBreaks(text) {
		return strings.Count(text, "\n")
	}
	n := 0
	for i := 0; i < len(text); {
		if b := breakLen(text, i); b > 0 {
			n++
			i += b
		} else {
			i++
		}
	}
	return n
}

// hasOddBreaks reports whether a text has line breaks other than "\n".
func hasOddBreaks(text string) bool {
	return strings.Contains(text, "\r") || strings.Contains(text, "\u0085") ||
		strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")
}

// breakLen returns the length of the line break at text[i], or 0. YAML 1.1, which
// the library implements, has CR, LF, CR LF, NEL, LS and PS.
func breakLen(text string, i int) int {
	switch text[i] {
	case '\n':
		return 1
	case '\r':
		if i+1 < len(text) && text[i+1] == '\n' {
			return 2
		}
		return 1
	case 0xC2:
		if strings.HasPrefix(text[i:], "\u0085") {
			return 2
		}
	case 0xE2:
		if strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029") {
			return 3
		}
	}
	return 0
}
