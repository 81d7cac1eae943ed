package input

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	yaml "go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// Values are overrides of a component's values from one place, in Helm's order of
// precedence: later files override earlier ones, Set overrides files, SetString
// overrides Set, and SetFile overrides all.
type Values struct {
	// Files are YAML files, or patterns that Glob expands.
	Files []string
	// Inline are YAML texts, which override Files.
	Inline []string
	// Set, SetString and SetFile are expressions such as "image.tag=v2"; SetFile
	// uses the content of a file.
	Set, SetString, SetFile []string
	// Read returns the content of a file in Files or SetFile.
	Read func(name string) ([]byte, error)
	// Glob returns the files that match a pattern, in order; if nil, patterns are
	// file names.
	Glob func(pattern string) ([]string, error)
	// Path returns the path of a file for messages; nil leaves the name unchanged.
	Path func(name string) string
	// From is the directory of relative names, for messages. Similar returns files
	// of the same base name in the form used in Files. Both are optional.
	From    string
	Similar func(name string) []string
	// NamedBy maps Files and expressions to the fields that hold them, for findings.
	NamedBy map[string]NamedBy
	// IgnoreMissing ignores missing Files, and patterns that match nothing.
	IgnoreMissing bool
}

// NamedBy is the field that names a file, or sets a value.
type NamedBy struct {
	File  string
	Line  int
	Field string
	// Ignore is the setting that allows the file to be missing; empty if none does.
	Ignore string
}

// Empty reports whether there are no overrides.
func (v Values) Empty() bool {
	return len(v.Files)+len(v.Inline)+len(v.Set)+len(v.SetString)+len(v.SetFile) == 0
}

// MergeValues merges all overrides into one tree. It reports all findings together.
// Missing files are ignored if ignoreMissing is set, or their Values say so.
func MergeValues(all []Values, ignoreMissing bool) (map[string]any, error) {
	base := map[string]any{}
	var faults []error
	for _, v := range all {
		var err error
		base, err = v.mergeInto(base, ignoreMissing || v.IgnoreMissing)
		faults = append(faults, err)
	}
	return base, errors.Join(faults...)
}

func (v Values) mergeInto(base map[string]any, ignoreMissing bool) (map[string]any, error) {
	var faults []error
	v.Files = slices.DeleteFunc(slices.Clone(v.Files), func(name string) bool {
		f, is := otherIdiom(name)
		is = is && !strings.HasPrefix(v.NamedBy[name].Field, "chart.") // where $repo is the root of the repository
		if is {
			faults = append(faults, v.readFault(name, f))
		}
		return is
	})
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
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: v.path(name), Line: line,
				Message: "a second YAML document starts here, and some versions of Helm ignore it",
				Remedy:  "move it to a separate file, or remove the line \"---\""})
			continue
		}
		vals, err := loader.LoadValues(bytes.NewReader(data))
		if err != nil && object.IsBinary(data) {
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: v.path(name),
				Message: "binary file, not YAML", Remedy: "name a values file"})
			continue
		}
		if err != nil {
			faults = append(faults, InvalidValues(v.path(name), data, err))
			continue
		}
		base = loader.MergeMaps(base, vals)
	}
	for _, text := range v.Inline {
		vals, err := loader.LoadValues(strings.NewReader(text))
		if err != nil {
			f := InvalidYAML("", err)
			f.Rule, f.Field, f.Remedy = finding.BadValues, inlineValues, "correct the YAML, which must be a mapping"
			if f.Line > 0 {
				f.Message += fmt.Sprintf(" (line %d of the mapping)", f.Line)
			}
			f.Line = 0
			faults = append(faults, f)
			continue
		}
		base = loader.MergeMaps(base, vals)
	}
	return base, errors.Join(append(faults, v.setIn(base)...)...)
}

