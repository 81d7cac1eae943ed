package text

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Some texts contain host names that are never called: certificate requests, and
// manifests and kubeconfigs for other clients.

// Called returns a text without the parts whose hosts are not called.
func Called(base *knowledge.Base, text string) string {
	if !strings.ContainsAny(text, "\n{") {
		return text
	}
	return withoutSANs(base, withoutManifests(text))
}

// withoutManifests removes a manifest from a text: from the first line with its
// version or kind to the end or, in a script, to the delimiter of the
// here-document.
func withoutManifests(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if strings.Contains(text, `"apiVersion"`) && strings.Contains(text, `"kind"`) {
			return ""
		}
		return text
	}
	if !strings.Contains(text, "apiVersion:") || !versionLine.MatchString(text) || !kindLine.MatchString(text) {
		return text
	}
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
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

var (
	versionLine = lazyregexp.New(`(?m)^\s*apiVersion:`)
	kindLine    = lazyregexp.New(`(?m)^\s*kind:`)
)

// withoutSANs removes names for a certificate: lines in the configuration of
// certificate tools, with the lists that follow them.
func withoutSANs(base *knowledge.Base, text string) string {
	request := base.IsCertificateRequest(text)
	if request && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return ""
	}
	hasSANs := false
	for line := range strings.Lines(text) {
		key, _, ok := cutKey(line)
		hasSANs = hasSANs || ok && base.IsSANKey(key, request)
	}
	if !hasSANs {
		return text
	}
	var out strings.Builder
	end := "" // the end of the list to remove
	for line := range strings.Lines(text) {
		switch bare := strings.TrimSpace(line); {
		case end == "]":
			if strings.Contains(bare, "]") {
				end = ""
			}
			continue
		case end == "-" && (bare == "" || bare[0] == '-'):
			continue
		}
		end = ""
		key, value, ok := cutKey(line)
		if !ok || !base.IsSANKey(key, request) {
			out.WriteString(line)
			continue
		}
		switch {
		case value == "":
			end = "-"
		case strings.HasPrefix(value, "[") && !strings.Contains(value, "]"):
			end = "]"
		}
	}
	return out.String()
}

// cutKey splits a configuration line into its key and value.
func cutKey(line string) (key, value string, ok bool) {
	at := strings.IndexAny(line, ":=")
	if at < 0 {
		return "", "", false
	}
	const longest = 40
	key = strings.Trim(line[:at], " \t-\"'")
	return key, strings.TrimSpace(line[at+1:]), key != "" && len(key) <= longest && !strings.ContainsAny(key, " \t")
}

// Creates reports whether a script creates an object of a kind, or contains a manifest of
// one, as a here-document or a mounted file does.
func Creates(script, kind string) bool {
	lower := strings.ToLower(kind)
	for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
		_, what, creates := strings.Cut(line, "create ")
		if creates && slices.Contains(Tokens(what), lower) {
			return true
		}
		if _, written, ok := strings.Cut(line, "kind:"); ok && strings.Trim(written, " \t\r\n\"'") == kind {
			return true
		}
	}
	return strings.Contains(strings.ReplaceAll(script, " ", ""), `"kind":"`+kind+`"`)
}

// Manifests returns the kinds of the manifests in a text, in YAML or JSON, and whether one of
// them defines kinds itself.
func Manifests(text string) (kinds []knowledge.GroupKind, defines bool) {
	group, known := "", false
	for _, field := range manifestField.FindAllStringSubmatch(text, -1) {
		if field[1] == "apiVersion" {
			group, _, known = strings.Cut(field[2], "/")
			continue
		}
		defines = defines || field[2] == "CustomResourceDefinition"
		if kind := (knowledge.GroupKind{Group: group, Kind: field[2]}); known && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		known = false // a kind without a version is that of a reference
	}
	return kinds, defines
}

var manifestField = lazyregexp.New(`(?m)(?:^[ \t-]*|[{,]\s*)["']?(apiVersion|kind)["']?[ \t]*:[ \t]*["']?([A-Za-z0-9./-]+)`)
