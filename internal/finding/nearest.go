package finding

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Nearest collects the known names that are similar to an unknown word.
type Nearest struct {
	word  string
	names []candidate
}

type candidate struct {
	name     string
	distance int
}

// NearestTo starts with the unknown word.
func NearestTo(word string) *Nearest { return &Nearest{word: strings.ToLower(word)} }

// Add offers a name, and the spellings that a user may know. The name is a
// candidate if a spelling contains the word, or differs from it by a few letters,
// depending on the length of the word after its last slash.
func (n *Nearest) Add(name string, spellings ...string) {
	own := n.word[strings.LastIndexByte(n.word, '/')+1:]
	limit := 1 + len(own)/5
	best := limit + 1
	for _, s := range spellings {
		s = strings.ToLower(s)
		d := limit + 1
		if max(len(n.word)-len(s), len(s)-len(n.word)) <= limit && len(s) <= longestName {
			d = editDistance(n.word, s)
		}
		if len(n.word) > 2 && strings.Contains(s, n.word) {
			d = min(d, 1)
		}
		best = min(best, d)
	}
	if best <= limit && !slices.ContainsFunc(n.names, func(c candidate) bool { return c.name == name }) {
		n.names = append(n.names, candidate{name, best})
	}
}

// longestName is the length of a name, in bytes, up to which letters are compared: that takes the
// product of two lengths, and a component may have written both.
const longestName = 1000

// String returns a suggestion: did you mean "a" or "b"? It is empty if no name is
// similar.
func (n *Nearest) String() string {
	slices.SortStableFunc(n.names, func(x, y candidate) int { return x.distance - y.distance })
	var names []string
	for _, c := range n.names {
		names = append(names, c.name)
	}
	return DidYouMean(names...)
}

// Closest returns the most similar names.
func (n *Nearest) Closest() []string {
	best := math.MaxInt
	for _, c := range n.names {
		best = min(best, c.distance)
	}
	var names []string
	for _, c := range n.names {
		if c.distance == best {
			names = append(names, c.name)
		}
	}
	return names
}

// DidYouMean suggests the first three names; it is empty if there are none.
func DidYouMean(names ...string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("did you mean %q?", names[0])
	case 2:
		return fmt.Sprintf("did you mean %q or %q?", names[0], names[1])
	}
	return fmt.Sprintf("did you mean %q, %q or %q?", names[0], names[1], names[2])
}

// Or returns the suggestion, or otherwise if no name is similar.
func (n *Nearest) Or(otherwise string) string {
	return cmp.Or(n.String(), otherwise)
}

// Suggest suggests names that are similar to a word; empty if none is.
func Suggest[T ~string](word T, names []T) string {
	n := NearestTo(string(word))
	for _, name := range names {
		n.Add(string(name), string(name))
	}
	return n.String()
}

// NearestOr suggests names that are similar to a word, or else returns otherwise.
func NearestOr(word string, names []string, otherwise string) string {
	return cmp.Or(Suggest(word, names), otherwise)
}

// editDistance counts insertions, deletions, substitutions and transpositions
// (optimal string alignment).
func editDistance(a, b string) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
