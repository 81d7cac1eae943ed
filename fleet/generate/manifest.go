package generate

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

// Manifest is an object to commit, with comments.
type Manifest struct {
	// File is the path of its file without extension, if each manifest has its own file.
	File string
	// Text is set if it is written as it is.
	Text string
	node *yaml.Node
}

// NewManifest converts a value to a Manifest.
func NewManifest(file string, value any) Manifest { return Manifest{File: file, node: encode(value)} }

// ParseManifest reads a Manifest from a text with one object.
func ParseManifest(file, text string) (Manifest, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return Manifest{}, err
	}
	return Manifest{File: file, node: doc.Content[0]}, nil
}

// encode returns a value as a YAML node.
func encode(value any) *yaml.Node {
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		panic(err) // the types of generated objects contain only strings, numbers and lists
	}
	return &n
}

// at returns the node at a path of keys; a key such as "2" is an index of a list.
func (m Manifest) at(keys ...string) *yaml.Node {
	n := m.node
	for _, key := range keys {
		n = below(n, key)
		if n == nil {
			return nil
		}
	}
	return n
}

// Comment adds a comment above the entry at a path, or above all of it.
func (m Manifest) Comment(text string, keys ...string) {
	n := m.at(keys...)
	if n == nil || text == "" {
		return
	}
	if len(keys) == 0 {
		n.HeadComment = text
		return
	}
	parent := m.at(keys[:len(keys)-1]...)
	for i := 0; parent.Kind == yaml.MappingNode && i+1 < len(parent.Content); i += 2 {
		if parent.Content[i+1] == n {
			n = parent.Content[i] // comments of an entry belong to its key
		}
	}
	n.HeadComment = text
}

// YAML returns manifests as documents of one file.
func YAML(all ...Manifest) string {
	var b strings.Builder
	for i, m := range all {
		if i > 0 {
			b.WriteString("---\n")
		}
		text := m.Text
		if text == "" {
			text = textedit.MustEncode(m.node)
		}
		b.WriteString(strings.TrimSuffix(text, "\n") + "\n") // the encoder omits it after a literal block scalar
	}
	return b.String()
}

// Set sets the value at a path of mappings.
func (m Manifest) Set(value any, keys ...string) {
	at := m.at(keys[:len(keys)-1]...)
	at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: keys[len(keys)-1]}, encode(value))
}
