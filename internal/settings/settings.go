// Package settings reads configuration files: component.yaml and ladder.yaml. It
// reads them strictly, since a misspelled key would otherwise be ignored silently,
// and reports every problem with its line.
//
// The package is pure: its input is the text.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// File is a configuration file, for messages.
type File struct {
	// Name is its name in messages, Rule the rule for its problems.
	Name string
	Rule finding.Rule
	// Description describes the file, for users who used its name for a manifest.
	Description string
}

// Fault is a finding about a place in the file.
func (f File) Fault(line int, field, message, remedy string) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: f.Rule, File: f.Name, Line: line, Field: field, Message: message, Remedy: remedy}
}

// Embedded decodes a file of the program strictly. It panics on errors: tests of the package that
// embeds the file read it.
func Embedded[T any](text []byte) (content T) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&content); err != nil {
		panic(err)
	}
	return content
}

// Parse returns the mapping in the file, or nil if it is empty.
func (f File) Parse(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		if object.IsBinary(text) {
			return nil, f.Fault(0, "", "binary file, not YAML", "replace it with a text file")
		}
		line, message := object.SyntaxError(err)
		line = min(line, bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))+1) // at the end, the line is one too large
		return nil, f.Fault(line, "", "not valid YAML: "+message, "correct the syntax there")
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	if err := documents.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, f.Fault(0, "", "the file has a second YAML document", "keep one document")
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, f.Fault(root.Line, "", "not a mapping", "write keys and values")
	}
	if object.IsManifest(root) {
		return nil, f.Fault(root.Line, "", "the file is a Kubernetes manifest, but "+path.Base(f.Name)+" is the name of "+f.Description,
			"rename the file")
	}
	return root, nil
}

// DuplicateKeys reports duplicate keys of a mapping and of nested ones: all but the last
// would be lost.
func (f File) DuplicateKeys(n *yaml.Node, field string) []error {
	return f.twice(n, field, func(value *yaml.Node, field string) []error { return f.DuplicateKeys(value, field) })
}

// twice checks one mapping, and calls below for each of its values.
func (f File) twice(n *yaml.Node, field string, below func(value *yaml.Node, field string) []error) []error {
	var faults []error
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		key := n.Content[i]
		if line, seen := first[key.Value]; seen {
			faults = append(faults, f.Fault(key.Line, field+key.Value, fmt.Sprintf("duplicate key, first set on line %d", line),
				"keep one of the two"))
		}
		first[key.Value] = key.Line
		faults = append(faults, below(n.Content[i+1], field+key.Value+".")...)
	}
	return faults
}

// Check compares a value with the type it will be decoded to: unknown keys,
// duplicate keys, values of the wrong type, and values that are not among the
// choices for their key. Choices may contain "" for resetting a value.
func (f File) Check(n *yaml.Node, into any, choices map[string][]string) []error {
	return f.CheckSection(n, "", into, choices)
}

// CheckSection is Check for the value of a key at the top of the file.
func (f File) CheckSection(n *yaml.Node, key string, into any, choices map[string][]string) []error {
	c := checker{File: f, choices: choices, seen: map[visit]bool{}}
	c.value(n, reflect.TypeOf(into), key, key)
	return c.faults
}

// Forms is a type whose values may be written in several forms.
type Forms interface {
	// Form returns a value of the type to which a YAML value is decoded.
	Form(n *yaml.Node) any
}

type checker struct {
	File
	choices map[string][]string
	// seen are checked values: with aliases, a file can refer to one a billion
	// times.
	seen   map[visit]bool
	faults []error
}

// visit is a value checked against a type.
type visit struct {
	node *yaml.Node
	as   reflect.Type
}

func (c *checker) fault(n *yaml.Node, field, message, remedy string) {
	c.faults = append(c.faults, c.Fault(n.Line, field, message, remedy))
}

