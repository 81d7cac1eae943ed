// Package paint colours text for terminals.
package paint

import "github.com/ladder-cmp/ladder/internal/finding"

// Paint colours text, or leaves it as it is.
type Paint struct{ On bool }

// In is a text in a colour; an empty one is none.
func (p Paint) In(colour, text string) string {
	if !p.On || colour == "" || text == "" {
		return text
	}
	return colour + text + Plain
}

// Severity is the word that a finding begins with.
func (p Paint) Severity(s finding.Severity) string { return p.In(severities[s], string(s)) }

// Counted counts the findings of a severity; none has no colour.
func (p Paint) Counted(n int, s finding.Severity) string {
	text := finding.Counted(n, string(s))
	if n == 0 {
		return text
	}
	return p.In(severities[s], text)
}

var severities = map[finding.Severity]string{finding.Error: "\x1b[1;31m", finding.Warning: "\x1b[33m", finding.Note: Cyan}

// The colours are of the sixteen that people choose for their terminals, and
// readable on light and on dark ones.
const (
	Bold  = "\x1b[1m"
	Red   = "\x1b[31m"
	Green = "\x1b[32m"
	Cyan  = "\x1b[36m"
	Plain = "\x1b[0m"
)
