package input

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// Hidden are texts that messages of libraries must not show: values from outside the
// repository, and contents of Secrets. What is in the repository is shown as Helm and
// kustomize show it, and so are names, whatever else has the same text.
type Hidden struct{ texts map[string]bool }

// Outside returns the values of a rendering that do not come from files of the repository.
func Outside(all []Values) Hidden {
	var h Hidden
	for _, v := range all {
		v.Files, v.SetFile = nil, nil
		if given, err := v.mergeInto(map[string]any{}, true); err == nil {
			h.addAll(given)
		}
	}
	return h
}

// shortest is the length in bytes of the shortest hidden text: shorter ones occur in any
// sentence. Those of unmistakable bytes are also hidden inside words.
const (
	shortest     = 4
	unmistakable = 8
)

// addAll adds the scalars of a decoded value.
func (h *Hidden) addAll(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			h.addAll(inner)
		}
	case []any:
		for _, inner := range v {
			h.addAll(inner)
		}
	case string, json.Number, float64, int64, int:
		h.Add(fmt.Sprint(v))
	}
}

// Add adds a value with its lines, in each form in which a message may quote it.
func (h *Hidden) Add(text string) {
	if h.texts == nil {
		h.texts = map[string]bool{}
	}
	for _, line := range append(strings.Split(text, "\n"), text) {
		line = strings.TrimSpace(line)
		forms := []string{line}
		if _, value, found := strings.Cut(line, "="); found {
			forms = append(forms, value)
		}
		if decoded, err := base64.StdEncoding.DecodeString(line); err == nil && strings.IndexFunc(string(decoded), unicode.IsControl) < 0 {
			forms = append(forms, string(decoded))
		}
		for _, form := range forms {
			if len(form) < shortest {
				continue
			}
			quoted := strconv.Quote(form)
			for _, f := range []string{form, quoted[1 : len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(form))} {
				h.texts[f] = true
			}
		}
	}
	if len(text) >= shortest {
		h.texts[base64.StdEncoding.EncodeToString([]byte(text))] = true
	}
}

// Except shows what a file of the repository contains as a word, too: who reads the message can
// read the file.
func (h *Hidden) Except(file []byte) {
	for text := range h.texts {
		for at := 0; ; at += len(text) {
			found := bytes.Index(file[at:], []byte(text))
			if found < 0 {
				break
			}
			if at += found; !endsInsideWord(string(file[max(at-2, 0):at])) &&
				!beginsInsideWord(string(file[at+len(text):min(at+len(text)+1, len(file))])) {
				delete(h.texts, text)
				break
			}
		}
	}
}

// code matches what is never a value in a message of Helm and kustomize: variables and fields
// of templates, places, identities of objects, and what a message calls by its kind.
var code = lazyregexp.New(`[.$][A-Za-z_][\w.]*|[^\s():"]+:\d+|error calling \w+|\w+\.[\w\[\]]+\.[\w.\[\]-]+/[\w.:\[\]-]+` +
	"|Kind:\"[^\"]*\"|Name(?:space)?:\"[^\"]*\"" +
	"|(?i:function|variable|executing|operation|path:?|field ?path|field) (?:\"[^\"]*\"|'[^']*'|`[^`]*`)")

// quotation matches the places at which a message quotes data.
var quotation = lazyregexp.New("\"(?:[^\"\\\\]|\\\\.)*\"|'[^']*'|`[^`]*`|(?:: |over )[^:]*$")

// From returns a message without the hidden texts.
func (h Hidden) From(message string) string {
	var texts []string
	for text := range h.texts {
		if strings.Contains(message, text) {
			texts = append(texts, text)
		}
	}
	// One may contain another, so longer ones come first.
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	for _, text := range texts {
		protected, quoted := code.FindAllStringIndex(message, -1), quotation.FindAllStringIndex(message, -1)
		var b strings.Builder
		done := 0
		for at := 0; ; {
			found := strings.Index(message[at:], text)
			if found < 0 {
				break
			}
			start, end := at+found, at+found+len(text)
			at = end
			whole := !endsInsideWord(message[:start]) && !beginsInsideWord(message[end:])
			distinct := len(text) >= unmistakable || strings.ContainsFunc(text, unicode.IsDigit)
			if within(protected, start, end) || !whole && len(text) < unmistakable || !distinct && !within(quoted, start, end) {
				continue
			}
			b.WriteString(message[done:start] + "(a value)")
			done = end
		}
		message = b.String() + message[done:]
	}
	return message
}

func within(spans [][]int, start, end int) bool {
	return slices.ContainsFunc(spans, func(s []int) bool { return s[0] <= start && end <= s[1] })
}

// endsInsideWord reports whether a word continues at the end of a text. The n of an
// escaped \n does not count.
func endsInsideWord(text string) bool {
	if len(text) > 1 && text[len(text)-2] == '\\' {
		return false
	}
	return text != "" && wordByte(text[len(text)-1])
}

func beginsInsideWord(text string) bool { return text != "" && wordByte(text[0]) }

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
