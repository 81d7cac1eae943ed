package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// libraryLog converts log messages of libraries to warnings. Helm logs ignored
// values, in parentheses after their path, and unknown hook types; they may be
// secrets, and are removed.
type libraryLog struct{ out io.Writer }

func (l libraryLog) Write(p []byte) (int, error) {
	if duplicateMessages.Match(p) {
		return len(p), nil
	}
	text := logValues.ReplaceAllString(strings.TrimSpace(string(p)), "")
	text = logLevel.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	_, err := fmt.Fprintf(l.out, "cmp: %s: %s\n", finding.Warning, finding.Sanitize(text))
	return len(p), err
}

// NewLibraryLog returns a writer that writes such warnings to out.
func NewLibraryLog(out io.Writer) io.Writer { return libraryLog{out} }

// DivertStderr redirects lines that libraries print to os.Stderr, such as
// kustomize's about deprecated fields. wait returns when all of them are written.
func DivertStderr(to io.Writer) (wait func()) {
	from, stray, err := os.Pipe()
	if err != nil {
		return func() {} // they remain unchanged
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
	logLevel  = lazyregexp.New(`^(?:# )?(?i:warning: |warn |info |error )`)
	logValues = lazyregexp.New(`(?s) (?:\(.*\)|hookTypes=.*)$`)
)

// duplicateMessages matches messages that Ladder reports itself: that a version range was
// resolved, that a value replaces a default of another type, and that a field of a
// kustomization is deprecated.
var duplicateMessages = lazyregexp.New(`unable to find exact version requested; falling back|skipped value for ` +
	`|cannot overwrite table with non table|destination for \S+ is a table|^# Warning: '\w+' is deprecated\. Please use`)
