package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/render/input"
)

// validateValues validates the values of a chart and its subcharts against their
// values.schema.json, with Helm's library and for the same charts. Helm's own
// function would fetch schemas from the network, read them from the file system,
// and return all violations as one text.
func (s source) validateValues(ch *chart.Chart, values map[string]any) ([]finding.Finding, error) {
	var findings []finding.Finding
	var faults []error
	if ch.Schema != nil {
		found, err := s.validateChart(ch, values)
		findings = append(findings, found...)
		faults = append(faults, err)
	}
	for _, sub := range ch.Dependencies() {
		raw, isSet := values[sub.Name()]
		if !isSet || raw == nil {
			continue
		}
		subValues, ok := asMap(raw)
		if !ok {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: s.Show(path.Join(s.Dir, "values.yaml")),
				Field: sub.Name(), Message: "the values of subchart " + sub.Name() + " are not a mapping", Remedy: "write a mapping"})
			continue
		}
		found, err := s.validateValues(sub, subValues)
		findings = append(findings, found...)
		faults = append(faults, err)
	}
	return findings, errors.Join(faults...)
}

func asMap(v any) (map[string]any, bool) {
	switch m := v.(type) {
	case map[string]any:
		return m, true
	case common.Values:
		return m, true
	}
	return nil, false
}

func (s source) validateChart(ch *chart.Chart, values map[string]any) (findings []finding.Finding, err error) {
	file := s.chartFile(ch, "values.schema.json")
	bad := func(err error) error {
		return finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: file, Message: err.Error(), Remedy: "correct the schema"}
	}
	defer func() {
		if r := recover(); r != nil { // Helm also guards against panics of the library
			err = bad(fmt.Errorf("%v", r))
		}
	}()
	c, err := s.opt.Memory.Compile(ch.Schema, func() (input.Schema, error) { return compileSchema(ch.Schema) })
	if err != nil {
		return nil, bad(err)
	}
	for _, ref := range c.Remote {
		findings = append(findings, finding.Finding{Severity: finding.Warning, Rule: remote.Source, File: file,
			Message: "values are not checked against " + ref + ", which is not fetched", Remedy: "copy that schema into " + path.Base(file)})
	}
	var invalid *jsonschema.ValidationError
	if err := c.Validate(values); errors.As(err, &invalid) {
		return findings, s.violations(ch, file, invalid)
	} else if err != nil {
		return findings, bad(err)
	}
	return findings, nil
}

func compileSchema(text []byte) (input.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return input.Schema{}, err
	}
	loader := &schemaLoader{}
	loader.detach(doc, "", schemaIDs(doc))
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(loader)
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return input.Schema{}, err
	}
	schema, err := compiler.Compile(schemaURL)
	return input.Schema{Schema: schema, Remote: loader.remote}, err
}

const schemaURL = "file:///values.schema.json"

// schemaLoader replaces remote schemas by one that allows everything, and records
// them.
type schemaLoader struct{ remote []string }

func (l *schemaLoader) Load(ref string) (any, error) {
	if u, err := url.Parse(ref); err != nil || u.Scheme == "file" {
		return nil, &fs.PathError{Op: "open", Path: ref, Err: errors.New("a schema can only refer to itself")}
	}
	if !slices.Contains(l.remote, ref) {
		l.remote = append(l.remote, ref)
	}
	return true, nil
}

// violations converts the tree of a validation error to one finding for each
// invalid value.
func (s source) violations(ch *chart.Chart, schemaFile string, err *jsonschema.ValidationError) error {
	var faults []finding.Finding
	printer := message.NewPrinter(language.English)
	report := func(at []string, violated jsonschema.ErrorKind, msg string) {
		full := append(chartPath(ch), at...)
		f := finding.Finding{Severity: finding.Error, Rule: finding.BadValues, Field: input.FieldPath(full), About: msg, Message: msg}
		var flag string
		if flag, f.File, f.Line = s.valueOrigin(ch, full); flag != "" {
			f.Field = flag + " " + f.Field
		}
		f.Remedy = schemaRemedy(violated, flag, schemaFile)
		if _, isExtra := violated.(*kind.AdditionalProperties); isExtra && !ch.IsRoot() && slices.Equal(at, []string{"global"}) {
			f.File, f.Line, f.Field = schemaFile, 0, ""
			f.Message = "Helm passes \"global\" to every subchart, but the schema of " + ch.Name() + " does not allow this key"
			f.Remedy = "allow it in the schema, or set skip-schema-validation"
			f.About = f.Message
		}
		faults = append(faults, f)
	}
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.Schema, *kind.Reference, *kind.AllOf, *kind.Group:
			// Containers only: each cause is a violation of its own.
			for _, c := range e.Causes {
				visit(c)
			}
			return
		}
		switch k := e.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				report(append(slices.Clone(e.InstanceLocation), name), k, "the schema does not allow this key")
			}
			return
		case *kind.Required:
			for _, name := range k.Missing {
				report(append(slices.Clone(e.InstanceLocation), name), k, "the schema requires this value, but it is not set")
			}
			return
		}
		msg := describeExpected(e.ErrorKind, printer)
		if alternatives := leaves(e, printer); len(alternatives) > 0 {
			msg += " (" + strings.Join(alternatives, "; or ") + ")"
		}
		report(e.InstanceLocation, e.ErrorKind, msg)
	}
	visit(err)
	finding.Sort(faults)
	return finding.Err(faults)
}

