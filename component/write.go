package component

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/textedit"
)

// Set returns the text of a component.yaml with another value for a key. Everything
// else stays byte for byte the same: comments, key order, quotes, line endings. A
// new key is added after those that describe the component, where a person looks for it;
// textedit.Put, which replaces the value of a key, would add it behind all others. Errors
// end with a remedy.
func Set(text []byte, key, value string) ([]byte, error) {
	root, err := mapping(text)
	if err != nil {
		return nil, finding.Fault(err.Error(), "correct the syntax first")
	}
	for _, edit := range edits(string(text), root, key, value) {
		if after, err := mapping([]byte(edit)); err == nil && differsOnly(root, after, key, value) {
			return []byte(edit), nil
		}
	}
	return nil, finding.Fault(fmt.Sprintf("the value of %s cannot be changed without changing other parts of the file", key),
		fmt.Sprintf("write %s: %q yourself", key, value))
}

// explanation begins a comment that Explain writes, so that it finds it again.
const explanation = "# cmp fleet steps: "

// Explain returns the text of a component.yaml with a comment above a key that says why it
// has its value. It replaces an earlier comment of its own, and no other. If
// replaceOnly is set, it replaces an existing comment but does not add one. A key that does not begin its line stays as it is.
func Explain(text []byte, key, why string, replaceOnly bool) []byte {
	root, err := mapping(text)
	if err != nil || root.Style&yaml.FlowStyle != 0 {
		return text
	}
	i := textedit.Index(root, key)
	if i < 0 {
		return text
	}
	before, line := string(text), root.Content[i].Line
	from, ok := offset(before, line, 1)
	column, in := offset(before, line, root.Content[i].Column)
	if !ok || !in || strings.Trim(before[from:column], " ") != "" {
		return text
	}
	indent, to := before[from:column], from
	above, has := offset(before, line-1, 1)
	has = has && line > 1 && strings.HasPrefix(strings.TrimLeft(before[above:from], " "), explanation)
	if has {
		from = above
	} else if replaceOnly {
		return text
	}
	edit := splice(before, from, to, indent+explanation+why+textedit.LineBreak(before))
	if after, err := mapping([]byte(edit)); err == nil && sameNode(root, after) {
		return []byte(edit)
	}
	return text
}

// mapping parses a file, which may be empty.
func mapping(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := documents.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is a second document")
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("not a mapping")
	}
	return doc.Content[0], nil
}

// edits returns ways to write the value, in order of preference. Reading the result
// decides which of them work.
func edits(text string, root *yaml.Node, key, value string) []string {
	if textedit.Index(root, key) >= 0 {
		return replaceValue(text, root, key, value)
	}
	entry := key + `: "` + value + `"`
	if root.Style&yaml.FlowStyle != 0 {
		return insertInFlow(text, root, key, entry)
	}
	return withLines(text, root, key, entry)
}

// replaceValue replaces a value, with the same quotes. Without quotes, other programs
// would read a number with a leading 0 as octal.
func replaceValue(text string, root *yaml.Node, key, value string) []string {
	old := textedit.Value(root, key)
	if old.Kind != yaml.ScalarNode || old.Anchor != "" || old.Style == 0 && old.Value == "" {
		return nil
	}
	with := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if digits := strings.TrimPrefix(value, "-"); len(digits) > 1 && digits[0] == '0' {
		with.Style = yaml.DoubleQuotedStyle
	}
	edited, err := textedit.Put(text, root, with, key)
	if err != nil {
		return nil
	}
	return []string{edited}
}

// neighbours returns the keys after which to add a new one, in order of preference.
func neighbours(key string) []string {
	all := []string{"dependencyPhase", "componentType", "tier", "domain", "project", "namespace", "name"}
	if key == "crdsPhase" {
		all = append([]string{"crds", "rolloutPhase", "wave"}, all...)
	}
	return all
}

// withLines adds the entry on a line of its own.
func withLines(text string, root *yaml.Node, key, entry string) []string {
	eol := textedit.LineBreak(text)
	var all []string
	if len(root.Content) == 0 {
		if len(text) > 0 && !endsWithNewline(text) {
			entry = eol + entry
		}
		return append(all, splice(text, len(text), len(text), entry+eol), splice(text, 0, 0, entry+eol))
	}
	indent := strings.Repeat(" ", root.Content[0].Column-1)
	for _, name := range neighbours(key) {
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value != name || root.Content[i+1].Kind != yaml.ScalarNode {
				continue
			}
			at, ok := offset(text, root.Content[i+1].Line+1, 1)
			if ok && at == len(text) && !endsWithNewline(text) {
				all = append(all, splice(text, at, at, eol+indent+entry))
			} else if ok {
				all = append(all, splice(text, at, at, indent+entry+eol))
			}
		}
	}
	if at, ok := offset(text, root.Content[0].Line, 1); ok {
		all = append(all, splice(text, at, at, indent+entry+eol))
	}
	return all
}

// insertInFlow adds the entry to a mapping in braces.
func insertInFlow(text string, root *yaml.Node, key, entry string) []string {
	var all []string
	before := func(n *yaml.Node) {
		if at, ok := offset(text, n.Line, n.Column); ok {
			all = append(all, splice(text, at, at, entry+", "))
		}
	}
	for _, name := range neighbours(key) {
		for i := 0; i+3 < len(root.Content); i += 2 {
			if root.Content[i].Value == name {
				before(root.Content[i+2])
			}
		}
	}
	if len(root.Content) > 0 {
		before(root.Content[0])
	} else if at, ok := offset(text, root.Line, root.Column+1); ok {
		all = append(all, splice(text, at, at, entry))
	}
	return all
}

func endsWithNewline(text string) bool { return strings.HasSuffix(text, "\n") }

func splice(text string, from, to int, with string) string {
	return textedit.Apply(text, textedit.Splice{From: from, To: to, Text: with})
}

func offset(text string, line, column int) (int, bool) {
	return textedit.NewLines(text).Offset(line, column)
}

// differsOnly reports whether two files differ only in a key, which has the given
// value in the second.
func differsOnly(before, after *yaml.Node, key, value string) bool {
	has := func(n *yaml.Node) (rest []*yaml.Node, values []string) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				values = append(values, n.Content[i+1].Value)
			} else {
				rest = append(rest, n.Content[i], n.Content[i+1])
			}
		}
		return rest, values
	}
	oldRest, _ := has(before)
	newRest, values := has(after)
	return slices.Equal(values, []string{value}) && slices.EqualFunc(oldRest, newRest, sameNode)
}

func sameNode(x, y *yaml.Node) bool {
	return x.Kind == y.Kind && x.Tag == y.Tag && x.Value == y.Value && x.Anchor == y.Anchor &&
		slices.EqualFunc(x.Content, y.Content, sameNode)
}
