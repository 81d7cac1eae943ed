package object

import (
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

var syntaxError = lazyregexp.New(`(?s)^(?:.*error converting YAML to JSON: )?(?:yaml: )?(?:unmarshal errors:\s*)?(?:line (\d+): )?(.*)$`)

// SyntaxError returns the line, 0 if there is none, and the message of an error of
// the YAML libraries. Errors of their parser, unlike those of their scanner,
// contain a line number that is one too small.
func SyntaxError(err error) (line int, message string) {
	m := syntaxError.FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1])
	if line > 0 && strings.HasPrefix(m[2], "did not find expected") {
		line++
	}
	return line, withoutGo(m[2])
}

var (
	wrongJSON = lazyregexp.New(`(?s)^.*json: cannot unmarshal (\w+) into Go (?:value|struct field [^\s.]+\.(\S+)) of type (\S+).*$`)
	wrongYAML = lazyregexp.New("cannot unmarshal !!(\\w+)(?: `[^`]*`)? into (\\S+)(?: \\{\\})?")
	types     = map[string]Type{"array": List, "seq": List, "object": Mapping, "map": Mapping, "string": Text, "str": Text,
		"bool": "true or false", "int": number, "number": number, "float": number, "null": "nothing"}
)

// Type is a type of YAML values, in the words of messages.
type Type string

// The types that affect where a value is looked for.
const (
	List    Type = "a list"
	Mapping Type = "a mapping"
	Text    Type = "a string"
	number  Type = "a number"
)

// Mistyped is a value that a library refused for its type.
type Mistyped struct {
	// Field is the path of the value without list indexes; empty if it is unknown.
	Field     string
	Want, Got Type
}

// String returns the message.
func (m Mistyped) String() string {
	message := "must be " + string(m.Want) + ", not " + string(m.Got)
	if m.Field == "" {
		return message
	}
	return m.Field + ": " + message
}

// AsMistyped returns the value that an error of the YAML and JSON libraries is about, if
// its type is the cause. Some of them return only a text, so the text decides.
func AsMistyped(err error) (Mistyped, bool) {
	if m := wrongJSON.FindStringSubmatch(err.Error()); m != nil {
		return Mistyped{Field: m[2], Want: typeOf(m[3]), Got: typeOf(m[1])}, true
	}
	if m := wrongYAML.FindStringSubmatch(err.Error()); m != nil {
		return Mistyped{Want: typeOf(m[2]), Got: typeOf(m[1])}, true
	}
	return Mistyped{}, false
}

// isUnknownAnchor reports whether a message of the YAML library, whose errors have no
// types, is about an alias without an anchor.
func isUnknownAnchor(message string) bool { return strings.HasPrefix(message, "unknown anchor") }

// withoutGo replaces Go types in messages of the libraries by words.
func withoutGo(message string) string {
	if m := wrongJSON.FindStringSubmatch(message); m != nil {
		return Mistyped{Field: m[2], Want: typeOf(m[3]), Got: typeOf(m[1])}.String()
	}
	if isUnknownAnchor(message) {
		return "an unquoted value starts with *, so YAML reads it as an alias, but the document has no such anchor" // the name may be a secret
	}
	if strings.HasPrefix(message, "anchor '") && strings.HasSuffix(message, "contains itself") {
		return "a value contains itself"
	}
	return wrongYAML.ReplaceAllStringFunc(message, func(s string) string {
		m := wrongYAML.FindStringSubmatch(s)
		return Mistyped{Want: typeOf(m[2]), Got: typeOf(m[1])}.String()
	})
}

// typeOf returns the type that a library calls by a name of YAML, JSON or Go.
func typeOf(name string) Type {
	switch {
	case types[name] != "":
		return types[name]
	case strings.HasPrefix(name, "[]"):
		return List
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"), strings.HasPrefix(name, "float"):
		return number
	}
	return Mapping
}
