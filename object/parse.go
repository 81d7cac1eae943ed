package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Parse reads the manifests in text: YAML documents or JSON, lists unfolded
// into their items, in the order they are written. file and line say where
// text starts, for messages; line is 0 for the output of a template, whose
// line numbers would mislead.
//
// The error joins one finding for each document that is no Kubernetes object;
// the objects that could be read are returned with it.
//
// A CustomResourceDefinition is read without its validation schemas, which
// are nine tenths of the text of most operators and say nothing about order.
// They stay in the text; what they say is not looked at.
func Parse(file string, line int, text string) ([]Object, error) {
	chunks := split(text)
	parsed, faults := make([][]Object, len(chunks)), make([]error, len(chunks))
	each(len(chunks), func(i int) {
		d := located{file: file, text: chunks[i].text, start: chunks[i].line}
		if line > 0 {
			d.line = line + chunks[i].line - 1
		}
		parsed[i], faults[i] = d.objects()
	})
	return slices.Concat(parsed...), errors.Join(faults...)
}

// each calls work for every number below n, on all processors. Reading YAML is
// most of what is done after a chart is rendered. A panic reaches the caller,
// who may be a server that must live on.
func each(n int, work func(i int)) {
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
		panic(r) // on, in the goroutine of the caller, who may recover
	}
}

// located is one document and the place it came from.
type located struct {
	file string
	line int // 0: the text is the output of a template
	text string
	// start is the line of the whole text on which the document starts.
	start int
}

// IsBinary reports whether what is not valid YAML is not a text at all: it has zero bytes
// and is neither UTF-8 nor, by its byte order mark, UTF-16.
func IsBinary(text []byte) bool {
	return bytes.IndexByte(text, 0) >= 0 && !utf8.Valid(text) && !bytes.HasPrefix(text, []byte("\xff\xfe")) && !bytes.HasPrefix(text, []byte("\xfe\xff"))
}

func (d located) objects() ([]Object, error) {
	if !strings.HasSuffix(d.text, "\n") {
		// Every reader of manifests in Kubernetes and Helm ends the last
		// line, too; without it a trailing block scalar would differ.
		d.text += "\n"
	}
	root, err := parseText(d.text)
	if err != nil && IsBinary([]byte(d.text)) {
		return nil, d.fault(InvalidYAML, 1, "binary file, not YAML", "remove it from the manifests")
	}
	if err != nil {
		line, message := SyntaxError(err)
		line = min(line, strings.Count(d.text, "\n")) // the end is a line too far
		remedy := "correct the syntax there"
		if errors.As(err, new(trailing)) {
			remedy = "separate the objects with a line \"---\", or remove what is not an object"
		}
		if d.line == 0 && line > 0 {
			message += fmt.Sprintf(" (line %d of the rendered text%s)", max(d.start, 1)+line-1, near(d.text, line))
		}
		return nil, d.fault(InvalidYAML, max(line, 1), "not valid YAML: "+message, remedy)
	}
	if root == nil {
		return nil, nil
	}
	v := Value{root}
	if !v.IsMap() {
		return nil, d.fault("not-an-object", root.Line, "the document is "+kindName(v)+", not a Kubernetes object",
			"write a mapping with apiVersion, kind and metadata.name")
	}
	if err := d.glued(v); err != nil {
		return nil, err
	}
	if isList(v) {
		return d.unfold(v)
	}
	if isNullList(v) {
		return nil, nil
	}
	if v.Get("kind").Text() == "List" && v.Get("apiVersion").Text() == "v1" {
		return nil, d.fault("not-an-object", v.Line(), "the List has no items", "write its objects in a list under items")
	}
	o, err := d.object(v)
	if err != nil {
		return nil, err
	}
	return []Object{o}, nil
}

var (
	keyLine    = regexp.MustCompile(`^[ -]*["']?([A-Za-z][\w./-]*)["']?:(?:\s|$)`)
	secretLine = regexp.MustCompile(`(?m)^\s*["']?kind["']?:\s*["']?Secret\b`)
)

// near names the last key at or above a line, for a text that nobody can open.
// Of a Secret it names none: what looks like a key may be a part of a value.
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

