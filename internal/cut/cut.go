// Package cut shortens texts that leave the program. Names and values in a text are the input's,
// and may have any size.
package cut

import "strings"

const gap = " ... "

// Middle removes the middle of a text that is longer than most bytes, such as a chain of template
// includes: its start says where, and its end why.
func Middle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	half := max(most-len(gap), 0) / 2
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}
