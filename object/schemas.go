package object

import (
	"iter"
	"strings"

	"github.com/ladder-cmp/ladder/internal/textedit"
)

// withoutSchemas blanks the openAPIV3Schema blocks of a CRD. It keeps every line
// break, so that a position in the result is a position in the text.
//
// The schemas of popular operators are megabytes that no reference, rung or health
// rule uses; parsing them would double the time of a rendering. Text that is not
// clearly a CRD in block style is returned unchanged. If the cut were wrong, the
// result would not parse, or would contain null instead of a schema. Both are
// harmless, since the text itself is never modified and parseText then parses all
// of it.
func withoutSchemas(text string) string {
	const kind = "\nkind: CustomResourceDefinition"
	if !strings.Contains(text, kind) && !strings.HasPrefix(text, kind[1:]) {
		return text
	}
	var short strings.Builder
	done := 0
	for b := range schemaBlocks(text) {
		short.WriteString(text[done:b.from])
		done = b.to
		short.WriteString(strings.Repeat("\n", textedit.CountBreaks(text[b.from:b.to])))
	}
	if done == 0 {
		return text
	}
	short.WriteString(text[done:])
	return short.String()
}

// schemaBlock is the range of a schema in block style, below its key.
type schemaBlock struct{ from, to int }

// schemaBlocks finds the schemas of a CRD that are in block style.
func schemaBlocks(text string) iter.Seq[schemaBlock] {
	const key = "openAPIV3Schema:"
	return func(yield func(schemaBlock) bool) {
		for done := 0; ; {
			at := strings.Index(text[done:], key)
			if at < 0 {
				return
			}
			at += done
			lineStart := strings.LastIndexByte(text[:at], '\n') + 1
			body := nextLine(text, at)
			done = body
			if strings.Trim(text[lineStart:at], " -") != "" || strings.TrimSpace(text[at+len(key):body]) != "" {
				continue
			}
			done = endOfBlock(text, body, at-lineStart)
			if !yield(schemaBlock{body, done}) {
				return
			}
		}
	}
}

// endOfBlock returns the end of the lines from pos that are blank, comments or
// indented deeper than column.
func endOfBlock(text string, pos, column int) int {
	for pos < len(text) {
		body := pos
		for body < len(text) && text[body] == ' ' {
			body++
		}
		next := nextLine(text, body)
		if body-pos <= column && !commentOrBlank(text[body:next]) {
			break
		}
		pos = next
	}
	return pos
}

func nextLine(text string, pos int) int {
	if nl := strings.IndexByte(text[pos:], '\n'); nl >= 0 {
		return pos + nl + 1
	}
	return len(text)
}
