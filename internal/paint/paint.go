// Package paint prints results: for people with colors and rows in columns, for programs as JSON.
package paint

import (
	"encoding/json"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Paint colors text, or leaves it unchanged.
type Paint struct{ On bool }

// In returns a text in a color; an empty color means none.
func (p Paint) In(colour, text string) string {
	if !p.On || colour == "" || text == "" {
		return text
	}
	return colour + text + Plain
}

// Severity returns the colored name of a severity.
func (p Paint) Severity(s finding.Severity) string { return p.In(severities[s], string(s)) }

// Finding formats a finding with its severity, and its rule, by which documents explain
// it and lists of accepted findings name it.
func (p Paint) Finding(f finding.Finding) string {
	rule := ""
	if f.Rule != "" && f.Rule != finding.Failed {
		rule = " [" + finding.Sanitize(string(f.Rule)) + "]"
	}
	return p.Severity(f.Severity) + rule + ": " + f.Error()
}

// Findings formats findings, one a line.
func (p Paint) Findings(all []finding.Finding) string {
	var b strings.Builder
	for _, f := range all {
		b.WriteString(p.Finding(f) + "\n")
	}
	return b.String()
}

// Counted formats a number of findings; zero has no color.
func (p Paint) Counted(n int, s finding.Severity) string {
	text := finding.Counted(n, string(s))
	if n == 0 {
		return text
	}
	return p.In(severities[s], text)
}

var severities = map[finding.Severity]string{finding.Error: "\x1b[1;31m", finding.Warning: "\x1b[33m", finding.Note: Cyan}

// The colors are standard terminal colors, readable on light and dark backgrounds.
const (
	Bold  = "\x1b[1m"
	Red   = "\x1b[31m"
	Green = "\x1b[32m"
	Cyan  = "\x1b[36m"
	Plain = "\x1b[0m"
)

// JSON returns a result for programs, indented as all commands print it.
func JSON(result any) (string, error) {
	text, err := json.MarshalIndent(result, "", "  ")
	return string(text) + "\n", err
}
