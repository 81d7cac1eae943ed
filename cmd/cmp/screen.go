package main

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
)

// look says when output has colours: the flag --color.
type look string

const (
	lookAuto   look = "auto"
	lookAlways look = "always"
	lookNever  look = "never"
)

var looks = []string{string(lookAuto), string(lookAlways), string(lookNever)}

func (l *look) String() string { return string(*l) }

// Type is what --help calls the value.
func (l *look) Type() string { return "when" }

func (l *look) Set(value string) error {
	if !slices.Contains(looks, value) {
		return fmt.Errorf("want %s", strings.Join(looks, ", "))
	}
	*l = look(value)
	return nil
}

// screen shows what commands print: on a terminal with colours and in its width,
// in a pipe as it is. Commands write plain text and know nothing of it; what is
// coloured is told by the form that all of them write: heads of tables in
// capitals, and severities in front of findings.
//
// A text is written at once, so that no line or table is cut in two.
type screen struct {
	out  io.Writer
	look *look
}

// on returns streams that are shown as the flag says.
func (l *look) on(s streams) streams {
	s.Out, s.Err = screen{s.Out, l}, screen{s.Err, l}
	return s
}

// terminal returns the terminal that is written to, or nil.
func terminal(w io.Writer) *os.File {
	if s, ok := w.(screen); ok {
		w = s.out
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// coloured decides as other programs do: the flag, then NO_COLOR
// (https://no-color.org), then CLICOLOR_FORCE (https://bixense.com/clicolors),
// then whether a terminal that knows colours is there.
func (s screen) coloured() bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case *s.look != lookAuto:
		return *s.look == lookAlways
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal(s.out) != nil && os.Getenv("TERM") != "dumb"
}

func (s screen) Write(p []byte) (int, error) {
	width := 0 // as wide as the text is
	if f := terminal(s.out); f != nil {
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

// The colours are of the sixteen that people choose for their terminals, and
// readable on light and on dark ones.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	plain = "\x1b[0m"
)

var colours = map[string]string{"error": "\x1b[1;31m", "warning": "\x1b[33m", "note": cyan}

// paint colours text, or leaves it as it is.
type paint struct{ on bool }

// paintFor is for text whose colours no form tells, such as a comparison.
func paintFor(out io.Writer) paint {
	s, ok := out.(screen)
	return paint{ok && s.coloured()}
}

func (p paint) in(colour, text string) string {
	if !p.on || colour == "" || text == "" {
		return text
	}
	return colour + text + plain
}

// shown is a text on a screen of some width; 0 is no limit.
func shown(text []byte, width int, coloured bool) []byte {
	paint := paint{coloured}.in
	painted := func(text string) string {
		return counts.ReplaceAllStringFunc(text, func(count string) string {
			return paint(colours[counts.FindStringSubmatch(count)[1]], count)
		})
	}
	var b bytes.Buffer
	last := -1 // where the last column of the table begins, in characters
	for line := range strings.Lines(string(text)) {
		line, end, _ := cutEnd(line)
		switch found := severe.FindStringSubmatch(line); {
		case tableHead.MatchString(line):
			last = utf8.RuneCountInString(line[:lastName.FindStringIndex(line)[0]])
			line = paint(bold, line)
		case last >= 0 && inTable(line, last):
			line = painted(folded(line, last, width))
		case found != nil:
			last = -1
			line = found[1] + paint(colours[found[2]], found[2]) + found[3]
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
