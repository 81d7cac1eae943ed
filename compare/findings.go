package compare

import (
	"path"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
)

// Findings says which findings appear with a change and which it takes away.
// Those of each side name files below a directory, which need not be the same.
//
// A finding is the same one where the rule, the object and the sentence are, but
// for the numbers of waves and lines, which may change without anybody having
// touched it.
func Findings(before []finding.Finding, dirBefore string, after []finding.Finding, dirAfter string) (appeared, fixed []finding.Finding) {
	appeared, fixed = []finding.Finding{}, []finding.Finding{}
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
			appeared = append(appeared, f.Told())
		}
	}
	for _, f := range before {
		if id := identity(f, dirBefore); both[id] > 0 {
			both[id]--
		} else {
			fixed = append(fixed, f.Told())
		}
	}
	return appeared, fixed
}

// number is one that follows from what else is there.
var number = regexp.MustCompile(`\b(wave|line) -?[0-9]+`)

// identity is what a finding is about.
func identity(f finding.Finding, dir string) string {
	file := f.File
	if f.Object != "" {
		file = "" // objects move from file to file
	}
	return strings.Join([]string{string(f.Severity), f.Rule, below(file, dir), f.Object, f.Field, number.ReplaceAllString(below(f.Message, dir), "$1")}, "\n")
}

// below shortens paths in a text to what they are below a directory.
func below(text, dir string) string {
	if dir == "" || dir == "." {
		return text
	}
	dir = path.Clean(dir)
	return strings.ReplaceAll(strings.ReplaceAll(text, dir+"/", ""), dir, ".")
}
