package input

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

var (
	// sourceRef matches a file of another source of an Application.
	sourceRef = lazyregexp.New(`^\$\{?([\w-]+)\}?/`)
	// otherScheme matches the schemes of programs that decrypt or fetch values for Helm, such as
	// secrets://f and secrets+age-import:///key?f of helm-secrets, or ref+vault://a of vals.
	otherScheme = lazyregexp.New(`^([a-z][a-z0-9.+-]*):/`)
)

// otherIdiom returns the finding for the name of a values file that only other programs can
// read.
func otherIdiom(name string) (f finding.Finding, is bool) {
	f = finding.Finding{Severity: finding.Error, Rule: finding.BadValues, File: finding.WithoutCredentials(name)}
	if m := sourceRef.FindStringSubmatch(name); m != nil {
		f.Message = "Argo CD sends a plugin only its own source, so it cannot read files of the source $" + m[1]
		f.Remedy = "write /" + finding.WithoutCredentials(name[len(m[0]):]) + " if the file is in the same repository; otherwise, copy it there"
		return f, true
	}
	if m := otherScheme.FindStringSubmatch(name); m != nil && !slices.Contains([]string{"http", "https", "oci", "file"}, m[1]) {
		f.Message = m[1] + ": is a scheme of another program, which Ladder does not run"
		f.Remedy = "name a file of the repository without the scheme, and create Secrets in the cluster, for example with an operator"
		return f, true
	}
	return f, false
}

// fileWarnings reports what Helm accepts in a values file, although it is probably a mistake:
// a key that is there twice, and contents that are still encrypted.
func fileWarnings(file string, data []byte) []finding.Finding {
	var doc yaml.Node
	if yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc) != nil || len(doc.Content) == 0 {
		return nil // reported elsewhere, or empty
	}
	v := object.ValueOf(doc.Content[0])
	var found []finding.Finding
	for _, d := range v.DuplicateKeys() {
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: object.DuplicateKey, File: file, Line: d.Lines[1],
			Field:   strings.TrimPrefix(d.Path+"."+d.Key, "."),
			Message: fmt.Sprintf("the key is on lines %d and %d, and Helm uses only the last value", d.Lines[0], d.Lines[1]),
			Remedy:  "keep one of the two"})
	}
	if mac := v.Get("sops", "mac"); mac.IsText() {
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: finding.BadValues, File: file, Line: mac.Line(), Field: "sops",
			Message: "the file is encrypted with sops, which neither Argo CD nor Ladder decrypts, so the encrypted text reaches the cluster",
			Remedy:  "create Secrets in the cluster, for example with an operator"})
	}
	return found
}

// topLevelParts returns a file of values in parts that begin at its keys at the start of a line. A
// line in a scalar or between braces may look like one; then the part before it is not valid.
func topLevelParts(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start, hasKey := 0, false
		at := 0
		for line := range bytes.Lines(data) {
			if c := line[0]; !slices.Contains([]byte(" \t\r\n#-}]"), c) {
				if hasKey && !yield(data[start:at]) {
					return
				}
				if hasKey {
					start = at
				}
				hasKey = true
			}
			at += len(line)
		}
		yield(data[start:])
	}
}

// aliasName matches the names of aliases, and other text that looks like one.
var aliasName = lazyregexp.New(`\*([\w-]+)`)

// keyOfClean returns the key of a part of a file of values; empty unless it is a mapping of one key
// without what fileWarnings reports. For that, the values of anchors in other parts do not matter: the
// part is read after a pair that defines all that it may refer to. An anchor that no part before
// defines makes the whole file invalid, of which fileWarnings reports nothing.
func keyOfClean(part []byte) (key string) {
	if len(part) > 0 && part[0] >= utf8.RuneSelf {
		return "" // it may be a mark, which is part of the key unless it begins the file
	}
	anchors := ""
	for _, name := range aliasName.FindAllSubmatch(part, -1) {
		anchors += "&" + string(name[1]) + " 0, "
	}
	if anchors != "" {
		part = append([]byte("? ["+anchors+"]\n: {}\n"), part...)
	}
	var doc yaml.Node
	if yaml.Unmarshal(part, &doc) != nil || len(doc.Content) == 0 {
		return ""
	}
	n := doc.Content[0]
	if anchors != "" && n.Kind == yaml.MappingNode {
		n.Content = n.Content[2:]
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[0].Kind != yaml.ScalarNode || n.Content[0].Tag == "!!merge" {
		return ""
	}
	if key = n.Content[0].Value; key == "sops" || len(object.ValueOf(n).DuplicateKeys()) > 0 {
		return ""
	}
	return key
}

// FileWarnings reports FileWarnings of all files.
func (v Values) FileWarnings(memory *Memory) []finding.Finding {
	var found []finding.Finding
	files, _ := v.files(true) // reported elsewhere
	for _, name := range files {
		if data, err := v.Read(name); err == nil {
			found = append(found, memory.FileWarnings(v.path(name), data)...)
		}
	}
	return found
}