// schemaRemedy returns what to do about a value that a flag or, if that is empty, a file
// sets.
func schemaRemedy(violated jsonschema.ErrorKind, flag, schemaFile string) string {
	switch k := violated.(type) {
	case *kind.AdditionalProperties:
		return "remove the key, or correct its name to one that " + schemaFile + " allows"
	case *kind.Type:
		if flag == input.SetString && k.Got == "string" {
			return `use "set", because "set-string" always sets a string`
		}
		if flag == input.Set && (k.Got == "number" || k.Got == "boolean") && slices.Equal(k.Want, []string{"string"}) {
			return `use "set-string", because "set" converts text such as 4 or true to a number or a boolean`
		}
	}
	return "set a value that " + schemaFile + " allows"
}

// describeExpected describes what a schema expects. Where the library would print the value
// or its length, it is left out, since it may be a password.
func describeExpected(errorKind jsonschema.ErrorKind, p *message.Printer) string {
	number := func(r *big.Rat) string {
		f, _ := r.Float64()
		return fmt.Sprint(f)
	}
	switch k := errorKind.(type) {
	case *kind.Format:
		return "the value is not a valid " + k.Want
	case *kind.Pattern:
		return "the value does not match the pattern " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("the value must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("the value must have at most %d characters", k.Want)
	case *kind.Minimum:
		return "the value must be at least " + number(k.Want)
	case *kind.Maximum:
		return "the value must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "the value must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "the value must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "the value must be a multiple of " + number(k.Want)
	case *kind.ContentEncoding:
		return "the value is not encoded as " + k.Want
	case *kind.ContentMediaType:
		return "the value is not of type " + k.Want
	}
	return errorKind.LocalizedString(p)
}

// chartPath returns the path of a chart's values within the root chart.
func chartPath(ch *chart.Chart) []string {
	if ch.IsRoot() {
		return nil
	}
	return append(chartPath(ch.Parent()), ch.Name())
}

// leaves collects the innermost messages of an error, such as the alternatives of
// anyOf.
func leaves(e *jsonschema.ValidationError, p *message.Printer) []string {
	var all []string
	for _, c := range e.Causes {
		if below := leaves(c, p); len(below) > 0 {
			all = append(all, below...)
		} else {
			all = append(all, describeExpected(c.ErrorKind, p))
		}
	}
	return all
}

// valueOrigin returns where a value of the root chart is set: by a flag, in an
// overriding file, or in the values.yaml of its chart or of a parent chart, which
// takes precedence.
func (s source) valueOrigin(ch *chart.Chart, full []string) (flag, file string, line int) {
	if flag, file, line := input.Origin(s.opt.Values, full); flag+file != "" {
		return flag, file, line
	}
	lineage := []*chart.Chart{ch}
	for c := ch; !c.IsRoot(); c = c.Parent() {
		lineage = append(lineage, c.Parent())
	}
	for _, c := range slices.Backward(lineage) {
		own := full[len(chartPath(c)):]
		for _, f := range c.Raw {
			if f.Name != "values.yaml" {
				continue
			}
			if line := input.LineOf(f.Data, own); line > 0 {
				return "", s.chartFile(c, f.Name), line
			}
		}
	}
	return "", s.chartFile(ch, "values.yaml"), 0
}

// detach removes references to parts of remote schemas, because the loader can only
// replace whole schemas, and records them. base is the address of the schema that contains
// doc, to which references are relative.
func (l *schemaLoader) detach(doc any, base string, ids map[string]bool) {
	switch doc := doc.(type) {
	case map[string]any:
		if id, ok := doc["$id"].(string); ok {
			base = resolve(base, id)
		}
		if ref, ok := doc["$ref"].(string); ok {
			if whole, part, _ := strings.Cut(resolve(base, ref), "#"); part != "" && !strings.HasPrefix(ref, "#") && isRemote(whole) && !ids[whole] {
				delete(doc, "$ref")
				if !slices.Contains(l.remote, whole) {
					l.remote = append(l.remote, whole)
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			l.detach(doc[key], base, ids)
		}
	case []any:
		for _, item := range doc {
			l.detach(item, base, ids)
		}
	}
}

// resolve returns the address of a reference that may be relative.
func resolve(base, ref string) string {
	from, err := url.Parse(base)
	if err != nil {
		return ref
	}
	to, err := from.Parse(ref)
	if err != nil {
		return ref
	}
	return to.String()
}

func isRemote(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// schemaIDs returns the addresses of the schemas that a schema contains.
func schemaIDs(doc any) map[string]bool {
	ids := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"$id", "id"} {
				if id, ok := v[key].(string); ok {
					ids[strings.TrimSuffix(id, "#")] = true
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
	return ids
}
