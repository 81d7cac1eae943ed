package object

import (
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Value is a read-only view of a position in a manifest. The zero Value means "not
// found", and all methods support it, so paths can be followed without checks at
// each step. Aliases and merge keys are resolved.
type Value struct{ node *yaml.Node }

// ValueOf returns a view of a YAML node outside a manifest, such as values of a
// chart.
func ValueOf(n *yaml.Node) Value { return Value{n} }

// IsManifest reports whether a YAML node looks like a Kubernetes object.
func IsManifest(n *yaml.Node) bool {
	v := Value{n}
	return v.Get("apiVersion").Text() != "" && v.Get("kind").Text() != ""
}

// Exists reports whether there is a value at this position other than null.
func (v Value) Exists() bool {
	n := v.resolved()
	return n != nil && n.Tag != "!!null"
}

func (v Value) resolved() *yaml.Node {
	n := v.node
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// Get follows keys into nested mappings. The last of duplicate keys counts, and a
// merge key counts in text order: this is how go.yaml.in/yaml/v2 works, with which
// Kubernetes and Argo CD read manifests, although YAML specifies it differently.
func (v Value) Get(path ...string) Value {
	for _, key := range path {
		v = v.child(key)
	}
	return v
}

const mergeTag = "!!merge"

func (v Value) child(key string) Value {
	n := v.resolved()
	if n == nil || n.Kind != yaml.MappingNode {
		return Value{}
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if n.Content[i].Tag != mergeTag {
			if n.Content[i].Value == key {
				return Value{n.Content[i+1]}
			}
			continue
		}
		for _, source := range mergeSources(n.Content[i+1]) {
			if c := source.child(key); c.node != nil {
				return c
			}
		}
	}
	return Value{}
}

// mergeSources returns the mappings of "<<", a mapping or a list of them; earlier
// ones take precedence.
func mergeSources(n *yaml.Node) []Value {
	v := Value{n}
	if v.IsList() {
		return v.Items()
	}
	return []Value{v}
}

// Text returns a scalar as a string, without quotes; empty for other values.
func (v Value) Text() string {
	n := v.resolved()
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// IsText reports whether Kubernetes reads the value as a string: a scalar that YAML
// does not read as a number, boolean or null. Dates are strings, unlike in the
// library.
func (v Value) IsText() bool {
	n := v.resolved()
	_, old := oldBool(n)
	return v.isScalar() && slices.Contains([]string{"!!str", "!!timestamp", "!!binary"}, n.Tag) && !old
}

func (v Value) isScalar() bool {
	n := v.resolved()
	return n != nil && n.Kind == yaml.ScalarNode
}

// True reports whether the value is the boolean true.
func (v Value) True() bool {
	n := v.resolved()
	truth, old := oldBool(n)
	return truth || !old && n != nil && n.Tag == "!!bool" && strings.EqualFold(n.Value, "true")
}

// oldBool recognizes the words that YAML 1.1, and so Kubernetes, reads as booleans
// while the library reads strings.
func oldBool(n *yaml.Node) (truth, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.Style != 0 {
		return false, false
	}
	switch n.Value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// Int returns an integer and whether the value is one.
func (v Value) Int() (int, bool) {
	n := v.resolved()
	if n == nil || n.Tag != "!!int" {
		return 0, false
	}
	i, err := strconv.Atoi(n.Value)
	return i, err == nil
}

// IsMap reports whether the value is a mapping.
func (v Value) IsMap() bool {
	n := v.resolved()
	return n != nil && n.Kind == yaml.MappingNode
}

// IsList reports whether the value is a sequence.
func (v Value) IsList() bool {
	n := v.resolved()
	return n != nil && n.Kind == yaml.SequenceNode
}

// Items returns the elements of a sequence, nil for anything else.
func (v Value) Items() []Value {
	n := v.resolved()
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]Value, len(n.Content))
	for i, c := range n.Content {
		items[i] = Value{c}
	}
	return items
}

// Field is one entry of a mapping.
type Field struct {
	Key   string
	Value Value
	key   *yaml.Node
}

// Line returns the line of the key in its document, counted from 1; 0 if there is
// none.
func (f Field) Line() int {
	if f.key == nil {
		return 0
	}
	return f.key.Line
}

// fewKeys is the number of keys up to which searching them is faster than a map.
const fewKeys = 16

// Fields returns the entries of a mapping in text order; nil for other values. See
// Get for duplicate or merged keys.
func (v Value) Fields() []Field {
	n := v.resolved()
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	fields := make([]Field, 0, len(n.Content)/2)
	var at map[string]int
	if len(n.Content) > 2*fewKeys {
		at = make(map[string]int, len(n.Content)/2)
	}
	put := func(f Field) {
		i, seen := at[f.Key]
		if at == nil {
			i = slices.IndexFunc(fields, func(known Field) bool { return known.Key == f.Key })
			seen = i >= 0
		}
		if seen {
			fields[i].Value = f.Value
			return
		}
		if at != nil {
			at[f.Key] = len(fields)
		}
		fields = append(fields, f)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != mergeTag {
			put(Field{n.Content[i].Value, Value{n.Content[i+1]}, n.Content[i]})
			continue
		}
		for _, source := range slices.Backward(mergeSources(n.Content[i+1])) {
			for _, f := range source.Fields() {
				put(f)
			}
		}
	}
	return fields
}

// YAML encodes the value as a separate document, with aliases expanded.
func (v Value) YAML() (string, error) {
	n := v.resolved()
	if n == nil {
		return "", nil
	}
	var plain any
	if err := n.Decode(&plain); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(plain)
	return string(text), err
}

// Line returns the line of the value in its document, counted from 1.
func (v Value) Line() int {
	if v.node == nil {
		return 0
	}
	return v.node.Line
}
