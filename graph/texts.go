package graph

import (
	"strings"
)

// Some texts hold names of hosts that nobody calls: requests for certificates, and
// manifests and kubeconfigs that are meant for somebody else.

// spoken is a text without the parts that call nobody.
func (b *builder) spoken(text string) string {
	if !strings.ContainsAny(text, "\n{") {
		return text
	}
	return b.withoutCertified(withoutManifests(text))
}

// withoutManifests leaves out of a text what is a manifest: from the first line that
// says its version or kind to the end or, in a script, to the mark of the shell.
func withoutManifests(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if strings.Contains(text, `"apiVersion"`) && strings.Contains(text, `"kind"`) {
			return ""
		}
		return text
	}
	if !strings.Contains(text, "apiVersion:") || !strings.Contains(text, "kind:") {
		return text
	}
	var out strings.Builder
	inside := false
	lines := strings.SplitAfter(text, "\n")
	if !hasKey(lines, "apiVersion:") || !hasKey(lines, "kind:") {
		return text
	}
	for _, line := range lines {
		word := strings.TrimSpace(line)
		switch {
		case inside:
			inside = word == "" || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != ""
		case strings.HasPrefix(word, "apiVersion:") || strings.HasPrefix(word, "kind:"):
			inside = true
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}

// hasKey reports whether a line begins with a key.
func hasKey(lines []string, key string) bool {
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), key) {
			return true
		}
	}
	return false
}

// withoutCertified leaves out of a text the names that are to be certified: lines of
// the configuration of tools that make certificates, with the lists that they begin.
func (b *builder) withoutCertified(text string) string {
	request := b.base.IsCertificateRequest(text)
	if request && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return ""
	}
	certified := false
	for line := range strings.Lines(text) {
		key, _, ok := cutKey(line)
		certified = certified || ok && b.base.IsCertifiedKey(key, request)
	}
	if !certified {
		return text
	}
	var out strings.Builder
	until := "" // what ends the list that is left out
	for line := range strings.Lines(text) {
		switch bare := strings.TrimSpace(line); {
		case until == "]":
			if strings.Contains(bare, "]") {
				until = ""
			}
			continue
		case until == "-" && (bare == "" || bare[0] == '-'):
			continue
		}
		until = ""
		key, value, ok := cutKey(line)
		if !ok || !b.base.IsCertifiedKey(key, request) {
			out.WriteString(line)
			continue
		}
		switch {
		case value == "":
			until = "-"
		case strings.HasPrefix(value, "[") && !strings.Contains(value, "]"):
			until = "]"
		}
	}
	return out.String()
}

// cutKey splits a line of a configuration into its key and what is set.
func cutKey(line string) (key, value string, ok bool) {
	at := strings.IndexAny(line, ":=")
	if at < 0 {
		return "", "", false
	}
	const longest = 40
	key = strings.Trim(line[:at], " \t-\"'")
	return key, strings.TrimSpace(line[at+1:]), key != "" && len(key) <= longest && !strings.ContainsAny(key, " \t")
}

// isNamespace reports whether a word is the name of a namespace that objects are in.
// Whoever is told such a word is told where it is.
func (b *builder) isNamespace(word string) bool {
	if b.namespaceNames == nil {
		b.namespaceNames = map[string]bool{}
		for i := range b.Nodes {
			n := &b.Nodes[i]
			if n.Key.Namespace != "" {
				b.namespaceNames[n.Key.Namespace] = true
			} else if n.Key.Group == "" && n.Key.Kind == "Namespace" {
				b.namespaceNames[n.Key.Name] = true
			}
		}
	}
	return b.namespaceNames[word]
}