// value checks a value; key is the last key of its path.
func (c *checker) value(n *yaml.Node, t reflect.Type, field, key string) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.seen[visit{n, t}] {
		return
	}
	c.seen[visit{n, t}] = true
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if forms, several := reflect.Zero(t).Interface().(Forms); several {
		t = reflect.TypeOf(forms.Form(n))
	}
	if n.Kind == yaml.MappingNode && t.Kind() == reflect.Slice && len(Keys(t.Elem())) > 0 && reflect.PointerTo(t).Implements(unmarshaler) {
		t = t.Elem() // a single value for a list of one
	}
	wants, sample, kind := form(t)
	switch {
	case n.Tag == "!!null":
		c.fault(n, field, "missing value", "write "+wants+", or remove the key")
	case reflect.PointerTo(t).Implements(unmarshaler) && (t.Kind() != reflect.Slice || len(Keys(t.Elem())) == 0):
		if err := reflect.New(t).Interface().(yaml.Unmarshaler).UnmarshalYAML(n); err != nil {
			var f finding.Finding // within an error with the line, which is known
			if !errors.As(err, &f) {
				f.Message = err.Error()
			}
			found := c.Fault(n.Line, field, f.Message, f.Remedy)
			found.Question = f.Question
			c.faults = append(c.faults, found)
		}
	case n.Kind != kind || t.Kind() == reflect.Bool && n.Tag != "!!bool" || t.Kind() == reflect.Int && n.Tag != "!!int":
		remedy := "write " + key + ": " + sample
		if _, err := strconv.Atoi(n.Value); err == nil && t.Kind() == reflect.Int && n.Kind == kind { // quoted
			wants, remedy = "a whole number without quotes", "write "+key+": "+n.Value
		}
		if strings.HasSuffix(field, "]") { // an element
			remedy = "write " + wants + " there"
		}
		c.fault(n, field, "must be "+wants+", not "+got(n, kind), remedy)
	case t.Kind() == reflect.Struct:
		c.mapping(n, t, field)
	case t.Kind() == reflect.Slice:
		for i, item := range n.Content {
			c.value(item, t.Elem(), fmt.Sprintf("%s[%d]", field, i), key)
		}
	case t.Kind() == reflect.Map:
		c.faults = append(c.faults, c.twice(n, field+".", func(value *yaml.Node, field string) []error {
			c.value(value, t.Elem(), field[:len(field)-1], key)
			return nil
		})...)
	case c.choices[key] != nil && !slices.Contains(c.choices[key], n.Value):
		named := slices.DeleteFunc(slices.Clone(c.choices[key]), func(s string) bool { return s == "" })
		c.faults = append(c.faults, c.Fault(n.Line, field, fmt.Sprintf("unknown value %q", n.Value),
			"use one of "+strings.Join(named, ", ")).Asking(finding.Suggest(n.Value, named)))
	}
}

var unmarshaler = reflect.TypeFor[yaml.Unmarshaler]()

func (c *checker) mapping(n *yaml.Node, t reflect.Type, field string) {
	prefix := field
	if field != "" {
		prefix += "."
	}
	c.faults = append(c.faults, c.twice(n, prefix, func(*yaml.Node, string) []error { return nil })...)
	fields := Keys(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(fields, func(k Key) bool { return k.Name == key.Value })
		if at < 0 {
			var names []string
			for _, k := range fields {
				names = append(names, k.Name)
			}
			c.faults = append(c.faults, c.Fault(key.Line, prefix+key.Value, "unknown key",
				"use one of "+strings.Join(names, ", ")).Asking(finding.Suggest(key.Value, names)))
			continue
		}
		c.value(value, fields[at].Type, prefix+key.Value, key.Value)
	}
}

// Key is a key of a mapping that is decoded to a struct.
type Key struct {
	Name string
	Type reflect.Type
	// Index finds the field in the struct.
	Index []int
}

// Keys lists the keys of a struct in field order; other types have none.
func Keys(t reflect.Type) []Key {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []Key
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			for _, k := range Keys(field.Type) {
				k.Index = append([]int{i}, k.Index...)
				all = append(all, k)
			}
		case name != "" && name != "-":
			all = append(all, Key{name, field.Type, []int{i}})
		}
	}
	return all
}

// form returns a description, an example and the node kind for a type.
func form(t reflect.Type) (wants, sample string, kind yaml.Kind) {
	switch t.Kind() {
	case reflect.Struct:
		return "a mapping", "{key: value}", yaml.MappingNode
	case reflect.Map:
		return "a mapping", "{key: value}", yaml.MappingNode
	case reflect.Slice:
		return "a list", "[...]", yaml.SequenceNode
	case reflect.Bool:
		return "true or false", "true", yaml.ScalarNode
	case reflect.Int:
		return "a whole number", "10", yaml.ScalarNode
	}
	return "a string", "...", yaml.ScalarNode
}

// got describes a node of the wrong kind or scalar type. A string in place of a
// list or a mapping is not quoted: it may be a password.
func got(n *yaml.Node, want yaml.Kind) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	if want != yaml.ScalarNode {
		return "a single value"
	}
	return fmt.Sprintf("%q", n.Value)
}
