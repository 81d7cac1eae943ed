// Package screen shows on a terminal what commands print: with colours and in its
// width. In a pipe it stays as it is.
package screen

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/ladder-cmp/ladder/internal/paint"
)

// Look says when output has colours: the flag --color.
type Look string

// String implements pflag.Value.
func (l *Look) String() string { return string(*l) }

// LookType is what --help calls the values of the flag.
const LookType = "when"

// Type is what --help calls the value.
func (l *Look) Type() string { return LookType }

// Set implements pflag.Value.
func (l *Look) Set(value string) error {
	if !slices.Contains(Looks, value) {
		return fmt.Errorf("want %s", strings.Join(Looks, ", "))
	}
	*l = Look(value)
	return nil
}

// On returns a writer that is shown as the flag says.
func (l *Look) On(out io.Writer) io.Writer { return screen{out: out, look: l} }

const (
	Auto   Look = "auto"
	Always Look = "always"
	Never  Look = "never"
)

// Looks are the values that the flag takes.
var Looks = []string{string(Auto), string(Always), string(Never)}

// screen shows what commands print: on a terminal with colours and in its width,
// in a pipe as it is. Commands write plain text and know nothing of it; what is
// coloured is told by the form that all of them write: heads of tables in
// capitals, and severities in front of findings.
//
// A text is written at once, so that no line or table is cut in two.
type screen struct {
	out  io.Writer
	look *Look
}

// coloured decides as other programs do: the flag, then NO_COLOR
// (https://no-color.org), then CLICOLOR_FORCE (https://bixense.com/clicolors),
// then whether a terminal that knows colours is there.
func (s screen) coloured() bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case *s.look != Auto:
		return *s.look == Always
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return Terminal(s.out) != nil && os.Getenv("TERM") != "dumb"
}

func (s screen) Write(p []byte) (int, error) {
	width := 0 // as wide as the text is
	if f := Terminal(s.out); f != nil {
		width, _, _ = term.GetSize(int(f.Fd()))
	}
	coloured := s.coloured()
	if !coloured && width == 0 {
		return s.out.Write(p)
	}
	if _, err := s.out.Write(shown(p, width, coloured)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Terminal returns the terminal that is written to, or nil.
func Terminal(w io.Writer) *os.File {
	if s, ok := w.(screen); ok {
		w = s.out
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// PaintFor is for text whose colours no form tells, such as a comparison.
func PaintFor(out io.Writer) paint.Paint {
	s, ok := out.(screen)
	return paint.Paint{On: ok && s.coloured()}
}

// cutEnd takes the line break off a line.
func cutEnd(line string) (text, end string, found bool) {
	text, found = strings.CutSuffix(line, "\n")
	return text, line[len(text):], found
}

// inTable reports whether a line is a row of a table whose last column begins at
// a place: two spaces stand before that.
func inTable(line string, last int) bool {
	before := []rune(line)
	return len(before) > last && last >= 2 && string(before[last-2:last]) == "  " && before[last] != ' '
}

// leastWide is how many characters a last column must have for its text to be
// folded: narrower ones are easier to read when the terminal breaks the lines.
const leastWide = 24

// folded breaks the last column of a row into lines below each other.
func folded(line string, last, width int) string {
	row := []rune(line)
	if wide := width - last; wide < leastWide || len(row) <= width {
		return line
	}
	var b strings.Builder
	b.WriteString(string(row[:last]))
	at := last
	for i, word := range strings.Split(string(row[last:]), " ") {
		long := utf8.RuneCountInString(word)
		switch {
		case i > 0 && at+1+long > width:
			b.WriteString("\n" + strings.Repeat(" ", last))
			at = last
		case i > 0:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += long
	}
	return b.String()
}

// shown is a text on a screen of some width; 0 is no limit.
func shown(text []byte, width int, coloured bool) []byte {
	colour := paint.Paint{On: coloured}.In
	painted := func(text string) string {
		return counts.ReplaceAllStringFunc(text, func(count string) string {
			return colour(colours[counts.FindStringSubmatch(count)[1]], count)
		})
	}
	var b bytes.Buffer
	last := -1 // where the last column of the table begins, in characters
	for line := range strings.Lines(string(text)) {
		line, end, _ := cutEnd(line)
		switch found := severe.FindStringSubmatch(line); {
		case tableHead.MatchString(line):
			last = utf8.RuneCountInString(line[:lastName.FindStringIndex(line)[0]])
			line = colour(paint.Bold, line)
		case last >= 0 && inTable(line, last):
			line = painted(folded(line, last, width))
		case found != nil:
			last = -1
			line = found[1] + colour(colours[found[2]], found[2]) + found[3]
		case totals.MatchString(line):
			last = -1
			line = painted(line)
		default:
			last = -1
		}
		b.WriteString(line + end)
	}
	return b.Bytes()
}

// The parts of a text that are shown in their own way. A table has a head of
// names in capitals, two spaces or more apart. It begins where a line does: what
// is further in may be the content of a manifest, and stays as it is.
var (
	tableHead = regexp.MustCompile(`^[A-Z]+(?: [A-Z]+)*(?: {2,}[A-Z]+(?: [A-Z]+)*)+$`)
	lastName  = regexp.MustCompile(`[A-Z]+(?: [A-Z]+)*$`)
	severe    = regexp.MustCompile(`^(cmp: )?(error|warning|note)(: .*)$`)
	totals    = regexp.MustCompile(`^[0-9]+ errors?, [0-9]+ warnings?, [0-9]+ notes?`)
	counts    = regexp.MustCompile(`\b[1-9][0-9]* (error|warning|note)s?\b`)
)

var colours = map[string]string{"error": "\x1b[1;31m", "warning": "\x1b[33m", "note": paint.Cyan}
