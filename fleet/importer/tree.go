package importer

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// tree is a manifest from which fields are removed as they are imported, until nothing
// relevant is left.
type tree = map[string]any

// fieldsOf returns the mapping at the root of a tree; nil if it is not a mapping.
func fieldsOf(v any) tree {
	m, _ := v.(tree)
	return m
}

// take removes a field and returns it; nil if it does not exist. It also removes mappings that
// become empty.
func take(t tree, keys ...string) any {
	v, exists := t[keys[0]]
	if !exists {
		return nil
	}
	if len(keys) == 1 {
		delete(t, keys[0])
		return v
	}
	inner := fieldsOf(v)
	if inner == nil {
		return nil
	}
	taken := take(inner, keys[1:]...)
	if len(inner) == 0 {
		delete(t, keys[0])
	}
	return taken
}

// takeText takes a field with a single value.
func takeText(t tree, keys ...string) string { return text(take(t, keys...)) }

// takeTrue takes a boolean field.
func takeTrue(t tree, keys ...string) bool {
	is, _ := take(t, keys...).(bool)
	return is
}

// takeTexts takes a mapping with single values.
func takeTexts(t tree, keys ...string) map[string]string {
	m := fieldsOf(take(t, keys...))
	if len(m) == 0 {
		return nil
	}
	all := map[string]string{}
	for key, value := range m {
		all[key] = text(value)
	}
	return all
}

// takeList takes a list.
func takeList(t tree, keys ...string) []any {
	list, _ := take(t, keys...).([]any)
	return list
}

// takeAs takes a field that has exactly the type of a value. Other fields stay, and are
// reported.
func takeAs(t tree, into any, keys ...string) bool {
	v := at(t, keys...)
	if v == nil {
		return false
	}
	data, err := yaml.Marshal(v)
	if err != nil {
		return false
	}
	strict := yaml.NewDecoder(bytes.NewReader(data))
	strict.KnownFields(true)
	if err := strict.Decode(into); err != nil {
		return false
	}
	take(t, keys...)
	return true
}

// at returns the value at a path.
func at(t tree, keys ...string) any {
	var v any = t
	for _, key := range keys {
		m := fieldsOf(v)
		if m == nil {
			return nil
		}
		v = m[key]
	}
	return v
}

// text returns a single value as text.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case tree, []any:
		return ""
	}
	return fmt.Sprint(v)
}

// remainingFields returns the paths of the remaining fields: single values, and whole lists.
func remainingFields(t tree, under string) []string {
	var all []string
	for _, key := range sortedKeys(t) {
		field := key
		if under != "" {
			field = under + "." + key
		}
		switch v := t[key].(type) {
		case nil:
		case tree:
			all = append(all, remainingFields(v, field)...)
		case []any:
			if len(v) > 0 {
				all = append(all, field)
			}
		default:
			if v != false && v != "" { // not a default value
				all = append(all, field)
			}
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
