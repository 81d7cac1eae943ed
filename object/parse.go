package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Parse parses the manifests in text: YAML documents or JSON, in text order, with
// lists replaced by their items. file and line are the start of text, for messages;
// line is 0 for the output of a template, where line numbers would be misleading.
//
// The error joins one finding for each document that is not a Kubernetes object;
// the valid objects are returned with it.
//
// CRDs are parsed without their validation schemas, which are nine tenths of the
// text of most operators and do not affect the order. They remain in the text.
func Parse(file string, line int, text string) ([]Object, error) { return parse(file, line, text, nil) }

func parse(file string, line int, text string, shared *Sharing) ([]Object, error) {
	chunks := split(text)
	parsed, faults := make([][]Object, len(chunks)), make([]error, len(chunks))
	Each(len(chunks), func(i int) {
		d := sourceDocument{file: file, text: chunks[i].text, start: chunks[i].line, shared: shared}
		if line > 0 {
			d.line = line + chunks[i].line - 1
		}
		parsed[i], faults[i] = d.objects()
	})
	err := errors.Join(faults...)
	if err != nil && IsBinary([]byte(text)) { // lines that look like separators divide it by chance
		return nil, sourceDocument{file: file, line: line}.fault(InvalidYAML, 1, "binary file, not YAML", "remove it from the manifests")
	}
	return slices.Concat(parsed...), err
}

// Each calls work for every number below n, on all CPUs. Parsing YAML takes most of
// the time after a chart is rendered. A panic is passed to the caller, which may be
// a server that must continue.
func Each(n int, work func(i int)) {
	if n == 1 {
		work(0)
		return
	}
	var workers sync.WaitGroup
	var next atomic.Int64
	var panicked atomic.Value
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					panicked.Store(fmt.Sprintf("%v\n%s", r, debug.Stack()))
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	workers.Wait()
	if r := panicked.Load(); r != nil {
		panic(r) // in the goroutine of the caller, which may recover
	}
}

// sourceDocument is a document with its place.
type sourceDocument struct {
	file string
	line int // 0 for the output of a template
	text string
	// start is the line in the whole text at which the document starts.
	start int
	// shared has equal documents; it may be nil.
	shared *Sharing
}

// IsBinary reports whether invalid YAML is binary: it contains zero bytes and is
// neither UTF-8 nor, by its byte order mark, UTF-16.
func IsBinary(text []byte) bool {
	return bytes.IndexByte(text, 0) >= 0 && !utf8.Valid(text) && !bytes.HasPrefix(text, []byte("\xff\xfe")) &&
		!bytes.HasPrefix(text, []byte("\xfe\xff"))
}

func (d sourceDocument) objects() ([]Object, error) {
	if !strings.HasSuffix(d.text, "\n") {
		// All readers of manifests in Kubernetes and Helm do this; otherwise a
		// trailing block scalar would differ.
		d.text += "\n"
	}
	if known := d.shared.find(d.text); known != nil {
		return d.shares(known)
	}
	root, err := parseText(d.text)
	if err != nil {
		line, message := SyntaxError(err)
		if _, other := sigsyaml.YAMLToJSON([]byte(d.text)); other != nil {
			// This one says where its parser fails, the other one where the mapping or list there begins.
			if at, same := SyntaxError(other); same == message && strings.HasPrefix(message, "did not find expected") {
				line = at
			}
		}
		line = min(line, strings.Count(d.text, "\n")) // at the end, the line is one too large
		about, remedy := message, "correct the syntax there"
		if errors.As(err, new(trailing)) {
			remedy = "separate the objects with a line \"---\", or remove what is not an object"
		} else if said := syntaxError.FindStringSubmatch(err.Error())[2]; isUnknownAnchor(said) {
			remedy = "quote the value, or define the anchor in the same document"
			if before, _, found := strings.Cut(d.text, "*"+strings.TrimSuffix(strings.TrimPrefix(said, "unknown anchor '"), "' referenced")); found {
				line = 1 + strings.Count(before, "\n") // the library names none
			}
		} else if at, culprit, fix := Culprit(d.text, line, message); culprit != "" {
			line, message, remedy = at, culprit, fix
			about = message
		}
		if d.line == 0 && line > 0 {
			message += fmt.Sprintf(" (line %d of the rendered text%s)", max(d.start, 1)+line-1, near(d.text, line))
		}
		f := d.fault(InvalidYAML, max(line, 1), "not valid YAML: "+message, remedy)
		f.About = about
		return nil, f
	}
	if root == nil {
		return nil, nil
	}
	v := Value{root}
	if !v.IsMap() {
		return nil, d.fault("invalid-yaml", root.Line, "the document is "+kindName(v)+", not a Kubernetes object",
			"write a mapping with apiVersion, kind and metadata.name")
	}
	if err := d.checkSeparator(v); err != nil {
		return nil, err
	}
	if isList(v) {
		return d.unfold(v)
	}
	if isNullList(v) {
		return nil, nil
	}
	if v.Get("kind").Text() == "List" && v.Get("apiVersion").Text() == "v1" && !v.Get("items").Exists() {
		return nil, d.fault("invalid-yaml", v.Line(), "the List has no items", "write its objects in a list under items")
	}
	return d.shares(&document{text: d.text, root: root})
}

