// Package nearest finds the names that somebody may have meant who wrote a word
// which names nothing.
package nearest

import (
	"slices"
	"strings"
)

// Names collects the names that are much like a word which names nothing.
type Names struct {
	word  string
	names []candidate
}

type candidate struct {
	name     string
	distance int
}

// New begins with a word that names nothing.
func New(word string) *Names { return &Names{word: strings.ToLower(word)} }

// Add offers a name, and the spellings by which it may have been meant. It
// stands for a word that differs by a few letters, or is a part of it. How many
// is said by the part of the word behind its last slash.
func (n *Names) Add(name string, spellings ...string) {
	own := n.word[strings.LastIndexByte(n.word, '/')+1:]
	limit := 1 + len(own)/5
	best := limit + 1
	for _, s := range spellings {
		s = strings.ToLower(s)
		d := editDistance(n.word, s)
		if len(n.word) > 2 && strings.Contains(s, n.word) {
			d = min(d, 1)
		}
		best = min(best, d)
	}
	if best <= limit && !slices.ContainsFunc(n.names, func(c candidate) bool { return c.name == name }) {
		n.names = append(n.names, candidate{name, best})
	}
}

// String is the beginning of a remedy that names what may have been meant,
// empty if nothing is near.
func (n *Names) String() string {
	if len(n.names) == 0 {
		return ""
	}
	slices.SortStableFunc(n.names, func(x, y candidate) int { return x.distance - y.distance })
	var names []string
	for _, c := range n.names[:min(len(n.names), 5)] {
		names = append(names, c.name)
	}
	return "perhaps you mean " + strings.Join(names, ", ") + "; "
}

// Or is the remedy for a word that is none of some names: those that it may have
// been meant for, or else what is given.
func Or(word string, names []string, otherwise string) string {
	n := New(word)
	for _, name := range names {
		n.Add(name, name)
	}
	if near := strings.TrimSuffix(n.String(), "; "); near != "" {
		return near
	}
	return otherwise
}

// editDistance counts the letters to insert, drop, replace or change places with the
// next (optimal string alignment).
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
