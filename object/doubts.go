package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// The rules of findings by which others tell what is wrong.
const (
	// DuplicateKey marks a key that a mapping holds twice.
	DuplicateKey = "duplicate-key"
	// InvalidYAML marks a text that is not YAML.
	InvalidYAML = "invalid-yaml"
	// Incomplete marks a manifest without the fields that every object has.
	Incomplete = "incomplete-object"
)

// Doubts reports what the manifest says and those who read it pass over: keys
// given twice, and hook weights that are no number.
func (o Object) Doubts() []finding.Finding {
	return append(o.doubled(), o.wordyWeight()...)
}

// wordyWeight reports a hook weight that is no whole number.
func (o Object) wordyWeight() []finding.Finding {
	text, ok := o.Annotation(HelmWeight)
	if _, err := strconv.Atoi(text); err == nil || !ok {
		return nil
	}
	return []finding.Finding{{Severity: finding.Warning, Rule: "bad-weight", File: o.File, Line: o.Line, Object: o.ID.String(),
		Field: "metadata.annotations[" + HelmWeight + "]", Message: o.ShownNumber(text) + " is not an integer, so Helm and Argo CD use 0",
		Remedy: `use a number such as "5", or remove the annotation`}}
}

// doubled reports keys that stand in one mapping of the manifest more than
// once. Argo CD and Helm take the last and drop the others without a word,
// kustomize and Flux refuse the manifest, and charts that people use print
// such labels; so it is no error here, only a warning, and a note where the
// values are equal. A mapping is reported once, however many of its keys are
// doubled. The schemas of a CustomResourceDefinition are not looked at.
func (o Object) doubled() []finding.Finding {
	var found []finding.Finding
	eachMapping(o.doc.node(), "", func(n *yaml.Node, path string) {
		keys := doubledKeys(n)
		if keys == nil {
			return
		}
		f := finding.Finding{Severity: finding.Note, Rule: DuplicateKey, File: o.File, Object: o.ID.String(), Field: path}
		if o.Line > 0 {
			f.Line = o.Line + keys[0].again.Line - 1
		}
		var names []string
		for _, k := range keys {
			names = append(names, k.again.Value)
			if !k.equal {
				f.Severity = finding.Warning
			}
		}
		names = slices.Compact(names)
		f.Message = "the key " + names[0] + " is a duplicate key"
		if len(names) > 1 {
			f.Message = "the keys " + strings.Join(names, ", ") + " are duplicate keys"
		}
		if f.Severity == finding.Warning {
			f.Message += ", and all but the last are lost"
		} else {
			f.Message += " with the same value"
		}
		f.Remedy = "keep one of each"
		found = append(found, f)
	})
	return found
}

// twice is a key that a mapping holds already.
type twice struct {
	first, again *yaml.Node
	// equal says that both stand before the same text.
	equal bool
}

// doubledKeys returns the keys of a mapping that stand in it before. Merge keys
// may stand in it as often as they like.
func doubledKeys(n *yaml.Node) []twice {
	const small = 16 // below that, looking back is faster than a map
	var seen map[string]int
	if len(n.Content) > 2*small {
		seen = make(map[string]int, len(n.Content)/2)
	}
	var found []twice
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Tag == mergeTag || key.Kind != yaml.ScalarNode {
			continue
		}
		at, doubled := seen[key.Value]
		for j := 0; seen == nil && !doubled && j < i; j += 2 {
			at, doubled = j, n.Content[j].Value == key.Value && n.Content[j].Tag != mergeTag
		}
		if doubled {
			a, b := n.Content[at+1], n.Content[i+1]
			equal := a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode && a.Value == b.Value && a.Tag == b.Tag
			found = append(found, twice{n.Content[at], key, equal})
		} else if seen != nil {
			seen[key.Value] = i
		}
	}
	return found
}

// Doubled is a key that stands twice in one mapping.
type Doubled struct {
	// Path leads to the mapping.
	Path, Key string
	// Lines are those of the first key and of the other.
	Lines [2]int
	// Again is the value behind the other, which is the one that is read.
	Again Value
}

// DoubledKeys lists the keys below a value that stand twice in their mapping.
func (v Value) DoubledKeys() (all []Doubled) {
	eachMapping(v.node, "", func(n *yaml.Node, path string) {
		for _, k := range doubledKeys(n) {
			at := slices.Index(n.Content, k.again)
			all = append(all, Doubled{path, k.again.Value, [2]int{k.first.Line, k.again.Line}, Value{n.Content[at+1]}})
		}
	})
	return all
}

// eachMapping visits the mappings below a node with their paths. What an alias
// stands for is visited where it is written.
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

// below writes the path of a key in the mapping at a path.
func below(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.Contains(key, "."):
		return path + "[" + key + "]"
	}
	return path + "." + key
}

// identity are the keys that every object has, and none twice.
var identity = []string{"apiVersion", "kind", "metadata"}

// glued reports a manifest that says twice what it is. Mostly the line between
// two objects is missing, and the first of them would be lost.
func (d located) glued(v Value) error {
	if !v.IsMap() {
		return nil
	}
	for _, k := range doubledKeys(v.resolved()) {
		if !slices.Contains(identity, k.again.Value) && !(k.again.Value == "items" && isList(v)) {
			continue
		}
		key, line := k.again.Value, func(n *yaml.Node) int { return max(d.line, d.start, 1) + n.Line - 1 }
		message := fmt.Sprintf("%s is a duplicate key: the value in line %d would be lost", key, line(k.first))
		if d.line == 0 {
			message = fmt.Sprintf("%s is a duplicate key in lines %d and %d of the rendered text: the first value would be lost", key, line(k.first), line(k.again))
		}
		return d.fault(DuplicateKey, k.again.Line, message, `write a line "---" between two objects, or keep one of the two`)
	}
	return nil
}