// shares returns the object with a parsed document that others may share.
func (d sourceDocument) shares(doc *document) ([]Object, error) {
	o, err := d.object(Value{doc.root})
	if err != nil {
		return nil, err
	}
	if doc.edits == nil {
		doc = d.shared.add(doc)
	}
	o.doc = doc
	return []Object{o}, nil
}

var (
	keyLine    = lazyregexp.New(`^[ -]*["']?([A-Za-z][\w./-]*)["']?:(?:\s|$)`)
	secretLine = lazyregexp.New(`(?m)^\s*["']?kind["']?:\s*["']?Secret\b`)
)

// near returns the last key at or above a line, for a text that users cannot open.
// For a Secret it returns none: text that looks like a key may be part of a value.
func near(text string, line int) string {
	if secretLine.MatchString(text) {
		return ""
	}
	all := strings.Split(text, "\n")
	for _, l := range slices.Backward(all[:min(line, len(all))]) {
		if m := keyLine.FindStringSubmatch(l); m != nil {
			return ", near " + m[1] + ":"
		}
	}
	return ""
}

// object checks the required fields of a manifest and reports all that are missing.
func (d sourceDocument) object(v Value) (Object, error) {
	apiVersion, kind, meta := v.Get("apiVersion"), v.Get("kind"), v.Get("metadata")
	name, generate := meta.Get("name"), meta.Get("generateName")
	var missing []string
	if apiVersion.Text() == "" {
		missing = append(missing, "apiVersion")
	}
	if kind.Text() == "" {
		missing = append(missing, "kind")
	}
	if name.Text() == "" && generate.Text() == "" {
		missing = append(missing, "metadata.name")
	}
	if missing != nil {
		f := d.fault(Incomplete, v.Line(), "the manifest lacks "+strings.Join(missing, ", "), AddFields)
		f.About = strings.Join(missing, ", ")
		if key, right := otherCase(v, missing); key != "" {
			f.Remedy = "rename " + key + " to " + right
		}
		if kind.Text() != "" {
			f.Object = strings.TrimSpace(displayKind(kind.Text()) + " " + name.Text())
		}
		return Object{}, f
	}
	if err := d.checkText(meta, strings.TrimSpace(displayKind(kind.Text())+" "+name.Text())); err != nil {
		return Object{}, err
	}
	o := Object{APIVersion: apiVersion.Text(), File: d.file, Line: d.line}
	group := ""
	if g, _, ok := strings.Cut(o.APIVersion, "/"); ok {
		group = g
	}
	o.ID = ID{Group: group, Kind: kind.Text(), Namespace: meta.Get("namespace").Text(), Name: name.Text()}
	if o.ID.Name == "" {
		o.Generated = true
		o.ID.Name = generate.Text() + "*"
	}
	return o, nil
}

