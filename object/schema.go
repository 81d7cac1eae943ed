package object

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Schema is a position in the validation schema of a kind. The zero Schema means
// "not found". Schemas are megabytes of which few positions are relevant, so block
// style is searched by indentation, and only values are parsed.
type Schema struct {
	value Value
	// text contains the entries of a mapping in block style, with keys indented by
	// column.
	text   string
	column int
	block  bool
}

// Schema returns the validation schema of a version, given the list of versions of
// a CRD or a similar object.
func (o Object) Schema(versions Value, version string) Schema {
	block, found := 0, -1 // for versions whose schema Parse left out
	for _, v := range versions.Items() {
		schema := v.Get("schema", "openAPIV3Schema")
		if v.Get("name").Text() == version {
			if schema.Exists() {
				return Schema{value: schema}
			}
			found = block
		}
		if !schema.Exists() {
			block++
		}
	}
	if found < 0 {
		return Schema{}
	}
	blocks := slices.Collect(schemaBlocks(o.doc.content()))
	if len(blocks) != block {
		return Schema{}
	}
	return blockOf(o.doc.content()[blocks[found].from:blocks[found].to])
}

// blockOf determines the indentation of a block from its first entry.
func blockOf(text string) Schema {
	for pos := 0; pos < len(text); {
		next := nextLine(text, pos)
		line := text[pos:next]
		if !commentOrBlank(strings.TrimLeft(line, " ")) {
			return Schema{text: text[pos:], column: len(line) - len(strings.TrimLeft(line, " ")), block: true}
		}
		pos = next
	}
	return Schema{}
}

// Exists reports whether the position exists.
func (s Schema) Exists() bool { return s.block || s.value.Exists() }

// Get follows keys into nested mappings.
func (s Schema) Get(path ...string) Schema {
	for _, key := range path {
		if !s.block {
			return Schema{value: s.value.Get(path...)}
		}
		s = s.child(key)
		path = path[1:]
	}
	return s
}

// child returns the value of a key in a block.
func (s Schema) child(key string) Schema {
	for pos := 0; pos < len(s.text); {
		next := nextLine(s.text, pos)
		rest, mine := entryOf(s.text[pos:next], s.column, key)
		if !mine {
			pos = next
			continue
		}
		end := next
		for end < len(s.text) { // a list may have the same indentation as its key
			end = endOfBlock(s.text, end, s.column)
			if !strings.HasPrefix(s.text[end:], strings.Repeat(" ", s.column)+"- ") {
				break
			}
			end = nextLine(s.text, end)
		}
		if strings.TrimSpace(rest) == "" {
			if b := blockOf(s.text[next:end]); b.block && b.column > s.column && !strings.HasPrefix(b.text[b.column:], "- ") {
				return b
			}
		}
		return parseEntry(s.text[pos:end], key)
	}
	return Schema{}
}

// entryOf returns the text after a key with the given indentation.
func entryOf(line string, column int, key string) (rest string, ok bool) {
	if len(line) <= column || strings.Trim(line[:column], " ") != "" {
		return "", false
	}
	rest, ok = strings.CutPrefix(line[column:], key)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(rest, ":")
}

// parseEntry parses the value of the only entry of a text.
func parseEntry(entry, key string) Schema {
	var root yaml.Node
	if yaml.Unmarshal([]byte(entry), &root) != nil || len(root.Content) == 0 {
		return Schema{}
	}
	return Schema{value: Value{root.Content[0]}.Get(key)}
}

// Text returns the scalar at this position; empty for a mapping or a list.
func (s Schema) Text() string { return s.value.Text() }

// Items returns the elements of a list of values.
func (s Schema) Items() []Value { return s.value.Items() }
