package install

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/deploy"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/object"
)

// container is the name of the sidecar.
const container = "ladder"

// merger adds entries to a YAML text and keeps the rest byte for byte. What the text has
// wins, except for the image of the sidecar. Mappings are merged; so are lists whose items
// have names, and the patches of a kustomization. The fields of an item stay together: a
// probe with a second handler would be invalid. What is in flow style and changes is first
// written in block style. It does not set fields, as textedit.Put does, but merges trees, and so
// shares with it only how places are found and texts replaced.
type merger struct {
	Options
	text    string
	root    *yaml.Node
	lines   *textedit.Lines
	splices []textedit.Splice
	err     error
}

func newMerger(text string, o Options) (*merger, error) {
	root, err := mapping(text)
	if err != nil {
		return nil, err
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return &merger{Options: o, text: text, root: root, lines: textedit.NewLines(text)}, nil
}

// mapping parses a file with one document, which may be empty.
func mapping(text string) (*yaml.Node, error) {
	var doc yaml.Node
	documents := yaml.NewDecoder(strings.NewReader(text))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, invalid(text, err)
	}
	if err := documents.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, finding.Fault("it has a second document", "pass a file with one document")
	}
	if err := doc.Decode(new(any)); err != nil { // duplicate keys, an anchor that contains itself
		return nil, invalid(text, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}, nil
	}
	switch root := doc.Content[0]; {
	case root.Kind == yaml.SequenceNode:
		return nil, finding.Fault("it contains a list, not a mapping", nameFile)
	case root.Kind != yaml.MappingNode:
		return nil, finding.Fault("it contains a single value, not a mapping", nameFile)
	case root.Style&yaml.FlowStyle != 0:
		return nil, finding.Fault("it is a mapping in flow style", "write one key per line")
	}
	return doc.Content[0], nil
}

// invalid reports text that is not YAML.
func invalid(text string, err error) finding.Finding {
	if _, other := sigsyaml.YAMLToJSON([]byte(text)); other != nil {
		err = other // its line is where the parser fails, which other commands report, too
	}
	line, message := object.SyntaxError(err)
	f := finding.Fault("not valid YAML: "+message, "correct the syntax there")
	f.Rule, f.Line = object.InvalidYAML, min(line, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1) // at the end, it is one too large
	return f
}

// keeps reports whether a text still means what it meant before the merge: it has places
// that are not seen as lines, such as braces over several of them. Patches are texts, which
// are merged on their own.
func keeps(before, after any) bool {
	switch before := before.(type) {
	case nil:
		return true
	case map[string]any:
		after, ok := after.(map[string]any)
		for key, value := range before {
			changes := key == "patch" || key == deploy.UIFile || key == "image" && before["name"] == container
			ok = ok && (changes || keeps(value, after[key]))
		}
		return ok
	case []any:
		after, ok := after.([]any)
		ok = ok && len(after) >= len(before)
		for i := range before {
			ok = ok && keeps(before[i], after[i])
		}
		return ok
	}
	return isScript(before, after) || reflect.DeepEqual(before, after)
}

// fail remembers the first error.
func (m *merger) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

func (m *merger) mapping(old, add *yaml.Node) {
	missing := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(add.Content); i += 2 {
		key, value := add.Content[i], add.Content[i+1]
		at := textedit.Index(old, key.Value)
		if at < 0 {
			if m.lacks(old, key, value) {
				missing.Content = append(missing.Content, key, m.withImage(value))
			}
			continue
		}
		m.value(old.Content[at], old.Content[at+1], value)
	}
	if len(missing.Content) == 0 {
		return
	}
	at := len(m.text)
	if n := len(old.Content); n > 0 {
		at = m.end(old.Content[n-2].Line, old.Content[n-2].Column-1, old.Content[n-1].Kind == yaml.SequenceNode)
	}
	m.insert(at, old.Column-1, missing)
}

