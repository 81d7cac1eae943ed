package object

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/textedit"
)

// Without returns the object without the entries at the given paths, such as
// {"metadata", "namespace"}; missing ones are ignored. Nothing else in the text
// changes, and validation schemas are not read.
//
// Only documents in an unusual layout (flow style, JSON, anchors, merge keys) are encoded again by the YAML library, in its layout.
func (o Object) Without(paths ...[]string) (Object, error) {
	var present [][]string
	for _, path := range paths {
		if o.Get(path[:len(path)-1]...).has(path[len(path)-1]) {
			present = append(present, path)
		}
	}
	if present == nil {
		return o, nil
	}
	text, ok := cutEntries(o.doc.content(), o.doc.node(), present)
	if !ok {
		var err error
		if text, err = rewriteWithout(o.doc.content(), present); err != nil {
			return o, finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", File: o.File, Line: o.Line, Object: o.ID.String(),
				Field: strings.Join(present[0], "."), Message: err.Error(), Remedy: "remove the field from the file"}
		}
	}
	o.doc = &document{text: text}
	o.ID.Namespace = o.Get("metadata", "namespace").Text()
	return o, nil
}

// has reports whether a mapping has a key, with any value.
func (v Value) has(key string) bool { return v.child(key).node != nil }

// cutEntries removes the lines of entries from a text in block style, and reports
// whether that was possible.
func cutEntries(text string, root *yaml.Node, paths [][]string) (string, bool) {
	if strings.ContainsAny(text, "\r&") {
		return "", false // an anchor may be needed elsewhere
	}
	all := textedit.NewLines(text)
	var drop []textedit.Splice
	for _, path := range paths {
		n := root
		for _, key := range path[:len(path)-1] {
			if n = lastValue(n, key); n == nil {
				return "", false
			}
		}
		key, ok := blockKey(n, path[len(path)-1])
		if !ok {
			return "", false
		}
		from, next := all.Span(key.Line - 1)
		if from+key.Column-1 > len(text) || strings.Trim(text[from:from+key.Column-1], " ") != "" {
			return "", false
		}
		drop = append(drop, textedit.Splice{From: from, To: withoutTail(text, next, endOfBlock(text, next, key.Column-1))})
	}
	cut := textedit.Apply(text, drop...)
	left, err := parseText(cut)
	if err != nil || left == nil {
		return "", false
	}
	for _, path := range paths {
		if (Value{left}).Get(path[:len(path)-1]...).has(path[len(path)-1]) {
			return "", false // the key was a duplicate
		}
	}
	return cut, true
}

// withoutTail moves the end of a block up over comments and blank lines, which
// belong to the following entry.
func withoutTail(text string, from, to int) int {
	for to > from {
		start := strings.LastIndexByte(text[:to-1], '\n') + 1
		if start < from || !commentOrBlank(text[start:to]) {
			break
		}
		to = start
	}
	return to
}

// blockKey returns the key of an entry on lines of its own.
func blockKey(n *yaml.Node, name string) (*yaml.Node, bool) {
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle != 0 || hasMerge(n) || len(n.Content) <= 2 {
		return nil, false
	}
	if i := textedit.Index(n, name); i >= 0 {
		return n.Content[i], true
	}
	return nil, false
}

// rewriteWithout encodes the whole document without the entries.
func rewriteWithout(text string, paths [][]string) (string, error) {
	var doc yaml.Node
	if err := unmarshal(text, &doc); err != nil {
		return "", err
	}
	root := expand(doc.Content[0])
	for _, path := range paths {
		n := root
		flattenMerges(n)
		for _, key := range path[:len(path)-1] {
			if n = lastValue(n, key); n == nil {
				break
			}
			flattenMerges(n)
		}
		if n == nil {
			continue
		}
		var content []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value != path[len(path)-1] {
				content = append(content, n.Content[i], n.Content[i+1])
			}
		}
		n.Content = content
	}
	return textedit.Encode(root)
}
