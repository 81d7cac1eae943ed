package textedit

import (
	"slices"
	"strings"
)

// Splice replaces the text between two offsets.
type Splice struct {
	From, To int
	Text     string
}

// Apply applies splices to a text, which must not overlap; those at the same offset
// are applied in order.
func Apply(text string, splices ...Splice) string {
	ordered := slices.Clone(splices)
	slices.SortStableFunc(ordered, func(a, b Splice) int { return a.From - b.From })
	size := len(text)
	for _, s := range ordered {
		size += len(s.Text)
	}
	var b strings.Builder
	b.Grow(size)
	done := 0
	for _, s := range ordered {
		b.WriteString(text[done:s.From])
		b.WriteString(s.Text)
		done = s.To
	}
	b.WriteString(text[done:])
	return b.String()
}
