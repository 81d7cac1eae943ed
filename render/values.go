package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// mergeValues returns all overrides as one tree. All faults are reported
// together.
func (s source) mergeValues() (map[string]any, error) {
	base := map[string]any{}
	var faults []error
	for _, v := range s.opt.Values {
		var err error
		base, err = v.mergeInto(base, s.opt.IgnoreMissing || v.IgnoreMissing)
		faults = append(faults, err)
	}
	return base, errors.Join(faults...)
}

func (v Values) mergeInto(base map[string]any, ignoreMissing bool) (map[string]any, error) {
	var faults []error
	files, err := v.files(ignoreMissing)
	if err != nil {
		faults = append(faults, err)
	}
	for _, name := range files {
		data, err := v.Read(name)
		if errors.Is(err, fs.ErrNotExist) && ignoreMissing {
			continue
		}
		if err != nil {
			faults = append(faults, v.readFault(name, err))
			continue
		}
		if line := secondDocument(data); line > 0 {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: "bad-values", File: v.path(name), Line: line,
				Message: "a second document begins here, and not every version of Helm reads it", Remedy: "make it a file of its own, or drop the line \"---\""})
			continue
		}
		vals, err := loader.LoadValues(bytes.NewReader(data))
		if err != nil {
			faults = append(faults, valuesFault(v.path(name), err))
			continue
		}
		base = loader.MergeMaps(base, vals)
	}
	for _, text := range v.Inline {
		vals, err := loader.LoadValues(strings.NewReader(text))
		if err != nil {
			f := valuesFault("", err)
			f.Rule, f.Field, f.Remedy = "bad-values", inlineValues, "correct it; it must be a YAML mapping"
			if f.Line > 0 {
				f.Message += fmt.Sprintf(" (in line %d of it)", f.Line)
			}
			f.Line = 0
			faults = append(faults, f)
			continue
		}
		base = loader.MergeMaps(base, vals)
	}
	for _, set := range v.expressions() {
		for i, expr := range set.exprs {
			err := set.parseInto(expr, base)
			//lint:ignore errorlint a finding among others would take their place
			if f, ok := err.(finding.Finding); ok && f.Field == set.flag && len(set.exprs) > 1 {
				f.Message = fmt.Sprintf("entry %d: %s", i+1, f.Message) // which has no key to be known by
				err = f
			}
			faults = append(faults, err)
		}
	}
	return base, errors.Join(faults...)
}

// Misspelt are the faults of the single values as they are written, whatever they
// are put into and whatever is in files; nil means that there are none.
func (v Values) Misspelt() error {
	alone := Values{Set: v.Set, SetString: v.SetString, SetFile: v.SetFile, Read: func(string) ([]byte, error) { return nil, nil }}
	_, err := alone.mergeInto(map[string]any{}, false)
	return err
}

// inlineValues is how messages call values that are no file.
const inlineValues = "values-object"

// files are the names of the files, with what patterns among them stand for: all
// that match, in lexical order, but those that are named by themselves, each once.
// Argo CD does the same with valueFiles (reposerver/repository,
// getResolvedValueFiles).
func (v Values) files(ignoreMissing bool) ([]string, error) {
	if v.Glob == nil {
		return v.Files, nil
	}
	var all []string
	var faults []error
	seen, named := map[string]bool{}, map[string]bool{}
	for _, name := range v.Files {
		if !isPattern(name) {
			named[v.path(name)] = true
		}
	}
	add := func(name string) {
		if !seen[v.path(name)] {
			seen[v.path(name)] = true
			all = append(all, name)
		}
	}
	for _, name := range v.Files {
		if !isPattern(name) {
			add(name)
			continue
		}
		found, err := v.Glob(name)
		if err == nil && len(found) == 0 && !ignoreMissing {
			err = fs.ErrNotExist
		}
		if err != nil {
			faults = append(faults, v.readFault(name, err))
		}
		for _, file := range found {
			if !named[v.path(file)] {
				add(file)
			}
		}
	}
	return all, errors.Join(faults...)
}

func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// secondDocument returns the line on which a second YAML document begins, 0 if
// there is none.
func secondDocument(data []byte) int {
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if documents.Decode(new(yaml.Node)) != nil {
		return 0
	}
	var second yaml.Node
	if documents.Decode(&second) != nil || len(second.Content) == 0 || second.Content[0].Tag == "!!null" {
		return 0
	}
	return second.Line
}

