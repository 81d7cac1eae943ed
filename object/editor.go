package object

import (
	"errors"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

// errUnusual means that the text cannot be edited in place.
var errUnusual = errors.New("unusual layout")

// editor collects replacements in a text, given its parsed form. It is not textedit.Put, because
// rendering does not parse the result again: most of these edits are known to be right (plain).
type editor struct {
	text    string
	lines   *textedit.Lines
	root    *yaml.Node
	splices []textedit.Splice
	// plain is true if the edit only inserted whole lines, filled empty braces, or
	// replaced a scalar within its line.
	plain bool
	err   error
}

func (e *editor) annotate(all []Annotation) {
	meta := lastValue(e.root, "metadata")
	if meta == nil || meta.Kind != yaml.MappingNode || hasMerge(e.root) {
		e.err = errUnusual
		return
	}
	e.plain = true
	e.detach(meta)
	annotations := lastValue(meta, "annotations")
	switch {
	case annotations == nil && hasMerge(meta):
		e.err = errUnusual
	case annotations == nil:
		lines := []string{"annotations:"}
		for _, entry := range entries(all) {
			lines = append(lines, "  "+entry)
		}
		e.insertEntries(meta, lines, quote("annotations")+": {"+flowEntries(all)+"}")
	case annotations.Kind == yaml.AliasNode && annotations.Alias.Kind != yaml.MappingNode:
		e.err = errUnusual
	case annotations.Kind == yaml.AliasNode:
		e.plain = false
		e.replaceToken(annotations, "*"+annotations.Value, "{<<: *"+annotations.Value+" , "+flowEntries(all)+"}")
	case annotations.Tag == "!!null" && annotations.Anchor != "":
		e.err = errUnusual
	case annotations.Tag == "!!null":
		e.fillNull(meta, annotations, all)
	case annotations.Kind != yaml.MappingNode:
		e.err = errors.New("the annotations are not a mapping")
	default:
		e.setEntries(annotations, all)
	}
}

// setEntries replaces existing entries and adds the others.
func (e *editor) setEntries(annotations *yaml.Node, all []Annotation) {
	e.detach(annotations)
	var added []Annotation
	for _, a := range all {
		old := lastValue(annotations, a.Key)
		if old == nil {
			added = append(added, a)
			continue
		}
		if hasMerge(annotations) { // see insertAfterMerge
			e.err = errUnusual
			return
		}
		e.detach(old)
		e.replaceScalar(old, a.Value)
	}
	switch {
	case added == nil:
	case hasMerge(annotations):
		e.insertAfterMerge(annotations, entries(added))
	default:
		e.insertEntries(annotations, entries(added), flowEntries(added))
	}
}

// insertAfterMerge adds entries after "<<: *alias". Before it, the merged value
// would take precedence: go.yaml.in/yaml/v2, with which Kubernetes reads manifests,
// applies merge keys in text order.
func (e *editor) insertAfterMerge(n *yaml.Node, entries []string) {
	e.plain = false
	last := len(n.Content) - 2
	for n.Content[last].Tag != mergeTag {
		last -= 2
	}
	key, source := n.Content[last], n.Content[last+1]
	if n.Style&yaml.FlowStyle != 0 || source.Kind != yaml.AliasNode || source.Line != key.Line {
		e.err = errUnusual
		return
	}
	_, at := e.lines.Span(key.Line - 1)
	e.splices = append(e.splices, textedit.Splice{From: at, To: at, Text: block(entries, key.Column-1, lineEnd(e.text[:at]))})
}

// lastValue returns the value of a key of the mapping itself.
func lastValue(n *yaml.Node, key string) *yaml.Node {
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if n.Content[i].Value == key && n.Content[i].Tag != mergeTag {
			return n.Content[i+1]
		}
	}
	return nil
}

func hasMerge(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Tag == mergeTag {
			return true
		}
	}
	return false
}

// offset converts a position of the YAML library, which counts characters, to an
// offset in the text.
func (e *editor) offset(n *yaml.Node) int {
	at, ok := e.lines.Offset(n.Line, n.Column)
	if !ok {
		e.err = errUnusual
	}
	return at
}

// content returns the offset of a node after its anchor and tag.
func (e *editor) content(n *yaml.Node) int {
	at := e.offset(n)
	for at < len(e.text) && (e.text[at] == '&' || e.text[at] == '!') {
		e.plain = false
		end := strings.IndexAny(e.text[at:], " \t\r\n")
		if end < 0 {
			e.err = errUnusual
			return at
		}
		at += end
		at += len(e.text[at:]) - len(strings.TrimLeft(e.text[at:], " \t"))
	}
	return at
}

// insertEntries inserts lines before the first entry of a mapping; flow is the
// equivalent in flow style.
func (e *editor) insertEntries(n *yaml.Node, lines []string, flow string) {
	if n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		e.insertFlow(n, flow)
		return
	}
	first := n.Content[0]
	below := first.Line - 1
	indent := strings.Repeat(" ", first.Column-1)
	if below < 1 || !strings.HasPrefix(e.lines.At(below), indent) {
		e.err = errUnusual // the first line, or a key marked with "?"
		return
	}
	// The new line goes above comments, which belong to the first entry.
	for below > 1 && commentOrBlank(e.lines.At(below-1)) {
		below--
	}
	at, _ := e.lines.Span(below)
	e.splices = append(e.splices, textedit.Splice{From: at, To: at, Text: block(lines, len(indent), lineEnd(e.text[:at]))})
}

// block indents lines.
func block(lines []string, indent int, eol string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.Repeat(" ", indent))
		b.WriteString(line)
		b.WriteString(eol)
	}
	return b.String()
}