// setIn sets the values of expressions in a tree.
func (v Values) setIn(base map[string]any) (faults []error) {
	for _, set := range v.expressions() {
		for i, expr := range set.exprs {
			err := set.parseInto(expr, base)
			//lint:ignore errorlint a finding among others would take their place
			if f, ok := err.(finding.Finding); ok {
				place, placed := v.NamedBy[expr]
				switch {
				case placed && f.File == "":
					f.File, f.Line, f.Field = place.File, place.Line, place.Field
				case f.Field == set.flag && len(set.exprs) > 1:
					f.Message = fmt.Sprintf("entry %d: %s", i+1, f.Message) // it has no key to identify it
				}
				err = f
			}
			faults = append(faults, err)
		}
	}
	return faults
}

// SyntaxErrors returns the syntax errors of expressions, regardless of files and other
// values; nil if there are none.
func (v Values) SyntaxErrors() error {
	alone := Values{Set: v.Set, SetString: v.SetString, SetFile: v.SetFile, Read: func(string) ([]byte, error) { return nil, nil }}
	_, err := alone.mergeInto(map[string]any{}, false)
	return err
}

// inlineValues is the name of inline values in messages.
const inlineValues = "values-object"

// files returns the files, with patterns expanded: all matches in lexical order,
// except files that are also named explicitly, each once. Argo CD treats valueFiles
// the same way (reposerver/repository, getResolvedValueFiles).
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

// secondDocument returns the line of the second YAML document, 0 if there is none.
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

// expressions are the expressions of one flag, with their parser.
type expressions struct {
	flag  string
	exprs []string
	parse func(expr string, into map[string]any) error
}

// keyless matches an expression without a key, which Helm would ignore. Items in
// braces may start with anything.
var keyless = lazyregexp.New(`^[^{]*?(?:^|[^\\],)\s*[=.[]|^\s*$`)

// Characters that are escaped, and lists in braces, have nothing to do with keys.
var (
	escapedText = lazyregexp.New(`\\.`)
	listText    = lazyregexp.New(`=\{[^}]*\}?`)
)

// plainKey matches an expression that is only a key, of words. Other text without "=" may be a
// value that lost its key, such as a password.
var plainKey = lazyregexp.New(`^[A-Za-z_-]+(?:\.[A-Za-z_-]+)*$`)

// unclosed reports whether a key has an index without a closing bracket, which Helm
// would ignore.
func unclosed(expr string) bool {
	expr = listText.ReplaceAllLiteralString(escapedText.ReplaceAllLiteralString(expr, ""), "=")
	return slices.ContainsFunc(strings.Split(expr, ","), func(part string) bool {
		key, _, _ := strings.Cut(part, "=")
		return strings.Count(key, "[") > strings.Count(key, "]")
	})
}

// key removes the values from an expression, since they may be secrets.
func key(expr string) string {
	key, _, valued := strings.Cut(expr, "=")
	if !valued {
		return ""
	}
	return strings.TrimSpace(key)
}

func (e expressions) parseInto(expr string, base map[string]any) error {
	bad := finding.Finding{Severity: finding.Error, Rule: "bad-set", Field: strings.TrimSpace(e.flag + " " + key(expr)),
		Remedy: "use key=value"}
	if keyless.MatchString(expr) {
		bad.Message = "the key is empty"
		return bad
	}
	if unclosed(expr) {
		bad.Message, bad.Remedy = "missing closing bracket of the index", "use key[0]=value"
		name, _, _ := strings.Cut(key(expr), "[") // the rest may be a secret
		bad.Field = strings.TrimSpace(e.flag + " " + name)
		return bad
	}
	err := e.parse(expr, base)
	if err == nil {
		return nil
	}
	var f finding.Finding
	if errors.As(err, &f) {
		return f // this finding is about a file
	}
	switch message := err.Error(); { // the library has no types for these
	case strings.Contains(message, "interface conversion"):
		bad.Message, bad.Remedy = "the path leads through a single value", "remove one of the two"
	case strings.Contains(message, "parsing index"):
		bad.Message, bad.Remedy = "the index in brackets is not a number", "use key[0]=value"
	case strings.Contains(message, "index"):
		bad.Message, bad.Remedy = "the index in brackets is out of range", "use key[0]=value"
	case strings.Contains(message, "must terminate"):
		bad.Message, bad.Remedy = "missing closing brace of the list", "use key={a,b}"
	case strings.Contains(message, "has no value") && strings.Contains(expr, "="):
		bad.Message, bad.Remedy = "a part is not key=value", `use key=value for each part, and "\," for a comma inside a value`
	case strings.Contains(message, "has no value") && plainKey.MatchString(expr):
		bad.Message, bad.Remedy = `key "`+expr+`" has no value`, "write "+expr+"=VALUE"
	case strings.Contains(message, "has no value"):
		bad.Message = "missing value"
	default:
		bad.Message = "cannot be parsed"
	}
	return bad
}

