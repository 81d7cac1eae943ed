package kustomize

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
	"github.com/ladder-cmp/ladder/render/input"
)

// decode reads the kustomization. The library stops at the first unknown key or
// value of the wrong type; each such key is removed and the rest read again, to
// find all problems at once.
func (c *checker) decode() (types.Kustomization, []error) {
	data := c.data
	var faults []error
	var written *yamlv3.Node
	for len(faults) < maxFaults {
		var k types.Kustomization
		err := k.Unmarshal(data)
		if err == nil {
			return k, faults
		}
		f := input.InvalidYAML(c.Show(c.file), err)
		f.Rule, f.Message, f.Remedy = "kustomization", strings.TrimPrefix(strings.TrimPrefix(f.Message, "not valid YAML: "), "json: "), "correct the kustomization"
		key := ""
		if _, field, ok := strings.Cut(f.Message, "unknown field "); ok {
			key = strings.Trim(field, `"`)
			f.Remedy = nearest.Or(key, knownFields(), "remove it, or correct its name")
			if places, rest := unknownKeys(data, key); len(places) > 0 {
				if written == nil {
					written = new(yamlv3.Node)
					_ = yamlv3.Unmarshal(c.written, written) // it was parsed before
				}
				for _, at := range places {
					f.Line = input.LineIn(written, at)
					faults = append(faults, f)
				}
				data = rest
				continue
			}
			f.Line = lineOfEntry(c.written, key+":")
		} else if field, wants, ok := strings.Cut(f.Message, ": must be "); ok {
			wants, _, _ = strings.Cut(wants, ", not ")
			f.Remedy = "write " + wants
			key = field[strings.LastIndexByte(field, '.')+1:]
			f.Line = lineOfEntry(c.written, key+":")
			input.AtMistyped(&f, c.written)
		}
		clampLine(&f, data)
		faults = append(faults, f)
		rest, ok := withoutKey(data, key)
		if !ok {
			return k, faults
		}
		data = rest
	}
	return types.Kustomization{}, faults
}

// knownFields lists the fields of a kustomization.
func knownFields() []string {
	var all []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			all = append(all, name)
		}
	}
	return all
}

// clampLine moves a finding about invalid YAML to an existing line: the library
// omits the first, and counts past the end of a truncated text.
func clampLine(f *finding.Finding, data []byte) {
	if yamlv3.Unmarshal(data, new(yamlv3.Node)) == nil {
		return
	}
	lines := bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) + 1
	f.Line = min(max(f.Line, 1), lines)
}

// maxFaults limits the search for further findings. Each reads the file again.
const maxFaults = 50

// unknownKeys finds the places of an unknown key, which the library does not
// report, and returns the text without them. The same key may be valid elsewhere.
func unknownKeys(data []byte, key string) (places [][]string, rest []byte) {
	var tree map[string]any
	if yaml.Unmarshal(data, &tree) != nil {
		return nil, nil
	}
	all := placesOfKey(tree, key, nil)
	if len(all) > maxFaults {
		return nil, nil
	}
	if len(all) == 1 {
		dropAt(tree, all[0])
		rest, err := yaml.Marshal(tree)
		if err != nil {
			return nil, nil
		}
		return all, rest
	}
	without := func(these [][]string) []byte {
		var tree map[string]any
		if yaml.Unmarshal(data, &tree) != nil {
			return nil
		}
		for _, at := range these {
			dropAt(tree, at)
		}
		text, err := yaml.Marshal(tree)
		if err != nil {
			return nil
		}
		return text
	}
	for i, at := range all {
		alone := without(slices.Delete(slices.Clone(all), i, i+1))
		if err := new(types.Kustomization).Unmarshal(alone); err != nil && strings.Contains(err.Error(), "unknown field "+strconv.Quote(key)) {
			places = append(places, at)
		}
	}
	return places, without(places)
}

// placesOfKey returns the paths of all keys with a name.
func placesOfKey(tree any, key string, way []string) (all [][]string) {
	switch t := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			at := append(slices.Clone(way), name)
			if name == key {
				all = append(all, at)
			}
			all = append(all, placesOfKey(t[name], key, at)...)
		}
	case []any:
		for i, inner := range t {
			all = append(all, placesOfKey(inner, key, append(slices.Clone(way), strconv.Itoa(i)))...)
		}
	}
	return all
}

func dropAt(tree any, at []string) {
	switch t := tree.(type) {
	case map[string]any:
		if len(at) == 1 {
			delete(t, at[0])
			return
		}
		dropAt(t[at[0]], at[1:])
	case []any:
		if i, err := strconv.Atoi(at[0]); err == nil && i < len(t) {
			dropAt(t[i], at[1:])
		}
	}
}

// withoutKey removes a key from a YAML mapping, or else from nested mappings, and
// reports whether it was found.
func withoutKey(data []byte, key string) ([]byte, bool) {
	var tree map[string]any
	if key == "" || yaml.Unmarshal(data, &tree) != nil {
		return nil, false
	}
	if !dropKey(tree, key) {
		return nil, false
	}
	rest, err := yaml.Marshal(tree)
	return rest, err == nil
}

func dropKey(tree any, key string) (dropped bool) {
	switch t := tree.(type) {
	case map[string]any:
		if _, there := t[key]; there {
			delete(t, key)
			return true
		}
		for _, inner := range t {
			dropped = dropKey(inner, key) || dropped
		}
	case []any:
		for _, inner := range t {
			dropped = dropKey(inner, key) || dropped
		}
	}
	return dropped
}
