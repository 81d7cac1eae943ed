package object

import (
	"fmt"
	"iter"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// maxExpanded and maxExpandedBytes limit the size of a document with aliases
// expanded, as every reader including Argo CD does. The largest CRDs have about
// 100,000 nodes, and no object in a cluster can exceed 1.5 MiB (etcd).
const (
	maxExpanded      = 2_000_000
	maxExpandedBytes = 32 << 20
)

// extent is the size of an expanded node: the number of values, and the bytes of
// their text.
type extent struct{ values, bytes int }

// checkAliases refuses documents whose expansion is too large: an anchor inside
// itself, nested aliases that multiply, or many aliases of a long text.
func checkAliases(text string, doc *yaml.Node) error {
	_, err := measureExpanded(text, doc)
	return err
}

// ExpandedSize returns the size of a manifest's text in bytes with aliases expanded.
func ExpandedSize(text string) int {
	if !mayHaveAliases(text) {
		return len(text)
	}
	var doc yaml.Node
	if unmarshal(text, &doc) != nil {
		return len(text)
	}
	grown, err := measureExpanded(text, &doc)
	if err != nil {
		return max(len(text), maxExpandedBytes)
	}
	return max(len(text), grown.bytes)
}

// measureExpanded returns the size of a document with its aliases expanded, or an error if
// it exceeds the limits.
func measureExpanded(text string, doc *yaml.Node) (extent, error) {
	if !mayHaveAliases(text) {
		return extent{}, nil
	}
	open := extent{-1, -1} // marks nodes being measured: if visited again, the node contains itself
	sizes := map[*yaml.Node]extent{}
	var size func(n *yaml.Node) (extent, error)
	size = func(n *yaml.Node) (extent, error) {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if s, seen := sizes[n]; seen {
			if s == open {
				return extent{}, fmt.Errorf("yaml: line %d: a value contains itself", n.Line)
			}
			return s, nil
		}
		if n.Anchor != "" {
			sizes[n] = open
		}
		total := extent{1, len(n.Value)}
		for _, c := range n.Content {
			s, err := size(c)
			if err != nil {
				return extent{}, err
			}
			total.values += s.values
			total.bytes += s.bytes
			if total.values > maxExpanded {
				return extent{}, fmt.Errorf("yaml: line %d: aliases expand to more than %d values", n.Line, maxExpanded)
			}
			if total.bytes > maxExpandedBytes {
				return extent{}, fmt.Errorf("yaml: line %d: aliases expand to more than %d MiB", n.Line, maxExpandedBytes>>20)
			}
		}
		if n.Anchor != "" {
			sizes[n] = total
		}
		return total, nil
	}
	return size(doc)
}

// mayHaveAliases reports whether a text may contain an alias, "*name", of an anchor, "&name", in
// it. It reads only these characters: manifests contain them in scripts, queries and patterns, and
// it would take longer to parse them again. A text without both, for which the parser would
// report an unknown anchor, has no aliases.
func mayHaveAliases(text string) bool {
	var anchors map[string]bool
	for name := range marked(text, '*') {
		if anchors == nil {
			anchors = map[string]bool{}
			for name := range marked(text, '&') {
				anchors[name] = true
			}
		}
		if anchors[name] {
			return true
		}
	}
	return false
}

// marked returns what follows a mark and may be the name of an anchor: letters, digits, "-" and "_".
func marked(text string, mark byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			at := strings.IndexByte(text, mark)
			if at < 0 {
				return
			}
			text = text[at+1:]
			end := 0
			for end < len(text) && isAnchorByte(text[end]) {
				end++
			}
			if end > 0 && !yield(text[:end]) {
				return
			}
		}
	}
}

func isAnchorByte(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_' || c == '-'
}
