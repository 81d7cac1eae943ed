package object

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/finding"
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
	var objs []Object
	var faults []error
	for _, c := range split(text) {
		d := located{file: file, text: c.text}
		if line > 0 {
			d.line = line + c.line - 1
		}
		parsed, err := d.objects()
		objs = append(objs, parsed...)
		if err != nil {
			faults = append(faults, err)
		}
	}
	return objs, errors.Join(faults...)
}

// located is one document and the place it came from.
type located struct {
	file string
	line int // 0: unknown
	text string
}

func (d located) objects() ([]Object, error) {
	if !strings.HasSuffix(d.text, "\n") {
		// Every reader of manifests in Kubernetes and Helm ends the last
		// line, too; without it a trailing block scalar would differ.
		d.text += "\n"
	}
	root, err := parseText(d.text)
	if err != nil {
		line, message := SyntaxError(err)
		return nil, d.fault("invalid-yaml", max(line, 1), "not valid YAML: "+message, "correct the syntax there")
	}
	if root == nil {
		return nil, nil
	}
	v := Value{root}
	if !v.IsMap() {
		return nil, d.fault("not-an-object", root.Line, "the document is a "+kindName(v)+", not a Kubernetes object",
			"write a mapping with apiVersion, kind and metadata.name")
	}
	if isList(v) {
		return d.unfold(v)
	}
	o, err := d.object(v)
	if err != nil {
		return nil, err
	}
	return []Object{o}, nil
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
		f := d.fault("incomplete-object", v.Line(), "the manifest has no "+strings.Join(missing, ", no "), "add it, or keep the file out of the component")
		if kind.Text() != "" {
			f.Object = strings.TrimSpace(kind.Text() + " " + name.Text())
		}
		return Object{}, f
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
	var doc yaml.Node
	short := withoutSchemas(text)
	err := unmarshal(short, &doc)
	if err != nil && len(short) != len(text) {
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

// unmarshal turns the panics with which the library answers some malformed
// input into errors.
func unmarshal(text string, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return yaml.Unmarshal([]byte(text), doc)
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
	return line, m[2]
}

func kindName(v Value) string {
	if v.IsList() {
		return "list"
	}
	return "single value"
}

// maxExpanded bounds what a document may grow to when its aliases are
// followed. The largest CRDs have some 100,000 nodes.
const maxExpanded = 2_000_000

// checkAliases refuses documents that following aliases would never finish
// reading: an anchor inside itself, or nested aliases that multiply.
func checkAliases(text string, doc *yaml.Node) error {
	if !strings.Contains(text, "*") {
		return nil
	}
	const open = -1 // being measured: met again, it contains itself
	sizes := map[*yaml.Node]int{}
	var size func(n *yaml.Node) (int, error)
	size = func(n *yaml.Node) (int, error) {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if s, seen := sizes[n]; seen {
			if s == open {
				return 0, fmt.Errorf("yaml: line %d: anchor %q contains itself", n.Line, n.Anchor)
			}
			return s, nil
		}
		if n.Anchor != "" {
			sizes[n] = open
		}
		total := 1
		for _, c := range n.Content {
			s, err := size(c)
			if err != nil {
				return 0, err
			}
			if total += s; total > maxExpanded {
				return 0, fmt.Errorf("yaml: line %d: aliases expand to more than %d values", n.Line, maxExpanded)
			}
		}
		if n.Anchor != "" {
			sizes[n] = total
		}
		return total, nil
	}
	_, err := size(doc)
	return err
}
