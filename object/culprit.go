package object

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

var (
	dashes    = lazyregexp.New(`^-{4,}\s*$`)
	tabIndent = lazyregexp.New(`^ *\t`)
)

// Culprit returns what people write by mistake in a YAML text that a parser refuses at a line,
// with its own line and what to do. The parser names what follows instead: the second line of
// a document that begins with "----", or a character that it does not print. The message is
// empty if it finds nothing.
func Culprit(text string, line int, message string) (at int, culprit, remedy string) {
	lines := strings.Split(text, "\n")
	if i := slices.IndexFunc(lines, dashes.MatchString); i >= 0 && i <= line { // the parser is at most a line behind
		return i + 1, `"` + strings.TrimSpace(lines[i]) + `" is not a document separator`, "write ---"
	}
	if line > 0 && line <= len(lines) && tabIndent.MatchString(lines[line-1]) &&
		strings.HasPrefix(message, "found character that cannot start") {
		return line, "the line is indented with a tab, which YAML does not allow", "indent it with spaces"
	}
	return line, "", ""
}

// AddFields is what to do about a manifest that lacks fields, unless it has them under another
// name.
const AddFields = "add the missing fields"

// otherCase returns a key of a manifest that differs from a missing one only in case: the API
// server reads Kind as an unknown field.
func otherCase(v Value, missing []string) (key, right string) {
	for _, e := range v.Fields() {
		for _, want := range missing {
			if e.Key != want && strings.EqualFold(e.Key, want) {
				return e.Key, want
			}
		}
	}
	return "", ""
}
