package knowledge

import (
	"fmt"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Path leads to values in an object: keys separated by dots, "[]" for every element
// of a list, "{}" for every value of a mapping, and brackets and quotes for a key
// with dots.
//
//	spec.template.spec.volumes[].secret.secretName
//	metadata.annotations["kubernetes.io/service-account.name"]
type Path struct {
	text  string
	steps []step
}

type step struct {
	key  string
	each byte // '[' or '{' for every element, 0 for a key
}

// parsePath parses a path. "." is the object itself.
func parsePath(text string) (Path, error) {
	p := Path{text: text}
	rest := text
	if rest == "." {
		return p, nil
	}
	bad := func() (Path, error) {
		return Path{}, finding.Fault(fmt.Sprintf("%q is not a path", text), "write keys with dots between them, such as spec.items[].name")
	}
	for first := true; rest != ""; first = false {
		switch {
		case strings.HasPrefix(rest, "[]") && !first:
			p.steps, rest = append(p.steps, step{each: '['}), rest[2:]
		case strings.HasPrefix(rest, "{}") && !first:
			p.steps, rest = append(p.steps, step{each: '{'}), rest[2:]
		case strings.HasPrefix(rest, `["`) && !first:
			key, after, ok := strings.Cut(rest[2:], `"]`)
			if !ok || key == "" {
				return bad()
			}
			p.steps, rest = append(p.steps, step{key: key}), after
		default:
			if !first {
				var ok bool
				if rest, ok = strings.CutPrefix(rest, "."); !ok {
					return bad()
				}
			}
			end := strings.IndexAny(rest, ".[{")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return bad()
			}
			p.steps, rest = append(p.steps, step{key: rest[:end]}), rest[end:]
		}
	}
	return p, nil
}

// UnmarshalYAML reads a path from its written form.
func (p *Path) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := parsePath(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*p = parsed
	return nil
}

// String returns the path as it was written.
func (p Path) String() string { return p.text }

// IsZero reports whether the path is empty.
func (p Path) IsZero() bool { return p.text == "" }

// Found is a value with its location, such as "spec.volumes[2].secret".
type Found struct {
	Field string
	Value object.Value
}

// Find returns all values at the path below v, without missing and null ones.
func (p Path) Find(v object.Value) []Found {
	if p.IsZero() {
		return nil
	}
	var trail [16]crumb // long enough for most paths
	var found []Found
	find(p.steps, v, trail[:0], &found)
	return found
}

// Text returns the text of the first value at the path below v.
func (p Path) Text(v object.Value) string {
	for _, found := range p.Find(v) {
		return found.Value.Text()
	}
	return ""
}

// crumb is a step on the way to a value: a key, or an index if that is empty. The
// location is only formatted when a value is found.
type crumb struct {
	key   string
	index int
}

func find(steps []step, v object.Value, trail []crumb, found *[]Found) {
	if !v.Exists() {
		return
	}
	if len(steps) == 0 {
		*found = append(*found, Found{fieldOf(trail), v})
		return
	}
	switch s := steps[0]; s.each {
	case '[':
		for i, item := range v.Items() {
			find(steps[1:], item, append(trail, crumb{index: i}), found)
		}
	case '{':
		for _, f := range v.Fields() {
			find(steps[1:], f.Value, append(trail, crumb{key: f.Key}), found)
		}
	default:
		find(steps[1:], v.Get(s.key), append(trail, crumb{key: s.key}), found)
	}
}

func fieldOf(trail []crumb) string {
	field := ""
	for _, c := range trail {
		if c.key == "" {
			field += "[" + strconv.Itoa(c.index) + "]"
			continue
		}
		field = Join(field, c.key)
	}
	return field
}

// Join appends a key to a field path.
func Join(field, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]{}"):
		return field + `["` + key + `"]`
	case field == "":
		return key
	}
	return field + "." + key
}
