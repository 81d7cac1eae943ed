package order

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/object"
)

// Change sets a field of a file that decides about the order.
type Change struct {
	// File is the file, and Line where the object begins in it, counted from 1.
	File string
	Line int
	// ID is the Application or ApplicationSet to change; empty for a file that a generator reads.
	ID object.ID
	// Path leads to the field: keys, and indices of lists.
	Path []any
	// Value is what to set: a text, or the steps of a RollingSync. Before is the text that is
	// there; empty if there is none.
	Value  any
	Before string
	// Why is the reason.
	Why string
}

// Key returns the field for messages.
func (c Change) Key() string {
	var b strings.Builder
	for _, at := range c.Path {
		switch at := at.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", at)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(at)
		}
	}
	return b.String()
}

// Shown returns what changes, for messages.
func (c Change) Shown() string {
	if c.Path[len(c.Path)-1] == any(object.SyncWave) {
		return "sync-wave"
	}
	return c.Key()
}

// Edit applies changes to the text of a file. Everything else stays byte for byte: it parses the
// result, and returns an error if anything differs but the changes.
func Edit(text string, changes []Change) (string, error) {
	want, err := decode(text)
	if err != nil {
		return "", fmt.Errorf("the file is not YAML: %w", err)
	}
	edited := text
	for _, c := range changes {
		docs, err := parse(edited)
		if err != nil {
			return "", err
		}
		found, err := find(docs, c)
		if err != nil {
			return "", err
		}
		node := docs[found.doc]
		for _, i := range found.items {
			node = textedit.Value(node, "items").Content[i]
		}
		if has := scalarText(get(found.value(want), c.Path)); c.Before != "" && has != c.Before {
			return "", fmt.Errorf("%s: the file contains %q, not %q", c.Key(), has, c.Before)
		}
		value := c.Value
		if text, is := value.(string); is && !slices.Contains(c.Path, any("annotations")) {
			value = alike(text, get(found.value(want), c.Path))
		}
		if edited, err = textedit.Put(edited, node, c.node(value), c.Path...); err != nil {
			return "", fmt.Errorf("%s: %w", c.Key(), err)
		}
		if !set(found.value(want), c.Path, value) {
			return "", fmt.Errorf("%s: the file has no place for it", c.Key())
		}
	}
	got, err := decode(edited)
	if err != nil || !reflect.DeepEqual(got, want) {
		return "", errors.New("it cannot be changed without changing other fields, which share it or are in an unusual layout")
	}
	return edited, nil
}

// parse returns the documents of a text with their lines in it.
func parse(text string) ([]*yaml.Node, error) {
	var all []*yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		node := &yaml.Node{}
		if len(doc.Content) > 0 {
			node = doc.Content[0]
		}
		all = append(all, node)
	}
}

// decode returns the values of the documents of a text.
func decode(text string) ([]any, error) {
	docs, err := parse(text)
	if err != nil {
		return nil, err
	}
	all := make([]any, len(docs))
	for i, doc := range docs {
		if doc.Kind == 0 {
			continue
		}
		if err := doc.Decode(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// found is where an object is in a file: a document, and the indices of lists in it.
type found struct {
	doc   int
	items []int
}

// find returns the object of a change: the one with its identity that begins next to its line.
func find(docs []*yaml.Node, c Change) (found, error) {
	if c.ID == (object.ID{}) {
		if len(docs) != 1 {
			return found{}, errors.New("the file does not have one document")
		}
		return found{}, nil
	}
	var best found
	distance := -1
	var look func(n *yaml.Node, at found)
	look = func(n *yaml.Node, at found) {
		if items := textedit.Value(n, "items"); strings.HasSuffix(textOf(n, "kind"), "List") && items != nil &&
			items.Kind == yaml.SequenceNode {
			for i, item := range items.Content {
				look(item, found{at.doc, append(slices.Clone(at.items), i)})
			}
			return
		}
		meta := textedit.Value(n, "metadata")
		group, _, _ := strings.Cut(textOf(n, "apiVersion"), "/")
		if textOf(n, "kind") != c.ID.Kind || group != c.ID.Group || textOf(meta, "name") != c.ID.Name {
			return
		}
		if ns := textOf(meta, "namespace"); ns != "" && c.ID.Namespace != "" && ns != c.ID.Namespace {
			return
		}
		if far := max(n.Line-c.Line, c.Line-n.Line); distance < 0 || far < distance {
			best, distance = at, far
		}
	}
	for i, doc := range docs {
		look(doc, found{doc: i})
	}
	if distance < 0 {
		return found{}, fmt.Errorf("the file does not contain %s", c.ID)
	}
	return best, nil
}

// value returns the object in decoded documents.
func (f found) value(docs []any) any {
	v := docs[f.doc]
	for _, i := range f.items {
		all, _ := v.(map[string]any)
		list, _ := all["items"].([]any)
		v = list[i]
	}
	return v
}

// get returns a field of a decoded value; nil if it is missing.
func get(in any, path []any) any {
	for _, at := range path {
		switch at := at.(type) {
		case string:
			m, _ := in.(map[string]any)
			in = m[at]
		case int:
			list, _ := in.([]any)
			if at >= len(list) {
				return nil
			}
			in = list[at]
		}
	}
	return in
}

// scalarText returns a scalar as text.
func scalarText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// set sets a field of a decoded value, and adds missing mappings.
func set(in any, path []any, value any) bool {
	for i, at := range path {
		last := i == len(path)-1
		switch at := at.(type) {
		case string:
			m, is := in.(map[string]any)
			if !is {
				return false
			}
			if last {
				m[at] = value
				return true
			}
			if m[at] == nil {
				m[at] = map[string]any{}
			}
			in = m[at]
		case int:
			list, is := in.([]any)
			if !is || at >= len(list) {
				return false
			}
			if last {
				list[at] = value
				return true
			}
			in = list[at]
		}
	}
	return false
}

// alike returns a number for a text that replaces one, unless it is written differently.
func alike(text string, before any) any {
	if _, number := before.(int); number {
		if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
			return n
		}
	}
	return text
}

// node returns a value as it is written. Annotations are texts, which may look like numbers.
func (c Change) node(v any) *yaml.Node {
	n := nodeOf(v)
	if slices.Contains(c.Path, any("annotations")) {
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	}
	return n
}

// nodeOf returns a value as a node; lists of texts are written in one line.
func nodeOf(v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		keys := slices.Sorted(maps.Keys(v))
		for _, key := range keys {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, nodeOf(v[key]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, nodeOf(item))
			if _, text := item.(string); text {
				n.Style = yaml.FlowStyle
			}
		}
		return n
	}
	if _, number := v.(int); number {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(v)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: fmt.Sprint(v)}
}

func textOf(n *yaml.Node, key string) string {
	if v := textedit.Value(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}
