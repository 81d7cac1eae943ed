package generate

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/object"
)

// Difference is an entry of a committed manifest that differs from the manifest that would be
// written now.
type Difference struct {
	// Line is the line in the committed file; 0 if the file lacks the entry.
	Line int
	// Path is the entry, such as "spec.strategy.rollingSync.steps[3]".
	Path    string
	Message string
}

// Differences compares manifests with the text of a file, apart from comments and layout. Unlike
// package compare, it says where the file differs by line, in its order, and by the position of an
// item: the steps of an ApplicationSet have no names.
func Differences(text string, now []Manifest) ([]Difference, error) {
	docs, err := object.Documents(text)
	if err != nil {
		_, message := object.SyntaxError(err)
		return nil, errors.New(message)
	}
	byName := map[string]*yaml.Node{}
	var names []string
	for _, doc := range docs {
		if doc.Kind == yaml.MappingNode {
			name := identity(doc)
			byName[name], names = doc, append(names, name)
		}
	}
	var all []Difference
	for _, m := range now {
		name := identity(m.node)
		old, exists := byName[name]
		if !exists {
			all = append(all, Difference{Message: name + " is missing"})
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		differ("", old, m.node, &all)
	}
	for _, name := range names {
		all = append(all, Difference{Line: byName[name].Line, Message: name + " is no longer generated"})
	}
	return all, nil
}

func identity(n *yaml.Node) string {
	m := Manifest{node: n}
	text := func(keys ...string) string {
		if at := m.at(keys...); at != nil {
			return at.Value
		}
		return ""
	}
	return text("kind") + " " + text("metadata", "namespace") + "/" + text("metadata", "name")
}

// addedMessage says that an entry exists only in the file, where somebody wrote it by hand. Only
// steps are quoted: other entries may contain a password.
func addedMessage(path string, n *yaml.Node) string {
	if strings.HasPrefix(path, ".spec.strategy.") {
		return "is " + short(n) + "; no longer generated"
	}
	return "exists in the file, but is no longer generated"
}

func differ(path string, old, now *yaml.Node, all *[]Difference) {
	for old.Kind == yaml.AliasNode {
		old = old.Alias
	}
	say := func(line int, at, message string) {
		*all = append(*all, Difference{line, strings.TrimPrefix(at, "."), message})
	}
	if old.Kind != now.Kind {
		say(old.Line, path, "is "+short(old)+"; generated: "+short(now))
		return
	}
	switch now.Kind {
	case yaml.ScalarNode:
		if old.Value != now.Value || old.ShortTag() != now.ShortTag() {
			say(old.Line, path, "is "+short(old)+"; generated: "+short(now))
		}
	case yaml.SequenceNode:
		for i := range max(len(old.Content), len(now.Content)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(old.Content):
				say(0, at, "is missing; generated: "+short(now.Content[i]))
			case i >= len(now.Content):
				say(old.Content[i].Line, at, addedMessage(at, old.Content[i]))
			default:
				differ(at, old.Content[i], now.Content[i], all)
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(now.Content); i += 2 {
			key := now.Content[i].Value
			if value := below(old, key); value != nil {
				differ(path+"."+key, value, now.Content[i+1], all)
			} else {
				say(0, path+"."+key, "is missing; generated: "+short(now.Content[i+1]))
			}
		}
		for i := 0; i+1 < len(old.Content); i += 2 {
			if key := old.Content[i]; below(now, key.Value) == nil {
				say(key.Line, path+"."+key.Value, addedMessage(path, old.Content[i+1]))
			}
		}
	}
}

// below returns the value of a key, or of an index of a list.
func below(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i < len(n.Content) {
			return n.Content[i]
		}
		return nil
	}
	return textedit.Value(n, key)
}

// short describes a value in a few words.
func short(n *yaml.Node) string {
	text := n.Value
	if n.Kind != yaml.ScalarNode {
		text = flowText(n)
	} else if n.ShortTag() == "!!str" {
		text = strconv.Quote(text)
	}
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return text
}

// flowText writes a list or mapping in one line.
func flowText(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.SequenceNode:
		for _, c := range n.Content {
			parts = append(parts, flowText(c))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+": "+flowText(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return n.Value
}
