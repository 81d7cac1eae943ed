package object

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/textedit"
)

// Annotate returns the object with an annotation set in its text: an existing value
// is replaced; otherwise an entry is added to metadata.annotations, which is
// created if needed, in the existing style (block or flow). Nothing else in the
// text changes, and setting an existing value changes nothing.
//
// If the annotations are shared through an alias, the other place keeps its
// content.
//
// Only documents in a layout that no tool produces (metadata behind an alias or a
// merge key, keys marked with "?") are encoded again by the YAML library, with their comments but in its layout.
func (o Object) Annotate(key, value string) (Object, error) {
	return o.AnnotateAll([]Annotation{{key, value}})
}

// Prefix is the prefix of all annotations of Ladder: a domain of the project, as
// Kubernetes requires for annotations.
const Prefix = "ladder-cmp.github.io/"

// Why is the annotation with the reason of a wave.
const Why = Prefix + "why"

// Annotation is an entry of metadata.annotations.
type Annotation struct{ Key, Value string }

// AnnotateAll sets several annotations with different keys in one edit of the text.
func (o Object) AnnotateAll(all []Annotation) (Object, error) {
	var missing []Annotation
	for _, a := range all {
		if v := o.Get("metadata", "annotations", a.Key); !v.IsText() || v.Text() != a.Value {
			missing = append(missing, a)
		}
	}
	if missing == nil {
		return o, nil
	}
	doc, err := o.doc.annotated(missing)
	if err != nil {
		return o, finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", File: o.File, Line: o.Line, Object: o.ID.String(),
			Field: "metadata.annotations", Message: err.Error(), Remedy: "write metadata as a plain mapping"}
	}
	o.doc = doc
	return o, nil
}

func annotate(d *document, all []Annotation) (*document, error) {
	text, root := d.content(), d.node()
	e := editor{text: text, lines: textedit.NewLines(text), root: root}
	e.annotate(all)
	if e.err == nil {
		if e.plain {
			return &document{source: d, splices: e.splices, before: root, added: all}, nil
		}
		edited := textedit.Apply(text, e.splices...)
		if root, ok := verifyEdit(edited, all); ok {
			return &document{text: edited, root: root}, nil
		}
	}
	edited, err := rewrite(text, all)
	return &document{text: edited}, err
}

// verifyEdit checks the result of an edit that did more than insert lines, and returns
// its parsed form.
func verifyEdit(text string, all []Annotation) (*yaml.Node, bool) {
	root, err := parseText(text)
	if err != nil {
		return nil, false
	}
	for _, a := range all {
		if v := (Value{root}).Get("metadata", "annotations", a.Key); !v.IsText() || v.Text() != a.Value {
			return nil, false
		}
	}
	return root, true
}

// annotatedView returns the parsed form after a plain edit: new entries come before
// the others. It shares unaffected nodes with the original.
func annotatedView(root *yaml.Node, all []Annotation) *yaml.Node {
	old := lastValue(lastValue(root, "metadata"), "annotations")
	if old == nil || old.Kind != yaml.MappingNode {
		old = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	entries := map[string]*yaml.Node{}
	var keys []string
	for _, a := range all {
		keys = append(keys, a.Key)
		entries[a.Key] = scalar(a.Value)
	}
	annotations := withValues(old, keys, entries)
	meta := withValues(lastValue(root, "metadata"), []string{"annotations"}, map[string]*yaml.Node{"annotations": annotations})
	return withValues(root, []string{"metadata"}, map[string]*yaml.Node{"metadata": meta})
}

// withValues returns a copy of a mapping with the values of keys replaced where lastValue
// finds them, or added before all others.
func withValues(n *yaml.Node, keys []string, values map[string]*yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, key := range keys {
		if lastValue(n, key) == nil {
			c.Content = append(c.Content, scalar(key), values[key])
		}
	}
	added := len(c.Content)
	c.Content = append(c.Content, n.Content...)
	for _, key := range keys {
		for i := len(c.Content) - 2; i >= added; i -= 2 {
			if c.Content[i].Value == key && c.Content[i].Tag != mergeTag {
				c.Content[i+1] = values[key]
				break
			}
		}
	}
	return &c
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// entry returns the annotation as a line of a block mapping.
func (a Annotation) entry() string { return a.Key + ": " + quote(a.Value) }

// entries returns annotations as lines of a block mapping.
func entries(all []Annotation) []string {
	lines := make([]string, len(all))
	for i, a := range all {
		lines[i] = a.entry()
	}
	return lines
}

// flowEntries returns annotations as entries of a flow mapping.
func flowEntries(all []Annotation) string {
	parts := make([]string, len(all))
	for i, a := range all {
		parts[i] = quote(a.Key) + ": " + quote(a.Value)
	}
	return strings.Join(parts, ", ")
}

// quote quotes a string as JSON, which is YAML's double-quoted style.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// flow encodes a value in flow style on one line; ok is false if it cannot, because the
// value has a tag.
func flow(v Value) (text string, ok bool) {
	n := v.resolved()
	if n.Style&yaml.TaggedStyle != 0 {
		return "", false
	}
	switch n.Kind {
	case yaml.MappingNode:
		var parts []string
		for _, f := range v.Fields() {
			key, okKey := flow(Value{f.key})
			text, ok := flow(f.Value)
			if !ok || !okKey {
				return "", false
			}
			parts = append(parts, key+": "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	case yaml.SequenceNode:
		var parts []string
		for _, item := range v.Items() {
			text, ok := flow(item)
			if !ok {
				return "", false
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	_, old := oldBool(n)
	switch {
	case n.Tag == "!!null":
		return "null", true
	case n.Tag == "!!str" && !old:
		return quote(n.Value), true
	}
	return n.Value, true
}

// rewrite sets the annotations in the parsed document and encodes all of it.
func rewrite(text string, all []Annotation) (string, error) {
	var doc yaml.Node
	if err := unmarshal(text, &doc); err != nil {
		return "", err
	}
	root := expand(doc.Content[0])
	flattenMerges(root)
	meta := lastValue(root, "metadata")
	if meta == nil || meta.Kind != yaml.MappingNode {
		return "", errors.New("the object has no metadata")
	}
	flattenMerges(meta)
	annotations := lastValue(meta, "annotations")
	if annotations == nil {
		annotations = &yaml.Node{Kind: yaml.MappingNode}
		meta.Content = append(meta.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "annotations"}, annotations)
	}
	if annotations.Tag == "!!null" {
		*annotations = yaml.Node{Kind: yaml.MappingNode}
	}
	if annotations.Kind != yaml.MappingNode {
		return "", errors.New("the annotations are not a mapping")
	}
	flattenMerges(annotations)
	for _, a := range slices.Backward(all) {
		scalar := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: a.Value}
		if old := lastValue(annotations, a.Key); old != nil {
			*old = *scalar
		} else {
			annotations.Content = append([]*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: a.Key}, scalar}, annotations.Content...)
		}
	}
	return textedit.Encode(root)
}

// flattenMerges replaces the merge keys of a mapping by the merged entries.
func flattenMerges(n *yaml.Node) {
	if n.Kind != yaml.MappingNode || !hasMerge(n) {
		return
	}
	var content []*yaml.Node
	for _, f := range (Value{n}).Fields() {
		content = append(content, f.key, f.Value.node)
	}
	n.Content = content
}
