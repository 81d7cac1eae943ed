package object

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/finding"
)

// Annotate returns the object with an annotation set in its text: replaced
// where it is, added to metadata.annotations, which is created if need be, in
// the style (block or flow) of what is there. Nothing else in the text
// changes, and setting what is already set changes nothing at all.
//
// Anchors are followed: when the annotations are shared with another place
// through an alias, that other place keeps what it had.
//
// Only documents of a shape that no tool writes (metadata behind an alias or a
// merge key, keys marked with "?") are written anew, with their comments but
// in the layout of the YAML library.
func (o Object) Annotate(key, value string) (Object, error) {
	return o.AnnotateAll([]Annotation{{key, value}})
}

// Annotation is an entry of metadata.annotations.
type Annotation struct{ Key, Value string }

// AnnotateAll sets several annotations, which must have different keys, in one
// edit of the text.
func (o Object) AnnotateAll(all []Annotation) (Object, error) {
	var missing []Annotation
	for _, a := range all {
		if v := o.Get("metadata", "annotations", a.Key); !v.IsText() || v.Text() != a.Value {
			missing = append(missing, a)
		}
	}
	if missing == nil {
		return o, nil
	}
	doc, err := annotate(o.doc.text, o.doc.node(), missing)
	if err != nil {
		return o, finding.Finding{Severity: finding.Error, Rule: "cannot-annotate", File: o.File, Line: o.Line, Object: o.ID.String(),
			Field: "metadata.annotations", Message: err.Error(), Remedy: "write metadata as a plain mapping"}
	}
	o.doc = doc
	return o, nil
}

// errUnusual says that the text cannot be edited in place.
var errUnusual = errors.New("unusual layout")

func annotate(text string, root *yaml.Node, all []Annotation) (*document, error) {
	e := editor{text: text, lines: lines{text: text}, root: root}
	e.annotate(all)
	if e.err == nil {
		edited := e.apply()
		if e.plain {
			return &document{text: edited, before: root, added: all}, nil
		}
		if root, ok := holds(edited, all); ok {
			return &document{text: edited, root: root}, nil
		}
	}
	edited, err := rewrite(text, all)
	return &document{text: edited}, err
}

// holds checks the result of an edit that was more than lines put in, and
// returns its parsed form.
func holds(text string, all []Annotation) (*yaml.Node, bool) {
	root, err := parseText(text)
	if err != nil {
		return nil, false
	}
	for _, a := range all {
		if v := (Value{root}).Get("metadata", "annotations", a.Key); !v.IsText() || v.Text() != a.Value {
			return nil, false
		}
	}
	return root, true
}