// object checks what every manifest must have and reports all that is missing.
func (d located) object(v Value) (Object, error) {
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
		f := d.fault(Incomplete, v.Line(), "the manifest has no "+strings.Join(missing, ", no "), "add it, or keep the file out of the component")
		if kind.Text() != "" {
			f.Object = strings.TrimSpace(shownKind(kind.Text()) + " " + name.Text())
		}
		return Object{}, f
	}
	if err := d.checkText(meta, strings.TrimSpace(shownKind(kind.Text())+" "+name.Text())); err != nil {
		return Object{}, err
	}
	o := Object{APIVersion: apiVersion.Text(), File: d.file, Line: d.line, doc: &document{text: d.text, root: v.node}}
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

// checkText reports what Kubernetes wants as text and YAML reads as something
// else. The API server refuses such an object, and Argo CD drops all of its
// annotations, the wave among them. The wave itself may be a number: it is
// written anew.
func (d located) checkText(meta Value, object string) error {
	var faults []error
	check := func(field string, v Value) {
		if !v.Exists() || v.IsText() {
			return
		}
		f := d.fault("not-text", v.Line(), "got "+kindName(v)+", want text", "write text")
		if v.isScalar() && object != "Secret" && !strings.HasPrefix(object, "Secret ") {
			f.Message = "YAML reads " + v.Text() + " as " + readAs(v) + ", and this must be text"
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
		for _, entry := range meta.Get(field).Fields() {
			if entry.Key != SyncWave {
				check(field+"["+entry.Key+"]", entry.Value)
			}
		}
	}
	return errors.Join(faults...)
}

// readAs says what Kubernetes takes a scalar for that is no text.
func readAs(v Value) string {
	switch {
	case v.True():
		return "true"
	case v.resolved().Tag == "!!int", v.resolved().Tag == "!!float":
		return "a number"
	}
	return "false"
}

func (d located) fault(rule string, lineInDoc int, message, remedy string) finding.Finding {
	f := finding.Finding{Severity: finding.Error, Rule: rule, File: d.file, Message: message, Remedy: remedy}
	if d.line > 0 && lineInDoc > 0 {
		f.Line = d.line + lineInDoc - 1
	} else {
		f.Line = d.line
	}
	return f
}

// parseText parses one document. The node is nil when there is nothing but
// comments and blank lines.
func parseText(text string) (*yaml.Node, error) {
	if !utf8.ValidString(text) {
		// The library would say so, but is not shown all, and reads UTF-16, which
		// can be put into no answer.
		line := 1 + strings.Count(text[:len(text)-len(fromInvalid(text))], "\n")
		return nil, fmt.Errorf("yaml: line %d: the text is not UTF-8", line)
	}
	var doc yaml.Node
	short, blocks := withoutBlocks(withoutSchemas(text), leastBlock)
	err := unmarshal(short, &doc)
	if len(short) != len(text) && (err != nil || !restore(&doc, blocks)) {
		// What was left out may have held an anchor that the rest uses.
		doc = yaml.Node{}
		err = unmarshal(text, &doc)
	}
	if err != nil || len(doc.Content) == 0 {
		return nil, err
	}
	if err := checkAliases(text, &doc); err != nil {
		return nil, err
	}
	if root := doc.Content[0]; root.Tag != "!!null" || root.Kind != yaml.ScalarNode {
		return root, nil
	}
	return nil, nil
}

// fromInvalid is the rest of a text from the first byte that is no UTF-8.
func fromInvalid(text string) string {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return text[i:]
		}
	}
	return ""
}

// unmarshal turns the panics with which the library answers some malformed
// input into errors.
func unmarshal(text string, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // blank lines and comments
		}
		return err
	}
	// The text holds no "---", so a second document can only be what follows
	// a root in braces or quotes. Argo CD refuses it, too, in JSON files;
	// kubectl reads it in some cases. Passed over it would be lost.
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

// trailing says that text follows behind the end of a document.
type trailing struct {
	line int
	err  error // of the parser, which may know the line
}

func (t trailing) Error() string {
	line := t.line
	if t.err != nil {
		line, _ = SyntaxError(t.err)
	}
	return fmt.Sprintf("yaml: line %d: there is more text behind the end of the object", max(line, 1))
}

var syntaxError = regexp.MustCompile(`(?s)^(?:.*error converting YAML to JSON: )?(?:yaml: )?(?:unmarshal errors:\s*)?(?:line (\d+): )?(.*)$`)

// SyntaxError takes the line, 0 if there is none, and the message out of an
// error of the YAML libraries. Faults that their parser finds, unlike those of
// their scanner, come with a line number that is one too small.
func SyntaxError(err error) (line int, message string) {
	m := syntaxError.FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1])
	if line > 0 && strings.HasPrefix(m[2], "did not find expected") {
		line++
	}
	return line, withoutGo(m[2])
}

