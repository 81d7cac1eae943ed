package render

import (
	"encoding/base64"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
)

var (
	kustomizeLayers = regexp.MustCompile(`accumulating (?:resources|components)(?: from '[^']*')?: |accumulation err='|': must build at directory: '.*$|'[^']*' must resolve to a file': |recursed accumulation of path '[^']*': |MalformedYAMLError: `)
	kustomizeID     = regexp.MustCompile(`"?([A-Za-z]\w*)\.[\w\[\]]+\.[\w.\[\]-]+/([\w.-]+?)\.(\[noNs\]|[\w-]+)"?`)
	kustomizeGoID   = regexp.MustCompile(`&?resid\.ResId\{Gvk:resid\.Gvk\{[^}]*?Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`)
)

// kustomizeTexts are where kustomize quotes what may be a secret: whole objects and
// nodes of them, values, patches, the literals of a generator. What it quotes goes
// to the end of the message, or to a mark.
var kustomizeTexts = []struct {
	quotes  *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?s)^.*(cycle detected: )`), "$1"},
	{regexp.MustCompile("(?s)trouble configuring builtin (\\w+) with config: `.*?`: "), "$1: "},
	{regexp.MustCompile(`(?s)(?:merging from|adding origin annotations for) generator &\{.*?\}: `), ""},
	{regexp.MustCompile(`(?s)merging (?:config|CRDs) &?\{.*?\}: `), ""},
	{regexp.MustCompile(`(?s)literal sources \[.*\]: invalid literal source .*, expected key=value`), "a literal is no key=value"},
	{regexp.MustCompile(`(?s)invalid literal source .*, expected key=value`), "a literal is no key=value"},
	{regexp.MustCompile(`(?s)literal sources \[.*?\]: `), ""},
	{regexp.MustCompile(`(?s)(line \d+ has invalid utf8 bytes) :.*$`), "$1"},
	{regexp.MustCompile(`(?s)unable to parse SM or JSON patch from \[.*\]`), "the patch is neither a part of an object nor a JSON patch"},
	{regexp.MustCompile(`(?s)illegally qualifies as both an SM and JSON patch: .*$`), "the patch is both a part of an object and a JSON patch"},
	{regexp.MustCompile(`(?s)(must specify one of patch and path|patch and path can't be set at the same time) in\n.*$`), "$1"},
	{regexp.MustCompile(`(?s)(is not allowed to set .patches\.target. field): .*$`), "$1"},
	{regexp.MustCompile(`(?s)must specify a target for (?:JSON )?patch .*$`), "a JSON patch has no target"},
	{regexp.MustCompile(`(?s)(patch appears to be empty); .*$`), "$1"},
	{regexp.MustCompile(`(?s)Unexpected kind: .*$`), "a JSON patch has an op that there is not"},
	{regexp.MustCompile(`(?s)decoding .*: (\S.*)$`), "the JSON patch cannot be read: $1"},
	{regexp.MustCompile(`(?s)(options\.index -?\d+ is out of bounds) for value .*$`), "$1: the value has fewer parts"},
	{regexp.MustCompile(`(?s):? node contents:.*$`), ""},
	{regexp.MustCompile(`(?s)(must have even length contents): .*$`), "$1"},
	{regexp.MustCompile(`(?s)unknown patch strategy '.*$`), "$$patch is none of merge, replace and delete"},
	{regexp.MustCompile(`(?s)(no implemented strategic merge patch strategy for '[^']*') .*$`), "$1"},
	{regexp.MustCompile(`(?s)(expected 1 resource, found \d+) in .*$`), "$1"},
	{regexp.MustCompile(`(?s)(empty item at) .*$`), "a list has an empty item"},
	{regexp.MustCompile(`(?s)(missing (?:kind|metadata\.name)) in object .*$`), "$1"},
	{regexp.MustCompile(`(?s) for the following resource:.*$`), ""},
	{regexp.MustCompile(`(?s)(node \S+ is not a string): .*$`), "$1"},
	{regexp.MustCompile(`(?s)(unequal references) - self:.*$`), "$1"},
	{regexp.MustCompile(`(?s)--- +self:.*$`), "two objects are not equal"},
	{regexp.MustCompile(`(?s)(nodes unequal|lists have different number of entries): .*$`), "$1"},
	{regexp.MustCompile(`(?s)((?:roleRef|apiGroup|kind) cannot be found in) .*$`), "$1 the roleRef"},
	{regexp.MustCompile(`(?s)(?:&yaml\.RNode|\(\*yaml\.RNode\)).* is expected to be`), "the node is expected to be"},
	{regexp.MustCompile(`(?s)(invalid map key): .*$`), "$1"},
	{regexp.MustCompile(`(?s)found multiple objects .* that could accept merge of .*$`), "more than one object can be merged with the same one"},
	{regexp.MustCompile(`(?s)(namespace transformation produces ID conflict): .*$`), "$1"},
	{regexp.MustCompile(`(?s)\s*\*\*\*\* Too many possible referral targets.*$`), ""},
	{regexp.MustCompile(`(?s)anchor ".*" defined using alias .*$`), "an anchor is defined using an alias"},
	{regexp.MustCompile(`(?s)(invalid document separator): .*$`), "$1"},
	{regexp.MustCompile(`(?s)an unexpected key \(.*\) was found`), "an unexpected key was found"},
	{regexp.MustCompile("(cannot unmarshal !!\\w+) `[^`]*`"), "$1"},
}

