package object

import (
	"slices"
	"strings"
)

// WithoutEmptyProperties returns a CRD without each "properties: {}" on its own
// line in its validation schemas. They have no effect, and the API server does not
// store them, so Argo CD would always show a difference.
func (o Object) WithoutEmptyProperties() Object {
	text := o.doc.content()
	if !strings.Contains(text, emptyProperties) {
		return o
	}
	lines := slices.Collect(strings.Lines(text))
	kept := lines[:0:0]
	for i, line := range lines {
		if strings.TrimSpace(line) != emptyProperties || !hasSiblingType(lines, i) || !inSchema(lines, i) {
			kept = append(kept, line)
		}
	}
	if len(kept) < len(lines) {
		o.doc = &document{text: strings.Join(kept, "")}
	}
	return o
}

const emptyProperties = "properties: {}"

// hasSiblingType reports whether the mapping that contains line i also has a type key, so
// that it is not empty without that line.
func hasSiblingType(lines []string, i int) bool {
	isType := func(line string) (found, done bool) {
		deep := indentation(line) - indentation(lines[i])
		return deep == 0 && strings.HasPrefix(strings.TrimSpace(line), "type:"), deep < 0 && strings.TrimSpace(line) != ""
	}
	for _, line := range slices.Backward(lines[:i]) {
		if found, done := isType(line); found || done {
			if found {
				return true
			}
			break
		}
	}
	for _, line := range lines[i+1:] {
		if found, done := isType(line); found || done {
			return found
		}
	}
	return false
}

// inSchema reports whether a line belongs to a validation schema, outside of
// values, such as defaults, and of texts.
func inSchema(lines []string, i int) bool {
	column := indentation(lines[i])
	for _, line := range slices.Backward(lines[:i]) {
		key := strings.TrimSpace(line)
		if key == "" || key[0] == '#' || indentation(line) >= column {
			continue
		}
		column = indentation(line)
		switch name, ok := strings.CutSuffix(strings.TrimLeft(key, "- "), ":"); {
		case name == "openAPIV3Schema" && ok:
			return true
		case !ok || slices.Contains([]string{"default", "example", "enum"}, name):
			return false
		}
	}
	return false
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
