// Package paint colours text for terminals.
package paint

// Paint colours text, or leaves it as it is.
type Paint struct{ On bool }

// In is a text in a colour; an empty one is none.
func (p Paint) In(colour, text string) string {
	if !p.On || colour == "" || text == "" {
		return text
	}
	return colour + text + Plain
}

// The colours are of the sixteen that people choose for their terminals, and
// readable on light and on dark ones.
const (
	Bold  = "\x1b[1m"
	Red   = "\x1b[31m"
	Green = "\x1b[32m"
	Cyan  = "\x1b[36m"
	Plain = "\x1b[0m"
)
