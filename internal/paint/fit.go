package paint

import (
	"strings"
	"unicode/utf8"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Lines that are continued: narrowest is the least width of the last column, and rest the
// indentation of its text where it would be narrower.
const (
	narrowest = 30
	rest      = 6
)

// gap separates columns; indentation is one, too.
var gap = lazyregexp.New(` {2,}|^ +`)

// Fit breaks the lines of a text between words so that they fit a width, in characters; 0 leaves
// them as they are. The last column of a line goes on below itself or, if that is too narrow, on
// the next line.
func Fit(text string, width int) string {
	if width <= rest+narrowest/2 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		if utf8.RuneCountInString(line) > width {
			line = fitLine(line, width)
		}
		b.WriteString(line)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func fitLine(line string, width int) string {
	start := 0
	gaps := gap.FindAllStringIndex(line, -1)
	if gaps != nil {
		start = gaps[len(gaps)-1][1]
	}
	text, at := line[:start], utf8.RuneCountInString(line[:start])
	indent := at
	if isSentence := gaps == nil || gaps[len(gaps)-1][0] == 0; isSentence {
		indent += 2
	} else if indent > width-narrowest {
		indent = rest
		text, at = strings.TrimRight(text, " "), width
	}
	for n, word := range strings.Fields(line[start:]) {
		length := utf8.RuneCountInString(word)
		switch {
		case at+1+length > width && (n > 0 || at == width):
			text += "\n" + strings.Repeat(" ", indent)
			at = indent
		case n > 0:
			text += " "
			at++
		}
		text += word
		at += length
	}
	return text
}
