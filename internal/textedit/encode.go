package textedit

import (
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Encode encodes a value or node in the usual layout of manifests, with an indentation
// of two. Panics of the library become errors.
func Encode(v any) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	err = enc.Close()
	return b.String(), err
}

// MustEncode is Encode for what can always be encoded: nodes that were parsed, and
// values of texts, numbers, lists and mappings.
func MustEncode(v any) string {
	text, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return text
}

// Indent indents the lines of a text that are not blank, for a place in a block.
func Indent(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return b.String()
}

// LineBreak returns the line break with which to add lines to a text.
func LineBreak(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}
