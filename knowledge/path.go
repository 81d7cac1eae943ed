package knowledge

import (
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

// Path leads to values inside an object: keys with dots between them, "[]" for
// every element of a list, "{}" for every value of a mapping, and a key with
// dots of its own in brackets and quotes.
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

// ParsePath reads the written form of a path. "." is the object itself.
func ParsePath(text string) (Path, error) {
	p := Path{text: text}
	rest := text
	if rest == "." {
		return p, nil
	}
	bad := func() (Path, error) {
		return Path{}, fmt.Errorf("%q is no path; write keys with dots between them, such as spec.items[].name", text)
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
	parsed, err := ParsePath(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*p = parsed
	return nil
}

// String returns the path as it was written.
func (p Path) String() string { return p.text }

// IsZero reports whether there is no path.
func (p Path) IsZero() bool { return p.text == "" }

// Found is a value and the place it was found at, such as
// "spec.volumes[2].secret".
type Found struct {
	Field string
	Value object.Value
}

// Find returns every value that the path leads to from v. Nothing that is
// missing or null is returned.
func (p Path) Find(v object.Value) []Found {
	if p.IsZero() {
		return nil
	}
	return find(p.steps, Found{"", v})
}

func find(steps []step, at Found) []Found {
	if !at.Value.Exists() {
		return nil
	}
	if len(steps) == 0 {
		return []Found{at}
	}
	var found []Found
	switch s := steps[0]; s.each {
	case '[':
		for i, item := range at.Value.Items() {
			found = append(found, find(steps[1:], Found{fmt.Sprintf("%s[%d]", at.Field, i), item})...)
		}
	case '{':
		for _, f := range at.Value.Fields() {
			found = append(found, find(steps[1:], Found{Join(at.Field, f.Key), f.Value})...)
		}
	default:
		found = find(steps[1:], Found{Join(at.Field, s.key), at.Value.Get(s.key)})
	}
	return found
}

// Join puts a key behind a field path.
func Join(field, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]{}"):
		return field + `["` + key + `"]`
	case field == "":
		return key
	}
	return field + "." + key
}
