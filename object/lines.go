package object

import (
	"math"
	"strings"
)

// lines finds lines of a text by number, counted from 0 as the YAML library
// counts them. It reads no further than it must: the metadata of a CRD stands
// before half a megabyte of schema.
type lines struct {
	text   string
	starts []int // offsets of the lines found so far
	next   int   // where the search goes on
}

// span returns where line n begins and ends, its line break included; both are
// the end of the text when there is no such line.
func (l *lines) span(n int) (from, to int) {
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

// at returns line n with its line break, empty if there is no such line.
func (l *lines) at(n int) string {
	from, to := l.span(n)
	return l.text[from:to]
}

// count returns the number of lines.
func (l *lines) count() int {
	l.find(math.MaxInt)
	return len(l.starts)
}

// find looks for the starts of lines up to number n.
func (l *lines) find(n int) {
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

// countBreaks counts the line breaks of a text.
func countBreaks(text string) int {
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

// breakLen returns the length of the line break at text[i], 0 if there is
// none. YAML 1.1, which the library reads, knows CR, LF, CR LF, NEL, LS and PS.
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