// annotatedView is a parsed form as a plain edit leaves it: new entries stand
// before the others. It shares with the one before what is not about annotations.
func annotatedView(root *yaml.Node, all []Annotation) *yaml.Node {
	old := lastValue(lastValue(root, "metadata"), "annotations")
	if old == nil || old.Kind != yaml.MappingNode {
		old = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	entries := map[string]*yaml.Node{}
	var keys []string
	for _, a := range all {
		keys = append(keys, a.Key)
		entries[a.Key] = scalar(a.Value)
	}
	annotations := with(old, keys, entries)
	meta := with(lastValue(root, "metadata"), []string{"annotations"}, map[string]*yaml.Node{"annotations": annotations})
	return with(root, []string{"metadata"}, map[string]*yaml.Node{"metadata": meta})
}

// with is a copy of a mapping with the values of keys set where lastValue finds
// them, or put before all others.
func with(n *yaml.Node, keys []string, values map[string]*yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, key := range keys {
		if lastValue(n, key) == nil {
			c.Content = append(c.Content, scalar(key), values[key])
		}
	}
	added := len(c.Content)
	c.Content = append(c.Content, n.Content...)
	for _, key := range keys {
		for i := len(c.Content) - 2; i >= added; i -= 2 {
			if c.Content[i].Value == key && c.Content[i].Tag != mergeTag {
				c.Content[i+1] = values[key]
				break
			}
		}
	}
	return &c
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// entry is an annotation as a line of a block mapping, and flowEntries several
// as they stand in a flow mapping.
func (a Annotation) entry() string { return a.Key + ": " + quote(a.Value) }

func entries(all []Annotation) []string {
	lines := make([]string, len(all))
	for i, a := range all {
		lines[i] = a.entry()
	}
	return lines
}

func flowEntries(all []Annotation) string {
	parts := make([]string, len(all))
	for i, a := range all {
		parts[i] = quote(a.Key) + ": " + quote(a.Value)
	}
	return strings.Join(parts, ", ")
}

// editor collects replacements in a text whose parsed form is known.
type editor struct {
	text    string
	lines   lines
	root    *yaml.Node
	splices []splice
	// plain is true when the edit only put whole lines between others, filled
	// empty braces, or replaced a scalar within its line.
	plain bool
	err   error
}

type splice struct {
	from, to int
	text     string
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

// setEntries replaces the entries that are there and adds the others.
func (e *editor) setEntries(annotations *yaml.Node, all []Annotation) {
	e.detach(annotations)
	var added []Annotation
	for _, a := range all {
		old := lastValue(annotations, a.Key)
		if old == nil {
			added = append(added, a)
			continue
		}
		if hasMerge(annotations) { // see insertBehindMerge
			e.err = errUnusual
			return
		}
		e.detach(old)
		e.replaceScalar(old, a.Value)
	}
	switch {
	case added == nil:
	case hasMerge(annotations):
		e.insertBehindMerge(annotations, entries(added))
	default:
		e.insertEntries(annotations, entries(added), flowEntries(added))
	}
}

// insertBehindMerge adds entries below "<<: *alias". In front of it the
// merged value would win: go.yaml.in/yaml/v2, with which Kubernetes reads
// manifests, takes merge keys in the order they are written.
func (e *editor) insertBehindMerge(n *yaml.Node, entries []string) {
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
	_, at := e.lines.span(key.Line - 1)
	e.splices = append(e.splices, splice{at, at, block(entries, key.Column-1, lineEnd(e.text[:at]))})
}

// lastValue finds the value of a key written in the mapping itself.
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

// offset converts a position of the YAML library, which counts characters,
// into an offset of the text.
func (e *editor) offset(n *yaml.Node) int {
	at, _ := e.lines.span(n.Line - 1)
	for range n.Column - 1 {
		if at >= len(e.text) {
			e.err = errUnusual
			return 0
		}
		_, size := utf8.DecodeRuneInString(e.text[at:])
		at += size
	}
	return at
}

// content returns the offset of a node behind its anchor and tag.
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

// insertEntries puts lines in front of the first entry of a mapping; flow is the
// same in flow style.
func (e *editor) insertEntries(n *yaml.Node, lines []string, flow string) {
	if n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		e.insertFlow(n, flow)
		return
	}
	first := n.Content[0]
	below := first.Line - 1
	indent := strings.Repeat(" ", first.Column-1)
	if below < 1 || !strings.HasPrefix(e.lines.at(below), indent) {
		e.err = errUnusual // the first line, or a key marked with "?"
		return
	}
	// The new line goes above comments, which are about the first entry.
	for below > 1 && commentOrBlank(e.lines.at(below-1)) {
		below--
	}
	at, _ := e.lines.span(below)
	e.splices = append(e.splices, splice{at, at, block(lines, len(indent), lineEnd(e.text[:at]))})
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

// lineEnd returns the line break with which text ends.
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

// insertFlow adds an entry behind the opening brace, on a line of its own
// where the entries stand on lines.
func (e *editor) insertFlow(n *yaml.Node, entry string) {
	at := e.content(n)
	if e.err != nil || at >= len(e.text) || e.text[at] != '{' {
		e.err = errUnusual
		return
	}
	at++
	if len(n.Content) > 0 || e.text[at] != '}' {
		e.plain = false // comments may stand between the braces
	}
	if len(n.Content) > 0 {
		entry += ","
		if first := n.Content[0]; first.Line > n.Line {
			entry = "\n" + strings.Repeat(" ", first.Column-1) + entry
		} else {
			entry += " "
		}
	}
	e.splices = append(e.splices, splice{at, at, entry})
}

// fillNull gives an empty "annotations:" its first entries.
func (e *editor) fillNull(meta, null *yaml.Node, all []Annotation) {
	e.plain = false
	flow := "{" + flowEntries(all) + "}"
	if null.Value != "" { // written out, as null or ~
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
		e.splices = append(e.splices, splice{colon + 1, colon + 1, " " + flow})
		return
	}
	_, next := e.lines.span(name.Line - 1)
	e.splices = append(e.splices, splice{next, next, block(entries(all), name.Column-1+2, lineEnd(e.text[:next]))})
}

// replaceToken replaces a token that must stand at the node's place.
func (e *editor) replaceToken(n *yaml.Node, token, with string) {
	at := e.content(n)
	if e.err != nil || !strings.HasPrefix(e.text[at:], token) {
		e.err = errUnusual
		return
	}
	e.splices = append(e.splices, splice{at, at + len(token), with})
}

// replaceScalar replaces a scalar of one line, keeping single quotes.
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
	case n.Value == "": // "key:" with nothing behind it
		e.err = errUnusual
		return
	default:
		end = at + len(n.Value)
	}
	if end < 0 {
		e.err = errUnusual
		return
	}
	e.splices = append(e.splices, splice{at, end, with})
}

// closingQuote returns the offset behind the quoted scalar that starts at at,
// or -1.
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

// detach frees a node that is about to change from the aliases that share it:
// the first alias becomes the owner of the anchor, with a copy of the value as
// it was.
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
	for at < len(e.text) && e.text[at] == '!' { // a tag may stand before it
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
		at-- // nothing is left behind the colon
	}
	e.splices = append(e.splices, splice{at, end, ""})
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

// apply returns the text with the replacements made.
func (e *editor) apply() string {
	slices.SortStableFunc(e.splices, func(a, b splice) int { return a.from - b.from })
	size := len(e.text)
	for _, s := range e.splices {
		size += len(s.text)
	}
	var b strings.Builder
	b.Grow(size)
	done := 0
	for _, s := range e.splices {
		b.WriteString(e.text[done:s.from])
		b.WriteString(s.text)
		done = s.to
	}
	b.WriteString(e.text[done:])
	return b.String()
}

// quote writes a string as JSON does, which is YAML's double-quoted style.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// flow writes a value in one line, and reports whether that says all of it: a
// value with a tag of its own cannot be copied.
func flow(v Value) (string, bool) {
	n := v.resolved()
	if n.Style&yaml.TaggedStyle != 0 {
		return "", false
	}
	switch n.Kind {
	case yaml.MappingNode:
		var parts []string
		for _, f := range v.Fields() {
			key, okKey := flow(Value{f.key})
			text, ok := flow(f.Value)
			if !ok || !okKey {
				return "", false
			}
			parts = append(parts, key+": "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	case yaml.SequenceNode:
		var parts []string
		for _, item := range v.Items() {
			text, ok := flow(item)
			if !ok {
				return "", false
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	_, old := oldBool(n)
	switch {
	case n.Tag == "!!null":
		return "null", true
	case n.Tag == "!!str" && !old:
		return quote(n.Value), true
	}
	return n.Value, true
}

// rewrite sets the annotations in the parsed document and writes all of it.
func rewrite(text string, all []Annotation) (string, error) {
	var doc yaml.Node
	if err := unmarshal(text, &doc); err != nil {
		return "", err
	}
	root := expand(doc.Content[0])
	flattenMerges(root)
	meta := lastValue(root, "metadata")
	if meta == nil || meta.Kind != yaml.MappingNode {
		return "", errors.New("the object has no metadata")
	}
	flattenMerges(meta)
	annotations := lastValue(meta, "annotations")
	if annotations == nil {
		annotations = &yaml.Node{Kind: yaml.MappingNode}
		meta.Content = append(meta.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "annotations"}, annotations)
	}
	if annotations.Tag == "!!null" {
		*annotations = yaml.Node{Kind: yaml.MappingNode}
	}
	if annotations.Kind != yaml.MappingNode {
		return "", errors.New("the annotations are not a mapping")
	}
	flattenMerges(annotations)
	for _, a := range slices.Backward(all) {
		scalar := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: a.Value}
		if old := lastValue(annotations, a.Key); old != nil {
			*old = *scalar
		} else {
			annotations.Content = append([]*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: a.Key}, scalar}, annotations.Content...)
		}
	}
	return encode(root)
}

// flattenMerges replaces the merge keys of a mapping by what they bring in.
func flattenMerges(n *yaml.Node) {
	if n.Kind != yaml.MappingNode || !hasMerge(n) {
		return
	}
	var content []*yaml.Node
	for _, f := range (Value{n}).Fields() {
		content = append(content, f.key, f.Value.node)
	}
	n.Content = content
}
