package object

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Plain returns the value as Kubernetes and Helm read it, made of map[string]any, []any
// and scalars: the last of duplicate keys counts, "yes" is a boolean, and a date is a
// string.
func (v Value) Plain() any {
	switch {
	case v.IsMap():
		all := map[string]any{}
		for _, f := range v.Fields() {
			all[f.Key] = f.Value.Plain()
		}
		return all
	case v.IsList():
		all := []any{}
		for _, item := range v.Items() {
			all = append(all, item.Plain())
		}
		return all
	}
	n := v.resolved()
	if n == nil {
		return nil
	}
	if truth, is := oldBool(n); is {
		return truth
	}
	if n.Tag == "!!timestamp" {
		return n.Value
	}
	var plain any
	if err := n.Decode(&plain); err != nil {
		return n.Value
	}
	return plain
}

// IsPlain reports whether every parser of YAML reads the manifest alike: it contains no aliases,
// merge keys or tags, only keys and numbers that JSON can express, and all of it was parsed, which is
// not so of a CRD.
func (o Object) IsPlain() bool {
	d := o.doc
	d.plainOnce.Do(func() {
		d.plain = isPlain(d.node()) && len(withoutSchemas(d.content())) == len(d.content())
	})
	return d.plain
}

func isPlain(n *yaml.Node) bool {
	if n == nil || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		return false
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i]; key.Kind != yaml.ScalarNode || !slices.Contains(plainKeys, key.Tag) {
				return false
			}
		}
	}
	if n.Tag == "!!float" && strings.Trim(n.Value, "0123456789+-.eE_") != "" { // .inf, .nan
		return false
	}
	return !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !isPlain(c) })
}

// plainKeys are the tags of keys that JSON can express.
var plainKeys = []string{"!!str", "!!int", "!!bool"}
