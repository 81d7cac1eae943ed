package knowledge

import (
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/internal/textedit"
)

// Group is the knowledge about an API group, or about groups with a suffix.
type Group struct {
	Name    string
	Product string
	Builtin bool
	Kinds   []Kind
}

// Groups lists all groups by name, for queries of users. It reads every file.
func (b *Base) Groups() []Group {
	names := map[string]bool{}
	for _, groups := range []map[string]group{b.groups, b.changed} {
		for name := range groups {
			names[name] = true
		}
	}
	var all []Group
	for name := range names {
		f := b.file(name)
		all = append(all, Group{name, f.Product, f.Builtin, f.Kinds})
	}
	slices.SortFunc(all, func(x, y Group) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// YAML formats records as an equivalent ladder.yaml.
func YAML(kinds []Kind) string {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, k := range kinds {
		record := mapping(userKind{k.Group, k}, k, 0)
		if len(k.ChangedBy) > 0 && len(k.Health) == 0 {
			// An empty list records that health was removed.
			record.Content = append(record.Content, text("health"), &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle})
		}
		list.Content = append(list.Content, record)
	}
	return textedit.MustEncode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("kinds"), list}})
}

// Rest formats the content of a record except for some keys, as in a ladder.yaml.
func (k Kind) Rest(besides ...string) string {
	record := mapping(k, k, 0)
	var rest []*yaml.Node
	for i := 0; i+1 < len(record.Content); i += 2 {
		if !slices.Contains(besides, record.Content[i].Value) {
			rest = append(rest, record.Content[i:i+2]...)
		}
	}
	if len(rest) == 0 {
		return ""
	}
	return textedit.MustEncode(&yaml.Node{Kind: yaml.MappingNode, Content: rest})
}

// mapping encodes the fields of a struct that are set. of is the record that
// contains it, whose group and source are not repeated.
func mapping(v any, of Kind, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if depth > 1 { // one line for each reference, as in the built-in files
		n.Style = yaml.FlowStyle
	}
	from := reflect.ValueOf(v)
	for _, key := range settings.Keys(from.Type()) {
		field := from.FieldByIndex(key.Index)
		inherited := depth > 0 && (key.Name == "name" && field.String() == "name" || key.Name == "source" && field.String() == of.Source)
		// The core group has an empty name, which must be written.
		if (field.IsZero() || inherited) && key.Name != "group" {
			continue
		}
		n.Content = append(n.Content, text(key.Name), node(field, of, depth))
	}
	return n
}

func node(v reflect.Value, of Kind, depth int) *yaml.Node {
	switch x := v.Interface().(type) {
	case Path:
		return text(x.String())
	case Targets:
		var names []*yaml.Node
		for _, to := range x {
			name := to.Kind
			if to.Group != "" && to.Group != of.Group {
				name += "." + to.Group
			}
			names = append(names, text(name))
		}
		if len(names) == 1 {
			return names[0]
		}
		return &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: names}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return node(v.Elem(), of, depth)
	case reflect.Struct:
		return mapping(v.Interface(), of, depth+1)
	case reflect.Slice:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			list.Content = append(list.Content, node(v.Index(i), of, depth+1))
		}
		if v.Type().Elem().Kind() == reflect.String {
			list.Style = yaml.FlowStyle
		}
		return list
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"} // false is omitted
	}
	return text(v.String())
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
