package object

import (
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Value is a read-only view of a place in a manifest. The zero Value stands
// for "not there", and every method works on it, so that a path can be
// followed without a check at each step. Aliases and merge keys are resolved.
type Value struct{ node *yaml.Node }

// ValueOf looks at a YAML node that is part of no manifest, such as the values of a
// chart.
func ValueOf(n *yaml.Node) Value { return Value{n} }

// IsManifest reports whether a YAML node looks like a Kubernetes object.
func IsManifest(n *yaml.Node) bool {
	v := Value{n}
	return v.Get("apiVersion").Text() != "" && v.Get("kind").Text() != ""
}

// Exists reports whether there is anything at this place; null is nothing.
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

// Get follows keys into nested mappings. Of a key written twice the last one
// counts, and a merge key counts where it is written: so does
// go.yaml.in/yaml/v2, with which Kubernetes and Argo CD read manifests, though
// YAML would have it otherwise.
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

// mergeSources returns the mappings behind "<<", a mapping or a list of them,
// of which earlier ones win.
func mergeSources(n *yaml.Node) []Value {
	v := Value{n}
	if v.IsList() {
		return v.Items()
	}
	return []Value{v}
}

// Text returns a scalar as it would be read as a string, without quotes;
// empty for anything else.
func (v Value) Text() string {
	n := v.resolved()
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// IsText reports whether the value is a string for Kubernetes, that is, a
// scalar which YAML does not read as a number, boolean or null. Dates are text
// there, whatever the library makes of them.
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

// oldBool recognises the words that YAML 1.1, and so Kubernetes, reads as
// booleans while the library takes them for strings.
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

// Int returns a whole number and whether the value is one.
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

// Line is the line of the key inside its document, counted from 1; 0 if there is
// none.
func (f Field) Line() int {
	if f.key == nil {
		return 0
	}
	return f.key.Line
}

// Fields returns the entries of a mapping in the order they are written; nil
// for anything else. See Get for keys that are written twice or merged.
func (v Value) Fields() []Field {
	n := v.resolved()
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	fields := make([]Field, 0, len(n.Content)/2)
	at := make(map[string]int, len(n.Content)/2)
	put := func(f Field) {
		if i, seen := at[f.Key]; seen {
			fields[i].Value = f.Value
			return
		}
		at[f.Key] = len(fields)
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

// YAML writes the value as a document of its own, with what aliases stand for.
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

// Line is the line of the value inside its document, counted from 1.
func (v Value) Line() int {
	if v.node == nil {
		return 0
	}
	return v.node.Line
}