// The flags for single values; those of SetString are always text.
const (
	Set       = "set"
	SetString = "set-string"
)

// expressions returns all expressions in order of precedence.
func (v Values) expressions() []expressions {
	return []expressions{
		{Set, v.Set, strvals.ParseInto},
		{SetString, v.SetString, strvals.ParseIntoString},
		{"set-file", v.SetFile, v.parseFile},
	}
}

// path returns the name of a file for messages.
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
	if f, is := otherIdiom(name); is {
		return nil, f
	}
	data, err := v.Read(name)
	if err == nil {
		return data, nil
	}
	return nil, v.readFault(name, err)
}

func (v Values) readFault(name string, err error) error {
	place, placed := v.NamedBy[name]
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
	f = finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: v.path(name), About: named, Message: Cause(err),
		Remedy: `correct the path in "values" or "set-file"`}
	missing, pattern := errors.Is(err, fs.ErrNotExist), isPattern(name) && v.Glob != nil
	var question string
	if missing && !pattern && v.Similar != nil {
		question = finding.DidYouMean(v.Similar(name)...)
	}
	switch {
	case placed:
		f.File, f.Line, f.Field, f.Remedy = place.File, place.Line, place.Field, "correct the path"
		if missing && place.Ignore != "" {
			f.Remedy = "correct the path, or set " + place.Ignore
		}
		if errors.Is(err, syscall.EISDIR) {
			f.Message = named + " is a directory"
			f.Remedy = "name a file in it"
			break
		}
		f.Message = named + ": " + f.Message
		if missing {
			f.Message = named + " not found"
		}
		if missing && pattern {
			f.Message = named + " matches no file"
		}
	case missing && pattern:
		f.Message = "no file matches"
	case missing && v.From != "" && !path.IsAbs(name):
		f.Message = "no such file in " + v.From
	case missing:
		f.Message = "no such file"
	}
	return f.Asking(question)
}

// Origin returns the file or flag that sets a value: the last one that does. It is
// only used for messages, so unreadable files are ignored.
func Origin(all []Values, at []string) (flag, file string, line int) {
	for _, v := range slices.Backward(all) {
		for _, set := range slices.Backward(v.expressions()) {
			for _, expr := range slices.Backward(set.exprs) {
				own := map[string]any{}
				if set.parse(expr, own) == nil && sets(own, at) {
					return set.flag, v.NamedBy[expr].File, v.NamedBy[expr].Line
				}
			}
		}
		for _, text := range slices.Backward(v.Inline) {
			if LineOf([]byte(text), at) > 0 {
				return inlineValues, "", 0
			}
		}
		files, _ := v.files(true)
		for _, name := range slices.Backward(files) {
			if data, err := v.Read(name); err == nil {
				if line := LineOf(data, at); line > 0 {
					return "", v.path(name), line
				}
			}
		}
	}
	return "", "", 0
}

// sets reports whether a tree contains a path.
func sets(tree any, at []string) bool {
	if len(at) == 0 {
		return true
	}
	switch t := tree.(type) {
	case map[string]any:
		inner, ok := t[at[0]]
		return ok && sets(inner, at[1:])
	case []any:
		i, ok := index(at[0], len(t))
		return ok && t[i] != nil && sets(t[i], at[1:])
	}
	return false
}