// lacks reports whether a mapping, which has no key of a name, does not inherit it from
// an anchor either.
func (m *merger) lacks(old, key, add *yaml.Node) bool {
	if !inherits(old, key.Value) {
		return true
	}
	if add.Kind != yaml.ScalarNode {
		m.fail(finding.Fault(fmt.Sprintf("line %d: the value of %s comes from an anchor", old.Line, key.Value), "write out the value"))
	}
	return false
}

// fits reports whether something can be merged into the value of a key.
func (m *merger) fits(key, old, add *yaml.Node) bool {
	switch {
	case add.Kind == yaml.ScalarNode:
		return false
	case old.Kind == yaml.AliasNode:
		m.fail(finding.Fault(fmt.Sprintf("line %d: the value of %s is an alias", old.Line, key.Value), "write out the value"))
		return false
	case old.Tag != "!!null" && old.Kind != add.Kind:
		want := "write a mapping, with a key on each line"
		if add.Kind == yaml.SequenceNode {
			want = "write a list, with an item on each line"
		}
		m.fail(finding.Fault(fmt.Sprintf("line %d: the value of %s has the wrong type", old.Line, key.Value),
			want+"; cmp doctor names the fields of Argo CD that are invalid"))
		return false
	}
	return true
}

// value merges into the value of a key.
func (m *merger) value(key, old, add *yaml.Node) {
	if !m.fits(key, old, add) {
		return
	}
	n := len(m.splices)
	switch {
	case old.Tag == "!!null" || len(old.Content) == 0:
		m.rewrite(key, old, m.withImage(add))
	case add.Kind == yaml.MappingNode:
		m.mapping(old, add)
	default:
		m.items(old, add)
	}
	if m.changedSince(n, old) && old.Style&yaml.FlowStyle != 0 && len(old.Content) > 0 {
		m.splices = m.splices[:n]
		m.rewrite(key, old, inBlock(old))
	}
}

// changedSince reports whether there are more than n changes, which are in a value. One
// with an anchor must not change, since an alias shares it.
func (m *merger) changedSince(n int, old *yaml.Node) bool {
	if len(m.splices) > n && old.Anchor != "" {
		m.fail(finding.Fault(fmt.Sprintf("line %d: the value has an anchor", old.Line), "write out the values that use it"))
	}
	return len(m.splices) > n
}

// items adds the items that are missing, and the fields that an item misses.
func (m *merger) items(old, add *yaml.Node) {
	missing := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range add.Content {
		there := sameItem(old, item)
		n := len(m.splices)
		switch {
		case there == nil:
			missing.Content = append(missing.Content, m.withImage(item))
			continue
		case there.Kind == yaml.AliasNode:
			if m.item(there.Alias, item); len(m.splices) > n {
				m.fail(finding.Fault(fmt.Sprintf("line %d: the item is an alias", there.Alias.Line), "write out the item"))
			}
			continue
		case isPatch(item):
			m.patch(there, item)
		case script(item) != nil:
			m.setScript(there, item)
		default:
			m.item(there, item)
		}
		if m.changedSince(n, there) && there.Style&yaml.FlowStyle != 0 {
			m.splices = m.splices[:n]
			block := strings.TrimSuffix(textedit.Indent(textedit.MustEncode(m.withImage(inBlock(there))), there.Column-1), "\n")
			m.replace(m.offset(there), m.end(there.Line, old.Column-1, false), strings.TrimLeft(block, " ")+"\n")
		}
	}
	if len(missing.Content) > 0 {
		last := old.Content[len(old.Content)-1]
		m.insert(m.end(last.Line, old.Column-1, false), old.Column-1, missing)
	}
}

// item adds the fields that the item of a list misses.
func (m *merger) item(old, add *yaml.Node) {
	missing := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(add.Content); i += 2 {
		key := add.Content[i].Value
		switch is := lookUp(old, key); {
		case is == nil && inherits(old, key):
		case is == nil:
			missing.Content = append(missing.Content, add.Content[i], add.Content[i+1])
		case key == "image" && isSidecar(old):
			m.setImage(is)
		}
	}
	m.mapping(old, m.withImage(missing))
}

