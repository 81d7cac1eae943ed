package finding

import "strings"

// MaxText is the maximum size of a text that leaves the program, in bytes. Names and values in a
// text are the input's, and may have any size.
const MaxText = 8 << 10

// rawText is how much of a text is searched for credentials. It is so much larger than MaxText
// that no part of an address that it splits is left.
const rawText = 8 * MaxText

const gap = " ... "

// CutMiddle removes the middle of a text that is longer than most bytes, such as a chain of template
// includes: its start says where, and its end why.
func CutMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	half := max(most-len(gap), 0) / 2
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}
