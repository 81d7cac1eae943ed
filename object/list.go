package object

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/textedit"
)

// isList reports whether an object is a list. Like Argo CD it includes every kind
// that ends in List and has items, such as "kind: List" and RoleList.
func isList(v Value) bool {
	return strings.HasSuffix(v.Get("kind").Text(), "List") && v.Get("items").IsList()
}

// isNullList reports whether items are null, which a template writes if it has none. Like Argo
// CD (reposerver/repository, isNullList), which does not look at the kind, Ladder ignores it.
func isNullList(v Value) bool {
	items := v.Get("items").resolved()
	return items != nil && items.Tag == "!!null" && !v.Get("spec").Exists() && !v.Get("status").Exists()
}

// NullLists reports lists in a file that people write whose items are null: Argo CD ignores
// them, and they are probably incomplete.
func NullLists(file, text string) []finding.Finding {
	var found []finding.Finding
	for _, chunk := range split(text) {
		if !hasKey(chunk.text, "items") || !nullItems.MatchString(chunk.text) {
			continue
		}
		root, err := parseText(chunk.text)
		if v := (Value{root}); err == nil && root != nil && isNullList(v) {
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: "invalid-yaml", File: file,
				Line:    chunk.line + v.Get("items").Line() - 1,
				Message: "the items of the list are null, so Argo CD ignores it", Remedy: "write its objects in a list under items, or remove it"})
		}
	}
	return found
}

// hasKey reports whether a line may begin with a key, in quotes or not. It is much faster than a regular
// expression, which looks at every line of a CRD.
func hasKey(text, key string) bool {
	for at := 0; ; at += len(key) {
		found := strings.Index(text[at:], key)
		if found < 0 {
			return false
		}
		at += found
		if at == 0 || strings.IndexByte("\n\"'", text[at-1]) >= 0 {
			return true
		}
	}
}

var nullItems = lazyregexp.New(`(?m)^["']?items["']?:\s*(?:null|~|#.*)?\s*$`)

// unfold returns the items of a list as separate objects.
func (d sourceDocument) unfold(v Value) ([]Object, error) {
	items := v.Get("items")
	texts, err := d.itemTexts(v)
	if err != nil {
		_, message := SyntaxError(err)
		return nil, d.fault(InvalidYAML, items.Line(), "the items of the list cannot be read: "+message, "write each item as a separate document")
	}
	var objs []Object
	var faults []error
	for i, item := range items.Items() {
		one := sourceDocument{file: d.file, text: texts[i], start: max(d.start, 1) + item.Line() - 1, shared: d.shared}
		if d.line > 0 {
			one.line = d.line + item.Line() - 1
		}
		if !item.IsMap() {
			faults = append(faults, d.fault("invalid-yaml", item.Line(),
				fmt.Sprintf("items[%d] of the %s is not a mapping", i, v.Get("kind").Text()), "write a Kubernetes object there"))
			continue
		}
		parsed, err := one.objects()
		objs = append(objs, parsed...)
		if err != nil {
			faults = append(faults, err)
		}
	}
	return objs, errors.Join(faults...)
}

// itemTexts returns the texts of a list's items. Items of a block sequence keep
// their text without indentation; others (flow style, JSON, items with aliases to
// anchors outside them) are encoded again by the YAML library.
func (d sourceDocument) itemTexts(list Value) ([]string, error) {
	items := list.Get("items").resolved()
	lines := textedit.NewLines(d.text)
	texts := make([]string, len(items.Content))
	for i, item := range items.Content {
		cut, ok := "", false
		if items.Style&yaml.FlowStyle == 0 && !hasAlias(item) {
			cut, ok = cutItem(lines, items, i)
		}
		if !ok {
			var err error
			if cut, err = textedit.Encode(expand(item)); err != nil {
				return nil, err
			}
		}
		texts[i] = cut
	}
	return texts, nil
}

// cutItem returns the text of an item of a block sequence without its dash and
// indentation.
func cutItem(lines *textedit.Lines, seq *yaml.Node, i int) (string, bool) {
	item := seq.Content[i]
	dash := seq.Column - 1
	first := item.Line - 1
	last := lines.Count()
	if i+1 < len(seq.Content) {
		last = aboveComments(lines, seq.Content[i+1].Line-1, dash)
	}
	if item.Column-1 <= dash || item.Kind != yaml.MappingNode || item.Style&yaml.FlowStyle != 0 || item.Anchor != "" {
		return "", false
	}
	indent := item.Column - 1
	var b strings.Builder
	for n := aboveComments(lines, first, dash); n < first; n++ {
		b.WriteString(strings.TrimLeft(lines.At(n), " "))
	}
	for n := first; n < last; n++ {
		line := lines.At(n)
		if n == first {
			if len(line) < indent || strings.Trim(line[:indent], " -") != "" {
				return "", false
			}
			b.WriteString(line[indent:])
			continue
		}
		body := strings.TrimLeft(line, " ")
		depth := len(line) - len(body)
		blank := strings.TrimSpace(body) == ""
		if depth < indent && !blank && !strings.HasPrefix(body, "#") {
			if depth <= dash {
				break // the end of the list
			}
			return "", false // a scalar with less indentation than its item
		}
		b.WriteString(line[min(indent, depth):])
	}
	return b.String(), true
}

// aboveComments moves from an item's line up over the comments directly above its
// dash, which belong to it, not to the previous item.
func aboveComments(lines *textedit.Lines, line, dash int) int {
	for line > 0 {
		above := lines.At(line - 1)
		body := strings.TrimLeft(above, " ")
		if !strings.HasPrefix(body, "#") || len(above)-len(body) != dash {
			break
		}
		line--
	}
	return line
}

func hasAlias(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return true
	}
	return slices.ContainsFunc(n.Content, hasAlias)
}

// expand copies a node with every alias replaced by its target, so that it can be
// moved to another document.
func expand(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	c := *n
	c.Anchor = ""
	if c.Tag == "!!null" && c.Style&yaml.TaggedStyle == 0 {
		c.Value = "null" // the encoder would write an empty one in flow style as ""
	}
	if truth, old := oldBool(&c); old { // the encoder would quote it
		c.Tag, c.Value = "!!bool", strconv.FormatBool(truth)
	}
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = expand(n.Content[i])
	}
	return &c
}