// setImage writes the image of the sidecar over another.
func (m *merger) setImage(old *yaml.Node) {
	image, err := m.image(old.Value)
	if err != nil {
		m.fail(err)
		return
	}
	if image == old.Value {
		return
	}
	at := m.offset(old)
	for _, quote := range []string{"", `"`, "'"} {
		if was := quote + old.Value + quote; strings.HasPrefix(m.text[at:], was) {
			m.replace(at, at+len(was), quote+image+quote)
			return
		}
	}
	m.fail(finding.Fault(fmt.Sprintf("line %d: the image cannot be changed", old.Line), "write the image in one line, without an anchor"))
}

// patch merges into an inline patch of a kustomization, which is YAML in a block.
func (m *merger) patch(old, add *yaml.Node) {
	key, text := old.Content[textedit.Index(old, "patch")], lookUp(old, "patch")
	want, err := mapping(lookUp(add, "patch").Value)
	if err != nil {
		m.fail(err)
		return
	}
	merged, err := m.merge(text.Value, want)
	if err != nil {
		m.fail(err)
		return
	}
	if strings.TrimRight(merged, "\n") == strings.TrimRight(text.Value, "\n") {
		return
	}
	if text.Style&yaml.LiteralStyle == 0 {
		m.fail(finding.Fault(fmt.Sprintf("line %d: the patch is not a literal block", text.Line), "write it as patch: |-"))
		return
	}
	from, _ := m.lines.Span(text.Line)
	first := m.text[from:]
	indent := len(first) - len(strings.TrimLeft(first, " "))
	m.replace(from, m.end(key.Line, key.Column-1, false), textedit.Indent(strings.TrimRight(merged, "\n")+"\n", indent))
}

// rewrite writes the value of a key anew, in block style.
func (m *merger) rewrite(key, old, value *yaml.Node) {
	from, to := m.offset(old), m.end(key.Line, key.Column-1, false)
	if old.Tag == "!!null" && old.Value == "" { // the value is missing, and a comment may be in its place
		line, _ := m.lines.Span(key.Line - 1)
		from = line + strings.Index(m.text[line:], ":") + 1
		_, to = m.lines.Span(key.Line - 1)
	}
	from = len(strings.TrimRight(m.text[:from], " "))
	indent := key.Column - 1
	if value.Kind == yaml.MappingNode {
		indent += 2
	}
	remark := ""
	for _, n := range []*yaml.Node{key, old} {
		if n.LineComment != "" {
			remark = " " + n.LineComment
		}
	}
	value.LineComment = ""
	m.replace(from, to, remark+"\n"+textedit.Indent(textedit.MustEncode(value), indent))
}

func (m *merger) insert(at, indent int, n *yaml.Node) {
	m.replace(at, at, textedit.Indent(textedit.MustEncode(n), indent))
}

func (m *merger) replace(from, to int, text string) {
	text = strings.ReplaceAll(text, "\n", textedit.LineBreak(m.text))
	m.splices = append(m.splices, textedit.Splice{From: from, To: to, Text: text})
}

func (m *merger) offset(n *yaml.Node) int {
	at, ok := m.lines.Offset(n.Line, n.Column)
	if !ok {
		m.fail(finding.Fault(fmt.Sprintf("line %d cannot be found again", n.Line), "write the file without tabs"))
	}
	return at
}

// end is the offset behind an entry, see textedit.Lines.End. A closing bracket begins no
// entry, and may be less indented.
func (m *merger) end(line, indent int, list bool) int {
	end, next := m.lines.End(line, indent, list)
	for strings.IndexAny(strings.TrimLeft(m.lines.At(next), " "), "}]") == 0 {
		end, next = m.lines.End(next+1, indent, list)
	}
	return end
}
