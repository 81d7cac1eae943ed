package object

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// minBlock is the minimum size in bytes of literal blocks that are read without
// the YAML library. Most manifests only contain smaller ones, such as configuration
// and scripts; larger ones are dashboards.
const minBlock = 1024

// literal is a literal block scalar ("key: |") that was removed from a text.
type literal struct {
	line   int // of its header, counted from 1
	column int // indentation of its lines
	body   string
	chomp  byte // '-', '+', or 0 for the default of a single line break at the end
}

// withoutBlocks blanks the literal blocks of at least minSize bytes. It keeps every line
// break, so that a position in the result is a position in the text.
//
// The library reads such a block character by character, and dashboards are half a
// megabyte in monitoring charts. Only blocks without special characters and with an
// unambiguous end are removed. restore detects text that only looks like a block,
// as within quotes.
func withoutBlocks(text string, minSize int) (string, []literal) {
	if !strings.Contains(text, ": |") {
		return text, nil
	}
	var short strings.Builder
	var blocks []literal
	done, line := 0, 1 // the line that starts at done
	for pos := 0; ; {
		at := strings.Index(text[pos:], ": |")
		if at < 0 {
			break
		}
		at += pos
		lineStart := strings.LastIndexByte(text[:at], '\n') + 1
		body := nextLine(text, at)
		pos = body
		b, ok := header(text[lineStart:body], at-lineStart)
		if !ok {
			continue
		}
		end, ok := b.findEnd(text[body:], text[lineStart:at])
		if !ok || end < minSize {
			continue
		}
		line += strings.Count(text[done:lineStart], "\n")
		b.line, b.body = line, text[body:body+end]
		short.WriteString(text[done:body])
		done, pos = body+end, body+end
		breaks := strings.Count(b.body, "\n")
		short.WriteString(strings.Repeat("\n", breaks))
		line += 1 + breaks
		blocks = append(blocks, b)
	}
	if blocks == nil {
		return text, nil
	}
	short.WriteString(text[done:])
	return short.String(), blocks
}

// keyCharacters are the characters of keys in manifests. A tag, an anchor or "?" before a
// key would affect what the block belongs to.
const keyCharacters = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"'`

// header parses "key: |", "key: |-" and "key: |+" at the end of a line.
func header(line string, colon int) (literal, bool) {
	switch strings.TrimRight(line[colon+len(": |"):], " \n") {
	case "":
		return literal{}, true
	case "-":
		return literal{chomp: '-'}, true
	case "+":
		return literal{chomp: '+'}, true
	}
	return literal{}, false
}

// findEnd returns the offset of the end of the block in the text after its header. key is
// the line of the header up to the colon. ok is false if the block does not have the
// supported form.
func (b *literal) findEnd(text, key string) (end int, ok bool) {
	name := strings.TrimLeft(key, " ")
	for item := true; item; { // "- " starts an item; a dash without a space is part of a key
		if name, item = strings.CutPrefix(name, "- "); item {
			name = strings.TrimLeft(name, " ")
		}
	}
	parent := len(key) - len(name)
	b.column = len(text) - len(strings.TrimLeft(text, " "))
	if b.column <= parent || b.column == len(text) || text[b.column] == '\n' || text[b.column] == '\t' {
		return 0, false
	}
	if !strings.HasSuffix(text, "\n") || strings.Trim(name, keyCharacters) != "" {
		return 0, false
	}
	for end < len(text) {
		next := nextLine(text, end)
		line := text[end:next]
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent < b.column && line[indent:] != "\n" {
			// Other characters there may be other kinds of line breaks.
			ends := indent < len(line) && ' ' < line[indent] && line[indent] <= '~'
			return end, ends && indent <= parent && plain(text[:end])
		}
		end = next
	}
	return end, plain(text)
}

// plain reports whether a text contains only "\n" as line breaks, no characters
// that YAML forbids, and no byte order mark.
func plain(text string) bool {
	for _, r := range text {
		switch {
		case ' ' <= r && r <= '~', r == '\n', r == '\t':
		case r < '\u00a0', r == '\u2028', r == '\u2029', r == '\ufeff', '\ufffd' <= r && r <= '\uffff':
			return false
		}
	}
	return true
}

// text returns the content of the block according to YAML 1.1, 9.3: without its
// indentation, and with the trailing line breaks that the header selects.
func (b literal) text() string {
	var out strings.Builder
	out.Grow(len(b.body))
	for line := range strings.Lines(b.body) {
		out.WriteString(line[min(b.column, len(line)-len(strings.TrimLeft(line, " "))):])
	}
	if b.chomp == '+' {
		return out.String()
	}
	text := strings.TrimRight(out.String(), "\n")
	if b.chomp == 0 {
		text += "\n"
	}
	return text
}

// restore restores blocks and reports whether each of them was really a block.
func restore(n *yaml.Node, blocks []literal) bool {
	left := restoreFrom(n, blocks)
	return len(left) == 0
}

// restoreFrom returns the blocks that are not below n. Both are in text order.
func restoreFrom(n *yaml.Node, blocks []literal) []literal {
	if len(blocks) > 0 && n.Kind == yaml.ScalarNode && n.Style&yaml.LiteralStyle != 0 && n.Line == blocks[0].line {
		n.Value = blocks[0].text()
		return blocks[1:]
	}
	for _, c := range n.Content {
		if len(blocks) == 0 {
			break
		}
		blocks = restoreFrom(c, blocks)
	}
	return blocks
}
