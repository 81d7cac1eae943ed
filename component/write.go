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
// new key is added after those that describe the component, where a person looks for it.
// Errors end with a remedy.
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
	edit := textedit.Apply(before, textedit.Splice{From: from, To: to, Text: indent + explanation + why + textedit.LineBreak(before)})
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
func edits(text string, root *yaml.Node, key, value string) (all []string) {
	try := func(edited string, err error) {
		if err == nil {
			all = append(all, edited)
		}
	}
	with := &yaml.Node{Kind: yaml.ScalarNode, Value: value, Style: yaml.DoubleQuotedStyle}
	old := textedit.Value(root, key)
	switch eol := textedit.LineBreak(text); {
	case old != nil && (old.Kind != yaml.ScalarNode || old.Anchor != "" || old.Style == 0 && old.Value == ""):
	case old != nil:
		// Without quotes, other programs would read a number with a leading 0 as octal.
		if digits := strings.TrimPrefix(value, "-"); len(digits) < 2 || digits[0] != '0' {
			with.Style = 0
		}
		try(textedit.Put(text, root, with, key))
	case len(root.Content) == 0 && root.Style&yaml.FlowStyle == 0:
		entry, between := key+`: "`+value+`"`+eol, ""
		if text != "" && !strings.HasSuffix(text, "\n") {
			between = eol
		}
		all = append(all, text+between+entry, entry+text)
	default:
		for _, name := range neighbours(key) {
			try(textedit.PutBehind(text, root, with, key, name))
		}
	}
	return all
}

// neighbours returns the keys after which to add a new one, in order of preference; "" is
// before all keys.
func neighbours(key string) []string {
	all := []string{"dependencyPhase", "componentType", "tier", "domain", "project", "namespace", "name", ""}
	if key == "crdsPhase" {
		all = append([]string{"crds", "rolloutPhase", "wave"}, all...)
	}
	return all
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
