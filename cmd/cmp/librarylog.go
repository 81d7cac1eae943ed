package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
)

// libraryLog turns what libraries log into warnings like all others. Helm logs
// values that it passes over, in parentheses behind their path, and types of hooks
// that it does not know; they may be secrets, and are left out.
type libraryLog struct{ out io.Writer }

var (
	logLevel  = regexp.MustCompile(`^(?i:warning: |warn |info |error )`)
	logValues = regexp.MustCompile(`(?s) (?:\(.*\)|hookTypes=.*)$`)
)

func (l libraryLog) Write(p []byte) (int, error) {
	text := logValues.ReplaceAllString(strings.TrimSpace(string(p)), "")
	text = logLevel.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	_, err := fmt.Fprintf(l.out, "cmp: %s: %s\n", finding.Warning, finding.Harmless(text))
	return len(p), err
}
