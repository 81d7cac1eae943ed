package object

import "strings"

// chunk is a YAML document of a file with its first line.
type chunk struct {
	text string
	line int
}

// split splits a file into its YAML documents. "---" and "..." at the start of a
// line are always document markers (YAML 1.2, 9.1.2: they are forbidden inside a
// document), so no parser is needed, and documents keep their exact text.
func split(text string) []chunk {
	text = strings.TrimPrefix(text, "\ufeff")
	var chunks []chunk
	start, startLine, line := 0, 1, 1
	flush := func(end int) {
		if body := text[start:end]; !onlyDirectives(body) {
			chunks = append(chunks, chunk{body, startLine})
		}
	}
	for pos := 0; pos < len(text); {
		next := nextLine(text, pos)
		if marker(text[pos:next], "---") {
			flush(pos)
			// Text after the marker on its line belongs to the document: "--- #
			// comment", "--- {a: 1}".
			rest := strings.TrimLeft(text[pos+len("---"):next], " \t")
			start, startLine = next-len(rest), line
			if marker(rest, "---") || marker(rest, "...") || strings.HasPrefix(rest, "%") {
				start-- // otherwise it would become a marker
			}
			if strings.TrimSpace(rest) == "" {
				start, startLine = next, line+1
			}
		} else if marker(text[pos:next], "...") {
			flush(pos)
			start, startLine = next, line+1
		}
		pos = next
		line++
	}
	flush(len(text))
	return chunks
}

func marker(line, mark string) bool {
	rest, ok := strings.CutPrefix(line, mark)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n"))
}

// onlyDirectives reports whether a text consists of blank lines, comments and %YAML
// directives, which belong to the document after the next "---".
func onlyDirectives(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
