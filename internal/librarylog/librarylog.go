// Package librarylog turns what libraries log into warnings like all others.
package librarylog

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// libraryLog turns what libraries log into warnings like all others. Helm logs
// values that it passes over, in parentheses behind their path, and types of hooks
// that it does not know; they may be secrets, and are left out.
type libraryLog struct{ out io.Writer }

func (l libraryLog) Write(p []byte) (int, error) {
	if saidBetter.Match(p) {
		return len(p), nil
	}
	text := logValues.ReplaceAllString(strings.TrimSpace(string(p)), "")
	text = logLevel.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	_, err := fmt.Fprintf(l.out, "cmp: %s: %s\n", finding.Warning, finding.Harmless(text))
	return len(p), err
}

// New writes such warnings to a writer.
func New(out io.Writer) io.Writer { return libraryLog{out} }

// DivertStderr gives a writer the lines that libraries print to os.Stderr and do
// not log, as kustomize does with fields that it calls deprecated. wait returns
// when all of them are written.
func DivertStderr(to io.Writer) (wait func()) {
	from, stray, err := os.Pipe()
	if err != nil {
		return func() {} // they stay as they are
	}
	os.Stderr = stray
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewReader(from)
		for {
			line, err := lines.ReadString('\n')
			if strings.TrimSpace(line) != "" {
				_, _ = io.WriteString(to, line)
			}
			if err != nil {
				return
			}
		}
	}()
	return func() {
		stray.Close()
		<-done
	}
}

var (
	logLevel  = regexp.MustCompile(`^(?:# )?(?i:warning: |warn |info |error )`)
	logValues = regexp.MustCompile(`(?s) (?:\(.*\)|hookTypes=.*)$`)
)

// saidBetter is what messages of our own say, too: that a version was asked for
// as a range, and what it came to.
var saidBetter = regexp.MustCompile(`unable to find exact version requested; falling back`)
