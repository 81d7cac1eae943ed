package input

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	yaml "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// InvalidYAML reports a values file that is not a YAML mapping.
func InvalidYAML(name string, err error) finding.Finding {
	line, message := object.SyntaxError(Innermost(err))
	return finding.Finding{Severity: finding.Error, Rule: object.InvalidYAML, File: name, Line: line, About: message,
		Message: "not valid YAML: " + message, Remedy: "correct the values file, which must be a YAML mapping"}
}

// inBraces matches a value that begins with the braces of a template, without quotes.
var inBraces = lazyregexp.New(`^\s*(?:- +)*(?:[\w./-]+:\s+)?(?:- +)*\{\{`)

// InvalidValues is like InvalidYAML, for the text of a values file: it also recognizes what
// people write there by mistake, such as templates. data is nil if the text is unknown.
func InvalidValues(name string, data []byte, err error) finding.Finding {
	f := InvalidYAML(name, err)
	message, remedy := "", ""
	if line := lineInBraces(string(data)); line > 0 {
		f.Line, message = line, "a value begins with {{, and Helm does not render values files"
		remedy = "quote the text and use tpl in the template, or write a plain value"
	} else {
		f.Line, message, remedy = object.Culprit(string(data), f.Line, f.About)
	}
	if message != "" {
		f.Message, f.About, f.Remedy = "not valid YAML: "+message, message, remedy
	}
	return f
}

// lineInBraces returns the line of invalid YAML that is invalid because its value begins with
// braces, 0 if there is none: in a block scalar, they are text.
func lineInBraces(text string) int {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !inBraces.MatchString(line) {
			continue
		}
		if sigsyaml.Unmarshal([]byte(strings.Join(lines[:i], "")), new(any)) != nil {
			return 0 // something above is the reason
		}
		if sigsyaml.Unmarshal([]byte(strings.Join(lines[:i+1], "")), new(any)) != nil {
			return i + 1
		}
	}
	return 0
}

// Innermost returns the innermost error of a chain. The outer texts repeat the file
// name.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// index parses a step of a path as an index of a list of the given length.
func index(step string, length int) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && 0 <= i && i < length
}

// LineOf returns the line at which a YAML text sets a path, 0 if it does not.
func LineOf(data []byte, path []string) int {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return 0
	}
	n, line := doc.Content[0], 0
	for _, step := range path {
		if n, line = child(n, step, deepestMerge); n == nil {
			return 0
		}
	}
	return line
}

const deepestMerge = 10

// child returns the node at a step of a path, and the line of its key or entry. It
// follows aliases and merge keys to a limited depth, since a mapping can be merged
// into itself.
func child(n *yaml.Node, step string, depth int) (found *yaml.Node, line int) {
	if depth == 0 {
		return nil, 0
	}
	switch n.Kind {
	case yaml.AliasNode:
		return child(n.Alias, step, depth-1)
	case yaml.SequenceNode:
		if i, ok := index(step, len(n.Content)); ok {
			return n.Content[i], n.Content[i].Line
		}
	case yaml.MappingNode:
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch key, value := n.Content[i], n.Content[i+1]; {
			case key.Value == step:
				found, line = value, key.Line
			case key.Tag == "!!merge" && value.Kind == yaml.SequenceNode:
				merged = append(merged, value.Content...)
			case key.Tag == "!!merge":
				merged = append(merged, value)
			}
		}
		for _, m := range merged {
			if found == nil && m.Kind != yaml.SequenceNode {
				found, line = child(m, step, depth-1)
			}
		}
	}
	return found, line
}

// FieldPath formats a path: replicas, image.tag, ports[0].name.
func FieldPath(path []string) string {
	var b strings.Builder
	for _, step := range path {
		if _, err := strconv.Atoi(step); err == nil {
			fmt.Fprintf(&b, "[%s]", step)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// Mistyped returns a finding about a value of the wrong type, if err is about one: with
// its place, if the file with the given content contains it.
func Mistyped(f finding.Finding, err error, data []byte) finding.Finding {
	value, ok := object.AsMistyped(Innermost(err))
	if !ok {
		return f
	}
	f.Remedy = "write " + string(value.Want)
	if value.Field == "" {
		return f
	}
	way := slices.DeleteFunc(strings.Split(value.Field, "."),
		func(step string) bool { return unicode.IsUpper(rune(step[0])) }) // embedded types of Go
	if steps, n := mistyped(data, way, value.Got); n != nil {
		value.Field = FieldPath(steps)
		f.Line, f.Message = n.Line, value.String()
		if n.Kind == yaml.ScalarNode && value.Want == object.Text {
			f.Remedy = "quote it"
		}
	}
	return f
}

// mistyped finds the value of the wrong type got, of which a library gives the path
// without list indexes and keys of maps.
func mistyped(data []byte, way []string, got object.Type) (steps []string, found *yaml.Node) {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return nil, nil
	}
	var find func(n *yaml.Node, way, steps []string) ([]string, *yaml.Node)
	find = func(n *yaml.Node, way, steps []string) ([]string, *yaml.Node) {
		if len(way) == 0 && (n.Kind == yaml.SequenceNode) == (got == object.List) &&
			(n.Kind == yaml.MappingNode) == (got == object.Mapping) && (n.ShortTag() == "!!str") == (got == object.Text) {
			return steps, n
		}
		for i := range n.Content {
			rest, step := way, strconv.Itoa(i)
			if n.Kind == yaml.MappingNode {
				if i%2 == 0 || len(way) > 0 && n.Content[i-1].Value != way[0] {
					continue
				}
				rest, step = way[min(len(way), 1):], n.Content[i-1].Value
			}
			if steps, n := find(n.Content[i], rest, append(slices.Clone(steps), step)); n != nil {
				return steps, n
			}
		}
		return nil, nil
	}
	return find(doc.Content[0], way, nil)
}
