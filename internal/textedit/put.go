package textedit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// errLayout means that a field cannot be set without touching other lines.
var errLayout = errors.New("the layout is unusual")

// Put sets a field of a mapping within a text, which may contain other documents and which is
// never written anew: what is not the field stays byte for byte. The elements of a path are
// keys, and indices of lists; missing mappings are added behind the last entry. A value in a text
// keeps its quotes.
func Put(text string, in, value *yaml.Node, path ...any) (string, error) {
	for {
		entry, err := child(in, path[0])
		if err != nil {
			return "", err
		}
		rest := path[1:]
		switch {
		case entry.value == nil:
			return insert(text, in, nest(value, path))
		case len(rest) == 0:
			return replace(text, entry, value)
		case entry.value.Tag == "!!null":
			return replace(text, entry, nest(value, rest))
		case entry.value.Kind == yaml.MappingNode && len(entry.value.Content) == 0:
			return fill(text, entry.value, nest(value, rest), isJSON(text))
		}
		in, path = entry.value, rest
	}
}

// PutBehind adds a key to a mapping within a text: behind the line of another key, or in braces
// before the one that follows it; before all keys if the other is "". Its caller reads the result:
// the value of the other key may continue on the next line.
func PutBehind(text string, in, value *yaml.Node, key, other string) (string, error) {
	entry, lines, i := nest(value, []string{key}), NewLines(text), 0
	if other != "" {
		if i = Index(in, other) + 2; i < 2 {
			return "", errLayout
		}
	}
	switch inBraces := in.Style&yaml.FlowStyle != 0; {
	case len(in.Content) == 0:
		return fill(text, in, entry, false)
	case !inBraces && i > 0 && in.Content[i-1].Kind == yaml.ScalarNode:
		_, at := lines.Span(in.Content[i-1].Line - 1)
		return addLines(text, at, entry, in.Content[0].Column-1), nil
	case !inBraces && i == 0:
		if at, ok := lines.Offset(in.Content[0].Line, 1); ok {
			return addLines(text, at, entry, in.Content[0].Column-1), nil
		}
	case inBraces && i < len(in.Content):
		if at, ok := lines.Offset(in.Content[i].Line, in.Content[i].Column); ok {
			return Apply(text, Splice{at, at, flowEntry(entry, false) + ", "}), nil
		}
	}
	return "", errLayout
}

// field is an entry of a mapping or list; key is nil in a list.
type field struct{ key, value *yaml.Node }

// child finds an entry. The value is nil if a key is missing.
func child(in *yaml.Node, at any) (field, error) {
	switch at := at.(type) {
	case int:
		if in.Kind == yaml.SequenceNode && at < len(in.Content) {
			return field{value: in.Content[at]}, nil
		}
		return field{}, fmt.Errorf("no item %d", at)
	case string:
		if in.Kind != yaml.MappingNode {
			return field{}, fmt.Errorf("%s is not below a mapping", at)
		}
		if i := Index(in, at); i >= 0 {
			return field{in.Content[i], in.Content[i+1]}, nil
		}
		if Index(in, "<<") >= 0 {
			return field{}, errLayout
		}
	}
	return field{}, nil
}

// nest wraps a value in mappings for the keys of a path.
func nest[Key any](value *yaml.Node, path []Key) *yaml.Node {
	for _, key := range slices.Backward(path) {
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map",
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: fmt.Sprint(key)}, value}}
	}
	return value
}

// insert adds the entry of a mapping behind the last one of another.
func insert(text string, in, entry *yaml.Node) (string, error) {
	if len(in.Content) == 0 {
		return fill(text, in, entry, isJSON(text))
	}
	lines := NewLines(text)
	last, value := in.Content[len(in.Content)-2], in.Content[len(in.Content)-1]
	if in.Style&yaml.FlowStyle != 0 {
		return insertInFlow(text, lines, in, entry)
	}
	_, end := extent(lines, last, value)
	return addLines(text, end, entry, last.Column-1), nil
}

// addLines adds a mapping as lines, at the start of one or at the end of the text.
func addLines(text string, at int, added *yaml.Node, indent int) string {
	eol := LineBreak(text)
	lines := strings.ReplaceAll(block(added, indent), "\n", eol)
	if at == len(text) && !strings.HasSuffix(text, "\n") {
		lines = eol + strings.TrimSuffix(lines, eol)
	}
	return Apply(text, Splice{at, at, lines})
}

// insertInFlow adds an entry before the first one in braces, on a line of its own if they are.
func insertInFlow(text string, lines *Lines, in, entry *yaml.Node) (string, error) {
	first := in.Content[0]
	at, ok := lines.Offset(first.Line, first.Column)
	if !ok {
		return "", errLayout
	}
	added := flowEntry(entry, first.Style&yaml.DoubleQuotedStyle != 0)
	if first.Line == in.Line {
		return Apply(text, Splice{at, at, added + ", "}), nil
	}
	from, _ := lines.Span(first.Line - 1)
	if strings.TrimSpace(text[from:at]) != "" {
		return "", errLayout
	}
	return Apply(text, Splice{at, at, added + "," + LineBreak(text) + text[from:at]}), nil
}

