package repeat

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/render/helm"
)

// emptyValues returns the paths of values that the charts leave empty: null or
// empty strings in values.yaml, in file order, and values that only templates name.
// Global values come last.
func emptyValues(texts []helm.TemplateText) [][]string {
	var all [][]string
	set := map[string]bool{} // values that a chart sets
	seen := map[string]bool{}
	add := func(home []string, names ...string) {
		if names[0] == "global" {
			home = nil
		}
		whole := slices.Concat(home, names)
		if name := strings.Join(whole, "."); !seen[name] && !set[name] {
			seen[name] = true
			all = append(all, whole)
		}
	}
	for _, t := range texts {
		if home, is := valuesOf(t); is {
			var doc yaml.Node
			if yaml.Unmarshal([]byte(t.Text), &doc) == nil && len(doc.Content) == 1 {
				leaves(doc.Content[0], nil, func(names []string, empty bool) {
					if empty {
						add(home, names...)
					} else {
						set[strings.Join(slices.Concat(home, names), ".")] = true
					}
				})
			}
		}
	}
	for _, t := range texts {
		if _, is := valuesOf(t); is {
			continue
		}
		for _, value := range helm.ValuesIn(t.Text) {
			add(chartOf(t), strings.Split(value, ".")[2:]...)
		}
	}
	slices.SortStableFunc(all, func(a, b []string) int { return rank(a) - rank(b) })
	return all
}

func rank(names []string) int {
	if names[0] == "global" {
		return 1
	}
	return 0
}

// chartOf returns the path of the values of a template's chart within the root
// chart: db for shop/charts/db/templates/a.yaml.
func chartOf(t helm.TemplateText) []string {
	parts := strings.Split(t.Source, "/")[1:]
	var home []string
	for len(parts) > 2 && parts[0] == "charts" {
		home, parts = append(home, parts[1]), parts[2:]
	}
	return home
}

// valuesOf reports whether a text is a chart's values.yaml, and the path of its
// values.
func valuesOf(t helm.TemplateText) (home []string, is bool) {
	home = chartOf(t)
	return home, path.Base(t.Source) == "values.yaml" && !strings.Contains(t.Source, "/templates/")
}

// leaves visits the values of a tree, mappings before their entries.
func leaves(n *yaml.Node, names []string, visit func(names []string, empty bool)) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		own := append(slices.Clone(names), n.Content[i].Value)
		visit(own, value.Kind == yaml.ScalarNode && (value.Tag == "!!null" || value.Value == ""))
		leaves(value, own, visit)
	}
}

// put sets a value in a tree and returns the tree.
func put(tree map[string]any, names []string, value any) map[string]any {
	in := tree
	for _, name := range names[:len(names)-1] {
		below, is := in[name].(map[string]any)
		if !is {
			below = map[string]any{}
			in[name] = below
		}
		in = below
	}
	in[names[len(names)-1]] = value
	return tree
}

// remove deletes a value from a tree.
func remove(tree map[string]any, names []string) {
	if in, is := get(tree, names[:len(names)-1]).(map[string]any); is {
		delete(in, names[len(names)-1])
	}
}

// get returns a value of a tree; nil if it does not exist.
func get(tree map[string]any, names []string) any {
	var v any = tree
	for _, name := range names {
		in, is := v.(map[string]any)
		if !is {
			return nil
		}
		v = in[name]
	}
	return v
}

// decoded decodes base64; empty if the text is invalid.
func decoded(text string) string {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(b)
}

func encoded(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
