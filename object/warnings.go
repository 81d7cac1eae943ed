package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Rules that other packages check for.
const (
	// DuplicateKey is the rule for duplicate keys of a mapping.
	DuplicateKey finding.Rule = "duplicate-key"
	// InvalidYAML is the rule for text that is not YAML.
	InvalidYAML finding.Rule = "invalid-yaml"
	// Incomplete is the rule for a manifest without required fields.
	Incomplete finding.Rule = "incomplete-object"
)

// Warnings reports content that readers of the manifest silently ignore: duplicate
// keys, hook weights that are not numbers, and misspelled annotations.
func (o Object) Warnings() []finding.Finding {
	return slices.Concat(o.reportDuplicates(), o.invalidWeight(), o.misspelled())
}

// invalidWeight reports a hook weight that is not an integer.
func (o Object) invalidWeight() []finding.Finding {
	text, ok := o.Annotation(HelmWeight)
	if _, err := strconv.Atoi(text); err == nil || !ok {
		return nil
	}
	return []finding.Finding{{Severity: finding.Warning, Rule: "bad-annotation", File: o.File, Line: o.Line, Object: o.ID.String(),
		Field: "metadata.annotations[" + HelmWeight + "]", Message: o.QuoteNumber(text) + " is not an integer, so Helm and Argo CD use 0",
		Remedy: `use an integer such as "5", or remove the annotation`}}
}

// reportDuplicates reports duplicate keys. Argo CD and Helm silently use the last one, while
// kustomize and Flux refuse the manifest. Popular charts render labels with duplicate keys,
// so it is only a warning, or a note if the values are equal. A mapping is reported once,
// however many duplicates it has. The schemas of CRDs are not checked.
func (o Object) reportDuplicates() []finding.Finding {
	var found []finding.Finding
	eachMapping(o.doc.node(), "", func(n *yaml.Node, path string) {
		keys := duplicateKeys(n)
		if keys == nil {
			return
		}
		f := finding.Finding{Severity: finding.Note, Rule: DuplicateKey, File: o.File, Object: o.ID.String(), Field: path}
		if o.Line > 0 {
			f.Line = o.Line + keys[0].second.Line - 1
		}
		var names []string
		for _, k := range keys {
			names = append(names, k.second.Value)
			if !k.equal {
				f.Severity = finding.Warning
			}
		}
		names = slices.Compact(names)
		f.About = strings.Join(names, ", ")
		f.Message, f.Remedy = fmt.Sprintf("duplicate key %q", names[0]), "keep one"
		if len(names) > 1 {
			f.Message, f.Remedy = fmt.Sprintf("duplicate keys %q", names), "keep one of each"
		}
		if f.Severity == finding.Warning {
			f.Message += "; Argo CD uses only the last value"
		} else {
			f.Message += " with the same value"
		}
		found = append(found, f)
	})
	return found
}

// duplicateKey is a key that occurs a second time in a mapping.
type duplicateKey struct {
	first, second *yaml.Node
	// equal means that both values are equal.
	equal bool
}

// duplicateKeys returns the duplicate keys of a mapping. Merge keys may occur any
// number of times.
func duplicateKeys(n *yaml.Node) []duplicateKey {
	var seen map[string]int
	if len(n.Content) > 2*fewKeys {
		seen = make(map[string]int, len(n.Content)/2)
	}
	var found []duplicateKey
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Tag == mergeTag || key.Kind != yaml.ScalarNode {
			continue
		}
		at, isDuplicate := seen[key.Value]
		for j := 0; seen == nil && !isDuplicate && j < i; j += 2 {
			at, isDuplicate = j, n.Content[j].Value == key.Value && n.Content[j].Tag != mergeTag
		}
		if isDuplicate {
			a, b := n.Content[at+1], n.Content[i+1]
			equal := a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode && a.Value == b.Value && a.Tag == b.Tag
			found = append(found, duplicateKey{n.Content[at], key, equal})
		} else if seen != nil {
			seen[key.Value] = i
		}
	}
	return found
}

// Duplicate is a duplicate key of a mapping.
type Duplicate struct {
	// Path is the path of the mapping.
	Path, Key string
	// Lines are the lines of the first and the duplicate key.
	Lines [2]int
	// Value is the value of the duplicate, which takes effect.
	Value Value
}

// DuplicateKeys lists the duplicate keys below a value.
func (v Value) DuplicateKeys() (all []Duplicate) {
	eachMapping(v.node, "", func(n *yaml.Node, path string) {
		for _, k := range duplicateKeys(n) {
			at := slices.Index(n.Content, k.second)
			all = append(all, Duplicate{path, k.second.Value, [2]int{k.first.Line, k.second.Line}, Value{n.Content[at+1]}})
		}
	})
	return all
}

// eachMapping visits the mappings below a node with their paths. Aliased nodes are
// visited where they are defined.
func eachMapping(n *yaml.Node, path string, visit func(n *yaml.Node, path string)) {
	if n == nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		visit(n, path)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if len(n.Content[i+1].Content) > 0 {
				eachMapping(n.Content[i+1], below(path, n.Content[i].Value), visit)
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if len(item.Content) > 0 {
				eachMapping(item, fmt.Sprintf("%s[%d]", path, i), visit)
			}
		}
	}
}

// below returns the path of a key in a mapping.
func below(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.Contains(key, "."):
		return path + "[" + key + "]"
	}
	return path + "." + key
}

// identity lists keys that every object has exactly once.
var identity = []string{"apiVersion", "kind", "metadata"}

// checkSeparator reports a manifest that contains its identity twice. Usually the separator
// between two objects is missing, and the first of them would be lost.
func (d sourceDocument) checkSeparator(v Value) error {
	if !v.IsMap() {
		return nil
	}
	for _, k := range duplicateKeys(v.resolved()) {
		if !slices.Contains(identity, k.second.Value) && !(k.second.Value == "items" && isList(v)) {
			continue
		}
		key, line := k.second.Value, func(n *yaml.Node) int { return max(d.line, d.start, 1) + n.Line - 1 }
		message := fmt.Sprintf("duplicate key %q: the value on line %d would be lost", key, line(k.first))
		if d.line == 0 {
			message = fmt.Sprintf("duplicate key %q on lines %d and %d of the rendered text: the first value would be lost", key,
				line(k.first), line(k.second))
		}
		f := d.fault(DuplicateKey, k.second.Line, message,
			`if these are two objects, write a line "---" between them; otherwise, remove one of the two keys`)
		f.About = key
		return f
	}
	return nil
}