// checkText reports labels and annotations that are not mappings, and fields that must be
// strings but that YAML reads as another type. The API server refuses such an object, and
// Argo CD drops all of its annotations if one is a number, such as a wave without quotes.
func (d sourceDocument) checkText(meta Value, object string) error {
	var faults []error
	check := func(field string, v Value) {
		if !v.Exists() || v.IsText() {
			return
		}
		f := d.fault("invalid-yaml", v.Line(), "must be a string, not "+kindName(v), "write a string")
		if v.isScalar() && (object == "Secret" || strings.HasPrefix(object, "Secret ")) {
			f.Message, f.Remedy = "without quotes, the value is not a string in YAML, but this field needs one", "quote it"
		} else if v.isScalar() {
			f.Message = "YAML reads " + v.Text() + " as " + readAs(v) + ", but this field must be a string"
			if readAs(v) == v.Text() {
				f.Message = v.Text() + " without quotes is not a string in YAML, but this field needs one"
			}
			f.Remedy = "quote it: " + quote(v.Text())
		}
		f.Object, f.Field = object, "metadata."+field
		faults = append(faults, f)
	}
	for _, field := range []string{"name", "generateName", "namespace"} {
		check(field, meta.Get(field))
	}
	for _, field := range []string{"labels", "annotations"} {
		entries := meta.Get(field)
		if entries.Exists() && !entries.IsMap() {
			f := d.fault("invalid-yaml", entries.Line(), "must be a mapping, not "+kindName(entries), "write "+field+" as a mapping")
			f.Object, f.Field = object, "metadata."+field
			faults = append(faults, f)
		}
		for _, entry := range entries.Fields() {
			check(field+"["+entry.Key+"]", entry.Value)
		}
	}
	return errors.Join(faults...)
}

// readAs returns how Kubernetes reads a scalar that is not a string: true, false or a
// number.
func readAs(v Value) string {
	switch {
	case v.True():
		return "true"
	case v.resolved().Tag == "!!int", v.resolved().Tag == "!!float":
		return "a number"
	}
	return "false"
}

func (d sourceDocument) fault(rule finding.Rule, lineInDoc int, message, remedy string) finding.Finding {
	f := finding.Finding{Severity: finding.Error, Rule: rule, File: d.file, Message: message, Remedy: remedy}
	if d.line > 0 && lineInDoc > 0 {
		f.Line = d.line + lineInDoc - 1
	} else {
		f.Line = d.line
	}
	return f
}

// parseText parses one document. The node is nil if there are only comments and
// blank lines.
func parseText(text string) (*yaml.Node, error) {
	if !utf8.ValidString(text) {
		// The library would report this, but does not get the whole text, and reads
		// UTF-16, which the response cannot contain.
		line := 1 + strings.Count(text[:len(text)-len(fromInvalid(text))], "\n")
		return nil, fmt.Errorf("yaml: line %d: the text is not UTF-8", line)
	}
	var doc yaml.Node
	short, blocks := withoutBlocks(withoutSchemas(text), minBlock)
	err := unmarshal(short, &doc)
	if len(short) != len(text) && (err != nil || !restore(&doc, blocks)) {
		// The removed part may have contained an anchor that the rest uses.
		doc = yaml.Node{}
		err = unmarshal(text, &doc)
	}
	if err != nil || len(doc.Content) == 0 {
		return nil, err
	}
	if err := checkAliases(text, &doc); err != nil {
		return nil, err
	}
	if key := notScalar(&doc); key != nil {
		return nil, fmt.Errorf("yaml: line %d: a key is a mapping or a list", key.Line)
	}
	if root := doc.Content[0]; root.Tag != "!!null" || root.Kind != yaml.ScalarNode {
		return root, nil
	}
	return nil, nil
}

// notScalar returns a key that is a mapping or list, such as what a template prints a value with:
// JSON has none, so that all other readers refuse it.
func notScalar(n *yaml.Node) *yaml.Node {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (c.Kind == yaml.MappingNode || c.Kind == yaml.SequenceNode) {
			return c
		}
		if key := notScalar(c); key != nil {
			return key
		}
	}
	return nil
}

// fromInvalid returns the rest of a text from the first byte that is not UTF-8.
func fromInvalid(text string) string {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return text[i:]
		}
	}
	return ""
}

// unmarshal converts panics of the library on malformed input to errors.
func unmarshal(text string, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // only blank lines and comments
		}
		return err
	}
	// The text contains no "---", so a second document can only follow a root in
	// braces or quotes. Argo CD refuses it in JSON files; kubectl reads it in some
	// cases. Ignoring it would lose it.
	var more yaml.Node
	err = decoder.Decode(&more)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil || strings.Contains(err.Error(), "<document start>") {
		return trailing{more.Line, err}
	}
	return err
}

// trailing is the error for text after the end of a document.
type trailing struct {
	line int
	err  error // of the parser, which may contain the line
}

func (t trailing) Error() string {
	line := t.line
	if t.err != nil {
		line, _ = SyntaxError(t.err)
	}
	return fmt.Sprintf("yaml: line %d: unexpected text after the end of the object", max(line, 1))
}

func kindName(v Value) string {
	switch {
	case v.IsList():
		return string(List)
	case v.IsMap():
		return string(Mapping)
	}
	return "a single value"
}