// sameTwice begins what is said of two objects that kustomize knows by the same name.
const sameTwice = "the same object is there twice: "

// kustomizeMessage takes the innermost message out of an error of kustomize,
// which wraps it in all that was under way, and names objects as people do.
func kustomizeMessage(text string) string {
	message := kustomizeLayers.ReplaceAllString(text, "")
	for _, text := range kustomizeTexts {
		message = text.quotes.ReplaceAllString(message, text.instead)
	}
	for _, ids := range []*regexp.Regexp{kustomizeGoID, kustomizeID} {
		message = ids.ReplaceAllStringFunc(message, func(id string) string {
			m := ids.FindStringSubmatch(id)
			return object.ID{Kind: m[1], Namespace: strings.TrimPrefix(m[3], "[noNs]"), Name: m[2]}.String()
		})
	}
	// The same once more, in other words.
	message, _, _ = strings.Cut(message, ": no matches for Id ")
	return strings.Replace(message, "may not add resource with an already registered id: ", sameTwice, 1)
}

// kustomizeText is what people read of an error of kustomize. What no known
// message quotes is looked for to the letter: nothing that stands as a value in one
// of the files that kustomize read comes through.
func kustomizeText(text string, read []readFile) string {
	v := valueTexts{names: map[string]bool{}, texts: map[string]bool{}}
	for _, f := range read {
		v.file(f.name, f.data)
	}
	return v.cut(kustomizeMessage(text))
}

// valueTexts are the texts of files that may be secrets: all but those by which
// people call things.
type valueTexts struct{ names, texts map[string]bool }

// minSecret is the length, in bytes, of the shortest value that is looked for in
// messages. Shorter ones stand in any sentence; those of less than wholeSecret
// count only as words of their own.
const (
	minSecret   = 4
	wholeSecret = 8
)

// file reads one of the files of a kustomization: one of itself, objects, patches,
// or what a generator reads, which can be anything.
func (v valueTexts) file(name string, data []byte) {
	if slices.Contains(kustomizationNames, path.Base(name)) {
		for _, doc := range documents(data) {
			v.kustomization(doc, "")
		}
		return
	}
	docs := documents(data)
	for _, doc := range docs {
		if doc.Kind == yaml.ScalarNode {
			docs = nil // no manifests, but lines of some kind
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

// documents are those of a file, none if it is no YAML.
func documents(data []byte) []*yaml.Node {
	var all []*yaml.Node
	from := yaml.NewDecoder(strings.NewReader(string(data)))
	for {
		var doc yaml.Node
		if err := from.Decode(&doc); err != nil {
			if err.Error() != "EOF" {
				return nil
			}
			return all
		}
		all = append(all, doc.Content...)
	}
}

// kustomization reads a kustomization itself. All in it are names and paths, but
// for literals and patches.
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

// naming are the keys whose values say what a message is about: those of objects,
// and of operations in JSON patches.
var naming = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "path", "from"}

// operations are those of JSON patches.
var operations = []string{"add", "remove", "replace", "move", "copy", "test"}

// node reads a part of a manifest or a patch. No file is read so that its aliases
// would count twice.
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
		if slices.Contains(naming, field) || field == "op" && slices.Contains(operations, n.Value) {
			v.names[n.Value] = true
			return
		}
		v.text(n.Value)
	}
}

// text reads a value, which may be YAML once more, as patches are: then the values in
// it count, and not the lines, which have paths and names, too.
func (v valueTexts) text(value string) {
	var docs []*yaml.Node
	if strings.ContainsAny(value, "\n{[") {
		docs = documents([]byte(value))
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
	v.whole(value)
}

// add notes a value in each form in which a message may quote it.
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
	v.whole(text)
}

// whole notes a text as libraries quote it that has several lines.
func (v valueTexts) whole(text string) {
	if len(text) >= minSecret {
		v.texts[base64.StdEncoding.EncodeToString([]byte(text))] = true
	}
}

// cut leaves the values out of a message.
func (v valueTexts) cut(message string) string {
	var found []string
	for text := range v.texts {
		if !v.names[text] && strings.Contains(message, text) {
			found = append(found, text)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // one may hold another
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
			if (len(text) >= wholeSecret || !wordEnds(before) && !wordBegins(after)) && !v.inName(before, text, after) {
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

// inName reports whether a text is a part of a word that is a name, which everybody may
// read: repo-server in argocd-repo-server.
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

// wordEnds reports whether a text breaks off inside of a word. The letter of \n is
// none.
func wordEnds(text string) bool {
	if len(text) > 1 && text[len(text)-2] == '\\' {
		return false
	}
	return text != "" && wordByte(text[len(text)-1])
}

func wordBegins(text string) bool { return text != "" && wordByte(text[0]) }

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
