package compare

import (
	"path"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Findings returns the findings that a change adds and removes. The files of each
// side are relative to a directory, which may differ.
//
// Findings are equal if rule, object and message are, ignoring numbers of waves and
// lines, which may change indirectly.
func Findings(before []finding.Finding, dirBefore string, after []finding.Finding, dirAfter string) (appeared, fixed []finding.Finding) {
	// First compare messages exactly: a directory may have the name of a word in
	// them.
	before, after = apart(before, after, func(f finding.Finding, side string) string { return identity(f, side, f.Message) }, dirBefore, dirAfter)
	before, after = apart(before, after, func(f finding.Finding, side string) string { return identity(f, side, below(f.Message, side)) }, dirBefore, dirAfter)
	return told(after), told(before)
}

// apart returns the findings that exist on one side only.
func apart(before, after []finding.Finding, identity func(f finding.Finding, dir string) string, dirBefore, dirAfter string) (gone, appeared []finding.Finding) {
	there := map[string]int{}
	for _, f := range before {
		there[identity(f, dirBefore)]++
	}
	both := map[string]int{}
	for _, f := range after {
		if id := identity(f, dirAfter); there[id] > 0 {
			there[id]--
			both[id]++
		} else {
			appeared = append(appeared, f)
		}
	}
	for _, f := range before {
		if id := identity(f, dirBefore); both[id] > 0 {
			both[id]--
		} else {
			gone = append(gone, f)
		}
	}
	return gone, appeared
}

func told(all []finding.Finding) []finding.Finding {
	shown := []finding.Finding{}
	for _, f := range all {
		shown = append(shown, f.Redacted())
	}
	return shown
}

// number matches a number that depends on other objects.
var number = regexp.MustCompile(`\b(wave|line) -?[0-9]+`)

// identity returns the key of a finding, with the given message.
func identity(f finding.Finding, dir, message string) string {
	file := f.File
	if f.Object != "" {
		file = "" // objects move between files
	}
	return strings.Join([]string{string(f.Severity), f.Rule, below(file, dir), f.Object, f.Field, number.ReplaceAllString(message, "$1")}, "\n")
}

// below removes a directory prefix from paths in a text, except within longer paths
// or words. A dot after a path may end a sentence.
func below(text, dir string) string {
	if dir == "" || dir == "." {
		return text
	}
	in := regexp.MustCompile(`(^|[^\pL\pN_/.-])` + regexp.QuoteMeta(path.Clean(dir)) + `(/|\.?$|\.?[^\pL\pN_.-])`)
	for {
		short := in.ReplaceAllStringFunc(text, func(found string) string {
			m := in.FindStringSubmatch(found)
			if m[2] == "/" {
				return m[1]
			}
			return m[1] + "." + m[2]
		})
		if short == text { // two paths may share the character between them
			return text
		}
		text = short
	}
}
