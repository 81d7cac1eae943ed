package kustomize

import (
	"encoding/base64"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

// valueTexts are texts of files that may be secrets: all except names.
type valueTexts struct{ names, texts map[string]bool }

// redactValues removes values of the files that kustomize read from a message: any
// of them may be a secret.
func redactValues(message string, read []readFile) string {
	v := valueTexts{names: map[string]bool{}, texts: map[string]bool{}}
	for _, f := range read {
		v.file(f.name, f.data)
	}
	return v.redact(message)
}

// minSecret is the minimum length in bytes of values to look for in messages.
// Shorter ones occur in any sentence; those shorter than wholeSecret must match
// whole words.
const (
	minSecret   = 4
	wholeSecret = 8
)

// file reads a file of a kustomization: the kustomization itself, objects, patches,
// or the input of a generator, which can be anything.
func (v valueTexts) file(name string, data []byte) {
	docs, _ := object.Documents(string(data)) // none if it is not YAML
	if IsFile(path.Base(name)) {
		for _, doc := range docs {
			v.kustomization(doc, "")
		}
		return
	}
	for _, doc := range docs {
		if doc.Kind == yaml.ScalarNode {
			docs = nil // lines of another format, not manifests
			break
		}
	}
	for _, doc := range docs {
		v.node(doc, nil)
	}
	if docs == nil {
		v.add(string(data))
	}
}

// kustomization reads a kustomization itself. It consists of names and paths,
// except for literals and patches.
func (v valueTexts) kustomization(n *yaml.Node, key string) {
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			v.names[n.Content[i].Value] = true
			v.kustomization(n.Content[i+1], n.Content[i].Value)
		}
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			v.kustomization(item, key)
		}
	case n.Kind != yaml.ScalarNode:
	case key == "literals" || key == "literal":
		v.add(n.Value)
	case key == "patch" || key == "jsonOp" || strings.ContainsAny(n.Value, "\n{"):
		v.text(n.Value)
	default:
		v.names[n.Value] = true
	}
}

// identifyingKeys are the keys whose values identify an object or an operation of a JSON
// patch in a message.
var identifyingKeys = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "path", "from"}

// operations are the operations of JSON patches.
var operations = []string{"add", "remove", "replace", "move", "copy", "test"}

// node reads a part of a manifest or patch. Aliases are not followed, so nothing
// counts twice.
func (v valueTexts) node(n *yaml.Node, at []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			v.names[n.Content[i].Value] = true
			v.node(n.Content[i+1], append(slices.Clone(at), n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			v.node(item, at)
		}
	case yaml.ScalarNode:
		field := strings.TrimPrefix(strings.Join(at, "."), "items.")
		if slices.Contains(identifyingKeys, field) || field == "op" && slices.Contains(operations, n.Value) {
			v.names[n.Value] = true
			return
		}
		v.text(n.Value)
	}
}

// text reads a value. If it is YAML itself, such as a patch, its values count
// instead of its lines, which contain paths and names.
func (v valueTexts) text(value string) {
	var docs []*yaml.Node
	if strings.ContainsAny(value, "\n{[") {
		docs, _ = object.Documents(value)
	}
	if len(docs) == 0 || slices.ContainsFunc(docs, func(doc *yaml.Node) bool { return doc.Kind == yaml.ScalarNode }) {
		v.add(value)
		return
	}
	for _, doc := range docs {
		v.node(doc, nil)
	}
	for line := range strings.Lines(value) {
		if _, comment, found := strings.Cut(line, "#"); found {
			v.add(comment)
		}
	}
	v.addMultiline(value)
}

// add adds a value in each form in which a message may quote it.
func (v valueTexts) add(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		forms := []string{line}
		if _, value, found := strings.Cut(line, "="); found {
			forms = append(forms, value)
		}
		if _, value, found := strings.Cut(line, ": "); found {
			forms = append(forms, strings.Trim(value, `"' `))
		}
		if decoded, err := base64.StdEncoding.DecodeString(line); err == nil && strings.IndexFunc(string(decoded), unicode.IsControl) < 0 {
			forms = append(forms, string(decoded))
		}
		for _, form := range forms {
			quoted := strconv.Quote(form)
			for _, f := range []string{form, quoted[1 : len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(form))} {
				if len(form) >= minSecret {
					v.texts[f] = true
				}
			}
		}
	}
	v.addMultiline(text)
}

// addMultiline adds a multi-line text in the form in which libraries quote it.
func (v valueTexts) addMultiline(text string) {
	if len(text) >= minSecret {
		v.texts[base64.StdEncoding.EncodeToString([]byte(text))] = true
	}
}

// redact removes the values from a message.
func (v valueTexts) redact(message string) string {
	var found []string
	for text := range v.texts {
		if !v.names[text] && strings.Contains(message, text) {
			found = append(found, text)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // one may contain another
	for _, text := range found {
		var b strings.Builder
		rest := message
		for {
			at := strings.Index(rest, text)
			if at < 0 {
				break
			}
			before, after := rest[:at], rest[at+len(text):]
			b.WriteString(before)
			if (len(text) >= wholeSecret || !endsInsideWord(before) && !beginsInsideWord(after)) && !v.inName(before, text, after) {
				b.WriteString("(a value)")
			} else {
				b.WriteString(text)
			}
			rest = after
		}
		message = b.String() + rest
	}
	return message
}

// inName reports whether a text is part of a longer name, which is not a secret:
// repo-server in argocd-repo-server.
func (v valueTexts) inName(before, text, after string) bool {
	start := strings.LastIndexFunc(before, func(r rune) bool { return !nameRune(r) }) + 1
	end := strings.IndexFunc(after, func(r rune) bool { return !nameRune(r) })
	if end < 0 {
		end = len(after)
	}
	word := strings.TrimRight(before[start:]+text+after[:end], ".")
	return word != text && v.names[word]
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.'
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