// expressions are those of one flag, with the function that reads them.
type expressions struct {
	flag  string
	exprs []string
	parse func(expr string, into map[string]any) error
}

// keyless finds a place where an expression begins with no key. What stands
// there would be passed over. In braces an item may begin with anything.
var keyless = regexp.MustCompile(`^[^{]*?(?:^|[^\\],)\s*[=.[]|^\s*$`)

// unclosed reports whether a key of an expression has an index without an end. What
// stands there would be passed over.
func unclosed(expr string) bool {
	const (
		inKey = iota
		inIndex
		inValue
		inList
	)
	at, escaped := inKey, false
	for i, r := range expr {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && at != inIndex:
			escaped = true
		case at == inIndex && r == ']':
			at = inKey
		case at == inKey && r == '[':
			at = inIndex
		case at == inKey && r == '=':
			if at = inValue; strings.HasPrefix(expr[i+1:], "{") {
				at = inList
			}
		case at == inList && r == '}', at == inValue && r == ',':
			at = inKey
		}
	}
	return at == inIndex
}

// key is an expression without its values, which may be secrets.
func key(expr string) string {
	key, _, valued := strings.Cut(expr, "=")
	if !valued {
		return ""
	}
	return strings.TrimSpace(key)
}

func (e expressions) parseInto(expr string, base map[string]any) error {
	bad := finding.Finding{Severity: finding.Error, Rule: "bad-set", Field: strings.TrimSpace(e.flag + " " + key(expr)), Remedy: "write key.path=value"}
	if keyless.MatchString(expr) {
		bad.Message = "the key is empty"
		return bad
	}
	if unclosed(expr) {
		bad.Message, bad.Remedy = "the bracket of the index does not end", "write key[0]=value"
		name, _, _ := strings.Cut(key(expr), "[") // what stands behind it may be a secret
		bad.Field = strings.TrimSpace(e.flag + " " + name)
		return bad
	}
	err := e.parse(expr, base)
	if err == nil {
		return nil
	}
	var f finding.Finding
	if errors.As(err, &f) {
		return f // about a file
	}
	switch message := err.Error(); {
	case strings.Contains(message, "interface conversion"):
		bad.Message, bad.Remedy = "the path goes through what is a single value", "drop one of the two"
	case strings.Contains(message, "parsing index"):
		bad.Message, bad.Remedy = "the index in brackets is no number", "write key[0]=value"
	case strings.Contains(message, "index"):
		bad.Message, bad.Remedy = "the index in brackets is out of range", "write key[0]=value"
	case strings.Contains(message, "must terminate"):
		bad.Message, bad.Remedy = "the list in braces does not end", "write key={a,b}"
	case strings.Contains(message, "has no value") && strings.Contains(expr, "="):
		bad.Message, bad.Remedy = "a part of it is no key=value", `write key.path=value for each, and "\," for a comma inside of a value`
	case strings.Contains(message, "has no value"):
		bad.Message = "there is no value"
	default:
		bad.Message = "this cannot be read"
	}
	return bad
}

// expressions returns all there are, later ones winning.
func (v Values) expressions() []expressions {
	return []expressions{
		{"set", v.Set, strvals.ParseInto},
		{"set-string", v.SetString, strvals.ParseIntoString},
		{"set-file", v.SetFile, v.parseFile},
	}
}

// path is how messages call a file.
func (v Values) path(name string) string {
	if v.Path == nil {
		return name
	}
	return v.Path(name)
}

func (v Values) parseFile(expr string, into map[string]any) error {
	return strvals.ParseIntoFile(expr, into, func(name []rune) (any, error) {
		data, err := v.read(string(name))
		return string(data), err
	})
}

func (v Values) read(name string) ([]byte, error) {
	data, err := v.Read(name)
	if err == nil {
		return data, nil
	}
	return nil, v.readFault(name, err)
}