// lineEnd returns the line break at the end of text.
func lineEnd(text string) string {
	for _, eol := range []string{"\r\n", "\r"} {
		if strings.HasSuffix(text, eol) {
			return eol
		}
	}
	return "\n"
}

func commentOrBlank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// insertFlow inserts an entry after the opening brace, on a line of its own if the
// entries are on separate lines.
func (e *editor) insertFlow(n *yaml.Node, entry string) {
	at := e.content(n)
	if e.err != nil || at >= len(e.text) || e.text[at] != '{' {
		e.err = errUnusual
		return
	}
	at++
	if len(n.Content) > 0 || e.text[at] != '}' {
		e.plain = false // there may be comments between the braces
	}
	if len(n.Content) > 0 {
		entry += ","
		if first := n.Content[0]; first.Line > n.Line {
			entry = "\n" + strings.Repeat(" ", first.Column-1) + entry
		} else {
			entry += " "
		}
	}
	e.splices = append(e.splices, textedit.Splice{From: at, To: at, Text: entry})
}

// fillNull adds the first entries to an empty "annotations:".
func (e *editor) fillNull(meta, null *yaml.Node, all []Annotation) {
	e.plain = false
	flow := "{" + flowEntries(all) + "}"
	if null.Value != "" { // an explicit null or ~
		e.replaceToken(null, null.Value, flow)
		return
	}
	var name *yaml.Node
	for i := 1; i < len(meta.Content); i += 2 {
		if meta.Content[i] == null {
			name = meta.Content[i-1]
		}
	}
	colon := e.offset(name) + len(name.Value)
	if name.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		colon += len(`""`)
	}
	if e.err != nil || colon >= len(e.text) || e.text[colon] != ':' {
		e.err = errUnusual
		return
	}
	if meta.Style&yaml.FlowStyle != 0 {
		e.splices = append(e.splices, textedit.Splice{From: colon + 1, To: colon + 1, Text: " " + flow})
		return
	}
	_, next := e.lines.Span(name.Line - 1)
	e.splices = append(e.splices, textedit.Splice{From: next, To: next, Text: block(entries(all), name.Column-1+2, lineEnd(e.text[:next]))})
}

// replaceToken replaces a token, which must be at the node's position.
func (e *editor) replaceToken(n *yaml.Node, token, with string) {
	at := e.content(n)
	if e.err != nil || !strings.HasPrefix(e.text[at:], token) {
		e.err = errUnusual
		return
	}
	e.splices = append(e.splices, textedit.Splice{From: at, To: at + len(token), Text: with})
}

// replaceScalar replaces a single-line scalar, and keeps single quotes.
func (e *editor) replaceScalar(n *yaml.Node, value string) {
	if n.Kind == yaml.AliasNode {
		e.plain = false
		e.replaceToken(n, "*"+n.Value, quote(value))
		return
	}
	if n.Kind != yaml.ScalarNode {
		e.err = errors.New("the annotation is not a single value")
		return
	}
	at := e.content(n)
	if e.err != nil {
		return
	}
	with := quote(value)
	end := at
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		end, with = closingQuote(e.text, at, '\''), "'"+value+"'"
	case n.Style&yaml.DoubleQuotedStyle != 0:
		end = closingQuote(e.text, at, '"')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || !strings.HasPrefix(e.text[at:], n.Value):
		e.err = errUnusual
		return
	case n.Value == "": // "key:" without a value
		e.err = errUnusual
		return
	default:
		end = at + len(n.Value)
	}
	if end < 0 {
		e.err = errUnusual
		return
	}
	e.splices = append(e.splices, textedit.Splice{From: at, To: end, Text: with})
}

// closingQuote returns the offset after the quoted scalar that starts at at, or -1.
func closingQuote(text string, at int, mark byte) int {
	for i := at + 1; i < len(text); i++ {
		switch {
		case mark == '"' && text[i] == '\\':
			i++
		case text[i] == mark && mark == '\'' && i+1 < len(text) && text[i+1] == mark:
			i++
		case text[i] == mark:
			return i + 1
		}
	}
	return -1
}

// detach separates a node that is about to change from its aliases: the first alias
// becomes the owner of the anchor, with a copy of the old value.
func (e *editor) detach(n *yaml.Node) {
	if n.Anchor == "" {
		return
	}
	first := firstAlias(e.root, n)
	if first == nil {
		return
	}
	e.plain = false
	copied, ok := flow(Value{n})
	if !ok {
		e.err = errUnusual
		return
	}
	at := e.offset(n)
	anchor := "&" + n.Anchor
	for at < len(e.text) && e.text[at] == '!' { // a tag may precede it
		at += len(e.text[at:]) - len(strings.TrimLeft(strings.TrimLeftFunc(e.text[at:], notSpace), " \t"))
	}
	if e.err != nil || !strings.HasPrefix(e.text[at:], anchor) {
		e.err = errUnusual
		return
	}
	end := at + len(anchor)
	for end < len(e.text) && e.text[end] == ' ' {
		end++
	}
	for at > 0 && e.text[at-1] == ' ' && strings.ContainsAny(e.text[end:end+1], "\r\n") {
		at-- // removes the space after the colon
	}
	e.splices = append(e.splices, textedit.Splice{From: at, To: end, Text: ""})
	e.replaceToken(first, "*"+first.Value, anchor+" "+copied)
}

func notSpace(r rune) bool { return r != ' ' && r != '\t' && r != '\n' }

// firstAlias returns the first alias of target in the document.
func firstAlias(n, target *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		if n.Alias == target {
			return n
		}
		return nil
	}
	for _, c := range n.Content {
		if a := firstAlias(c, target); a != nil {
			return a
		}
	}
	return nil
}
