package textedit

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Index returns where a key is in the content of a mapping, with its value behind it; -1
// if there is none. Aliases and merge keys are not followed: what is edited is the text
// of this mapping.
func Index(n *yaml.Node, key string) int {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// Value returns the value of a key of a mapping; nil if there is none. Like Index, it follows nothing.
func Value(n *yaml.Node, key string) *yaml.Node {
	if i := Index(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// End returns the offset behind an entry of a block mapping or list, which begins on a
// line, counted from 1, and whose key or dash is indented by a number of spaces, and the
// number of the line that ends it, counted from 0. Blank lines and comments between it
// and the next entry are not part of it. If the value of a key is a list, its items may be
// indented like the key.
func (l *Lines) End(line, indent int, list bool) (end, next int) {
	_, end = l.Span(line - 1)
	for next = line; next < l.Count(); next++ {
		text := strings.TrimRight(l.At(next), "\r\n")
		rest := strings.TrimLeft(text, " ")
		deep := len(text) - len(rest)
		inside := deep > indent || list && deep == indent && (rest == "-" || strings.HasPrefix(rest, "- "))
		switch {
		case rest == "" || rest[0] == '#' && !inside:
		case inside:
			_, end = l.Span(next)
		default:
			return end, next
		}
	}
	return end, next
}