func (v Values) readFault(name string, err error) error {
	place, placed := v.Places[name]
	named := finding.WithoutCredentials(name)
	var f finding.Finding
	if errors.As(err, &f) {
		if placed {
			if f.File != "" {
				f.Message = f.File + ": " + f.Message
			}
			f.File, f.Line, f.Field = place.File, place.Line, place.Field
		}
		return f
	}
	f = finding.Finding{Severity: finding.Error, Rule: "no-values-file", File: v.path(name), Message: Cause(err), Remedy: "correct the path given to values or set-file"}
	missing, pattern := errors.Is(err, fs.ErrNotExist), isPattern(name) && v.Glob != nil
	switch {
	case placed:
		f.File, f.Line, f.Field, f.Remedy = place.File, place.Line, place.Field, "correct it"
		if missing {
			f.Remedy += ", or set " + place.Ignore
		}
		f.Message = named + ": " + f.Message
		if missing {
			f.Message = named + " is not there"
		}
		if missing && pattern {
			f.Message = named + " fits no file"
		}
	case missing && pattern:
		f.Message = "no file matches"
	case missing:
		f.Message = "no such file"
	}
	return f
}

// valuesFault reports a values file that is no YAML mapping.
func valuesFault(name string, err error) finding.Finding {
	line, message := object.SyntaxError(innermost(err))
	return finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", File: name, Line: line,
		Message: "not valid YAML: " + message, Remedy: "correct the values file; it must be a YAML mapping"}
}

// innermost unwraps an error chain, whose outer texts repeat the file name.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// valuesOrigin says which of the overrides sets the value at a path, a file or
// a flag: the last that does. It serves messages only, so files that cannot be
// read are passed over.
func valuesOrigin(all []Values, path []string) (flag, file string, line int) {
	for _, v := range slices.Backward(all) {
		for _, set := range slices.Backward(v.expressions()) {
			for _, expr := range slices.Backward(set.exprs) {
				own := map[string]any{}
				if set.parse(expr, own) == nil && sets(own, path) {
					return set.flag, "", 0
				}
			}
		}
		for _, text := range slices.Backward(v.Inline) {
			if lineOf([]byte(text), path) > 0 {
				return inlineValues, "", 0
			}
		}
		files, _ := v.files(true)
		for _, name := range slices.Backward(files) {
			if data, err := v.Read(name); err == nil {
				if line := lineOf(data, path); line > 0 {
					return "", v.path(name), line
				}
			}
		}
	}
	return "", "", 0
}

// sets reports whether there is anything at a path of a tree.
func sets(tree any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch t := tree.(type) {
	case map[string]any:
		inner, ok := t[path[0]]
		return ok && sets(inner, path[1:])
	case []any:
		i, ok := index(path[0], len(t))
		return ok && t[i] != nil && sets(t[i], path[1:])
	}
	return false
}

// index reads a step of a path as the index of a list of that length.
func index(step string, length int) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && 0 <= i && i < length
}

// lineOf returns the line at which a YAML text sets a path, 0 if it does not.
func lineOf(data []byte, path []string) int {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil {
		return 0
	}
	return lineIn(&doc, path)
}

// lineIn is lineOf for a document that was read.
func lineIn(doc *yaml.Node, path []string) int {
	if len(doc.Content) == 0 {
		return 0
	}
	n, line := doc.Content[0], 0
	for _, step := range path {
		if n, line = child(n, step, deepestMerge); n == nil {
			return 0
		}
	}
	return line
}

const deepestMerge = 10

// child is what stands at a step of a path, and the line of its key or entry. Aliases
// and merge keys are followed, some way: a mapping can be merged into itself.
func child(n *yaml.Node, step string, depth int) (found *yaml.Node, line int) {
	if depth == 0 {
		return nil, 0
	}
	switch n.Kind {
	case yaml.AliasNode:
		return child(n.Alias, step, depth-1)
	case yaml.SequenceNode:
		if i, ok := index(step, len(n.Content)); ok {
			return n.Content[i], n.Content[i].Line
		}
	case yaml.MappingNode:
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch key, value := n.Content[i], n.Content[i+1]; {
			case key.Value == step:
				found, line = value, key.Line
			case key.Tag == "!!merge" && value.Kind == yaml.SequenceNode:
				merged = append(merged, value.Content...)
			case key.Tag == "!!merge":
				merged = append(merged, value)
			}
		}
		for _, m := range merged {
			if found == nil && m.Kind != yaml.SequenceNode {
				found, line = child(m, step, depth-1)
			}
		}
	}
	return found, line
}

// fieldPath prints a path the way people write it: replicas, image.tag,
// ports[0].name.
func fieldPath(path []string) string {
	var b strings.Builder
	for _, step := range path {
		if _, err := strconv.Atoi(step); err == nil {
			fmt.Fprintf(&b, "[%s]", step)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}
