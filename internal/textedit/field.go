package textedit

import (
	"errors"
	"reflect"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// SetField sets a field of a YAML mapping; mappings on the way to it are added if they
// are missing. A nil value removes the field. Lines that do not belong to the field stay
// byte for byte, unless the field is within braces, which are written as lines. Unlike Put, it
// removes fields, and formats the whole text again where it cannot edit it: the result goes into
// a new file.
func SetField(text string, value any, path ...string) (string, error) {
	doc, err := parseMapping(text)
	if err != nil {
		return "", err
	}
	want, err := parseMapping(text)
	if err != nil {
		return "", err
	}
	var node *yaml.Node
	if value != nil {
		node = &yaml.Node{}
		if err := node.Encode(value); err != nil {
			return "", err
		}
	}
	change(want, node, path)
	edited := spliceField(text, doc, node, path)
	if got, err := parseMapping(edited); err == nil && same(got, want) {
		return edited, nil
	}
	return Encode(want) // an unusual layout
}

// parseMapping returns the mapping that a text consists of.
func parseMapping(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("not a mapping")
	}
	return doc.Content[0], nil
}

func same(a, b *yaml.Node) bool {
	var x, y any
	return a.Decode(&x) == nil && b.Decode(&y) == nil && reflect.DeepEqual(x, y)
}

// change sets a field of a parsed mapping.
func change(m, value *yaml.Node, path []string) {
	m.Style &^= yaml.FlowStyle
	at := Index(m, path[0])
	switch {
	case at < 0 && value == nil:
	case at < 0:
		m.Content = append(m.Content, nest(value, path).Content...)
	case len(path) > 1 && m.Content[at+1].Kind == yaml.MappingNode:
		change(m.Content[at+1], value, path[1:])
	case value == nil && len(path) > 1:
	case value == nil:
		m.Content = append(m.Content[:at:at], m.Content[at+2:]...)
	default:
		m.Content[at+1] = nest(value, path[1:])
	}
}

// spliceField sets a field in the text of a mapping.
func spliceField(text string, m, value *yaml.Node, path []string) string {
	lines := NewLines(text)
	for {
		at := Index(m, path[0])
		if at < 0 && (value == nil || len(m.Content) == 0) {
			return text
		}
		if at < 0 { // behind the last entry
			last := m.Content[len(m.Content)-2]
			_, end := extent(lines, last, m.Content[len(m.Content)-1])
			added := block(nest(value, path), last.Column-1)
			if !strings.HasSuffix(text[:end], "\n") {
				added = "\n" + added
			}
			return Apply(text, Splice{end, end, added})
		}
		key, inner := m.Content[at], m.Content[at+1]
		if len(path) > 1 && inner.Kind == yaml.MappingNode && inner.Style&yaml.FlowStyle == 0 && len(inner.Content) > 0 {
			m, path = inner, path[1:]
			continue
		}
		start, end := extent(lines, key, inner)
		switch {
		case value == nil && len(path) == 1:
			return Apply(text, Splice{start, end, ""})
		case len(path) > 1 && inner.Kind == yaml.MappingNode:
			change(inner, value, path[1:])
			value = inner
		case value == nil:
			return text
		default:
			value = nest(value, path[1:])
		}
		return Apply(text, Splice{start, end, block(nest(value, []string{key.Value}), key.Column-1)})
	}
}

// extent returns the offsets of the lines of an entry of a block mapping.
func extent(lines *Lines, key, value *yaml.Node) (start, end int) {
	start, _ = lines.Span(key.Line - 1)
	end, _ = lines.End(key.Line, key.Column-1, value.Kind == yaml.SequenceNode)
	return start, end
}

// block encodes a node with an indentation; SetField reports the error.
func block(n *yaml.Node, indent int) string {
	text, _ := Encode(n)
	return Indent(text, indent)
}