var (
	wrongJSON = regexp.MustCompile(`(?s)^.*json: cannot unmarshal (\w+) into Go (?:value|struct field [^\s.]+\.(\S+)) of type (\S+).*$`)
	wrongYAML = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `[^`]*`)? into (\\S+)(?: \\{\\})?")
	typeWords = map[string]string{"array": "a list", "seq": "a list", "object": "a mapping", "map": "a mapping", "string": "text", "str": "text",
		"bool": "true or false", "int": "a number", "number": "a number", "float": "a number", "null": "nothing"}
)

// withoutGo says in words what the libraries say in types of Go.
func withoutGo(message string) string {
	if m := wrongJSON.FindStringSubmatch(message); m != nil {
		field := m[2]
		if field != "" {
			field += ": "
		}
		return field + "got " + typeWord(m[1]) + ", want " + typeWord(m[3])
	}
	if strings.HasPrefix(message, "unknown anchor") {
		return "a value starts with *, but no anchor has that name" // which may be a secret
	}
	if strings.HasPrefix(message, "anchor '") && strings.HasSuffix(message, "contains itself") {
		return "a value contains itself"
	}
	return wrongYAML.ReplaceAllStringFunc(message, func(s string) string {
		m := wrongYAML.FindStringSubmatch(s)
		return "got " + typeWord(m[1]) + ", want " + typeWord(m[2])
	})
}

func typeWord(name string) string {
	switch {
	case typeWords[name] != "":
		return typeWords[name]
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"), strings.HasPrefix(name, "float"):
		return "a number"
	}
	return "a mapping"
}

func kindName(v Value) string {
	switch {
	case v.IsList():
		return "a list"
	case v.IsMap():
		return "a mapping"
	}
	return "a single value"
}

// maxExpanded and maxExpandedBytes bound what a document may grow to when its aliases
// are followed, as everybody does who reads it, Argo CD too. The largest CRDs have some
// 100,000 nodes, and no object that is applied may have more than 1.5 MiB (etcd).
const (
	maxExpanded      = 2_000_000
	maxExpandedBytes = 32 << 20
)

// extent is what a node grows to: how many values, and how many bytes of text they hold.
type extent struct{ values, bytes int }

// checkAliases refuses documents that following aliases would never finish
// reading: an anchor inside itself, nested aliases that multiply, or many of a long text.
func checkAliases(text string, doc *yaml.Node) error {
	_, err := expanded(text, doc)
	return err
}

// Expanded is how many bytes the text of a manifest comes to where its aliases are
// followed.
func Expanded(text string) int {
	if !strings.Contains(text, "*") || !strings.Contains(text, "&") {
		return len(text)
	}
	var doc yaml.Node
	if unmarshal(text, &doc) != nil {
		return len(text)
	}
	grown, err := expanded(text, &doc)
	if err != nil {
		return max(len(text), maxExpandedBytes)
	}
	return max(len(text), grown.bytes)
}

func expanded(text string, doc *yaml.Node) (extent, error) {
	if !strings.Contains(text, "*") {
		return extent{}, nil
	}
	open := extent{-1, -1} // being measured: met again, it contains itself
	sizes := map[*yaml.Node]extent{}
	var size func(n *yaml.Node) (extent, error)
	size = func(n *yaml.Node) (extent, error) {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if s, seen := sizes[n]; seen {
			if s == open {
				return extent{}, fmt.Errorf("yaml: line %d: a value contains itself", n.Line)
			}
			return s, nil
		}
		if n.Anchor != "" {
			sizes[n] = open
		}
		total := extent{1, len(n.Value)}
		for _, c := range n.Content {
			s, err := size(c)
			if err != nil {
				return extent{}, err
			}
			total.values += s.values
			total.bytes += s.bytes
			if total.values > maxExpanded {
				return extent{}, fmt.Errorf("yaml: line %d: aliases expand to more than %d values", n.Line, maxExpanded)
			}
			if total.bytes > maxExpandedBytes {
				return extent{}, fmt.Errorf("yaml: line %d: aliases expand to more than %d MiB", n.Line, maxExpandedBytes>>20)
			}
		}
		if n.Anchor != "" {
			sizes[n] = total
		}
		return total, nil
	}
	return size(doc)
}