// fill adds the first entry to empty braces.
func fill(text string, in, entry *yaml.Node, json bool) (string, error) {
	at, ok := NewLines(text).Offset(in.Line, in.Column)
	if !ok || !strings.HasPrefix(text[at:], "{") {
		return "", errLayout
	}
	at++
	return Apply(text, Splice{at, at, flowEntry(entry, json)}), nil
}

func isJSON(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") }

// flowEntry writes the entry of a mapping for a place in braces.
func flowEntry(entry *yaml.Node, json bool) string {
	return strings.TrimSuffix(strings.TrimPrefix(flow(entry, json), "{"), "}")
}

// flow writes a node in one line.
func flow(n *yaml.Node, json bool) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, flow(n.Content[i], json)+": "+flow(n.Content[i+1], json))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, flow(item, json))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	scalar := *n
	if json && n.ShortTag() == "!!str" || n.ShortTag() == "!!str" && strings.ContainsAny(n.Value, ",[]{}") {
		scalar.Style = yaml.DoubleQuotedStyle
	}
	return strings.TrimSuffix(MustEncode(&scalar), "\n")
}

// replace replaces the value of an entry.
func replace(text string, at field, value *yaml.Node) (string, error) {
	lines := NewLines(text)
	old := at.value
	if old.Kind == yaml.ScalarNode && old.Tag == "!!null" && old.Value == "" && at.key != nil {
		return replaceNothing(text, lines, at.key, value)
	}
	if old.Kind == yaml.ScalarNode && old.Anchor == "" {
		from, ok := lines.Offset(old.Line, old.Column)
		if !ok {
			return "", errLayout
		}
		token, written := "", ""
		switch {
		case old.Style == yaml.SingleQuotedStyle && value.Kind == yaml.ScalarNode:
			token, written = "'"+strings.ReplaceAll(old.Value, "'", "''")+"'", "'"+strings.ReplaceAll(value.Value, "'", "''")+"'"
		case old.Style == yaml.DoubleQuotedStyle && value.Kind == yaml.ScalarNode:
			quoted := *value
			quoted.Style = yaml.DoubleQuotedStyle
			token, written = `"`+old.Value+`"`, flow(&quoted, true)
		case old.Style == 0:
			token, written = old.Value, flow(value, false)
		}
		if token == "" || !strings.HasPrefix(text[from:], token) {
			return "", errLayout
		}
		return Apply(text, Splice{from, from + len(token), written}), nil
	}
	if old.Kind == yaml.SequenceNode && old.Style&yaml.FlowStyle != 0 && old.Anchor == "" {
		return replaceFlow(text, lines, old, value)
	}
	if at.key == nil || old.Kind == yaml.SequenceNode && slices.ContainsFunc(old.Content, hasComment) {
		return "", errLayout // comments of items would be lost
	}
	start, end := extent(lines, at.key, old)
	if from, ok := lines.Offset(at.key.Line, at.key.Column); !ok || strings.Trim(text[start:from], " ") != "" {
		return "", errLayout
	}
	eol := LineBreak(text)
	written := strings.ReplaceAll(block(nest(value, []string{at.key.Value}), at.key.Column-1), "\n", eol)
	if !strings.HasSuffix(text[start:end], "\n") {
		written = strings.TrimSuffix(written, eol)
	}
	return Apply(text, Splice{start, end, written}), nil
}

func hasComment(n *yaml.Node) bool { return n.HeadComment+n.LineComment+n.FootComment != "" }

// replaceFlow replaces a list of plain values in brackets on one line.
func replaceFlow(text string, lines *Lines, old, value *yaml.Node) (string, error) {
	from, ok := lines.Offset(old.Line, old.Column)
	if !ok || !strings.HasPrefix(text[from:], "[") {
		return "", errLayout
	}
	list, _, closed := strings.Cut(text[from:], "]")
	if !closed || strings.ContainsAny(list, "\r\n#") || strings.ContainsAny(list[1:], "[{") {
		return "", errLayout
	}
	quoted := len(old.Content) > 0 && old.Content[0].Style&yaml.DoubleQuotedStyle != 0 // as JSON needs it
	return Apply(text, Splice{from, from + len(list) + 1, flow(value, quoted)}), nil
}

// replaceNothing writes the value of a key without one.
func replaceNothing(text string, lines *Lines, key, value *yaml.Node) (string, error) {
	from, ok := lines.Offset(key.Line, key.Column)
	if !ok {
		return "", errLayout
	}
	colon := strings.IndexByte(text[from:], ':')
	if colon < 0 || strings.ContainsAny(text[from:from+colon], "\r\n#") {
		return "", errLayout
	}
	at := from + colon + 1
	_, end := lines.Span(key.Line - 1)
	if rest := strings.TrimSpace(text[at:end]); value.Kind == yaml.ScalarNode || rest != "" && rest[0] != '#' {
		return Apply(text, Splice{at, at, " " + flow(value, false)}), nil
	}
	return addLines(text, end, value, key.Column+1), nil
}
