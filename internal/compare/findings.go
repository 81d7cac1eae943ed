package compare

import (
	"path"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// Findings says which findings appear with a change and which it takes away.
// Those of each side name files below a directory, which need not be the same.
//
// A finding is the same one where the rule, the object and the sentence are, but
// for the numbers of waves and lines, which may change without anybody having
// touched it.
func Findings(before []finding.Finding, dirBefore string, after []finding.Finding, dirAfter string) (appeared, fixed []finding.Finding) {
	// First those whose sentence is the same to the letter: a directory may be
	// called like a word of it.
	before, after = apart(before, after, func(f finding.Finding, side string) string { return identity(f, side, f.Message) }, dirBefore, dirAfter)
	before, after = apart(before, after, func(f finding.Finding, side string) string { return identity(f, side, below(f.Message, side)) }, dirBefore, dirAfter)
	return told(after), told(before)
}

// apart is what only one of the two has.
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
		shown = append(shown, f.Told())
	}
	return shown
}

// number is one that follows from what else is there.
var number = regexp.MustCompile(`\b(wave|line) -?[0-9]+`)

// identity is what a finding is about, which its message says as given.
func identity(f finding.Finding, dir, message string) string {
	file := f.File
	if f.Object != "" {
		file = "" // objects move from file to file
	}
	return strings.Join([]string{string(f.Severity), f.Rule, below(file, dir), f.Object, f.Field, number.ReplaceAllString(message, "$1")}, "\n")
}

// below shortens paths in a text to what they are below a directory. Where its name
// is a part of a longer path or word it stays.
func below(text, dir string) string {
	if dir == "" || dir == "." {
		return text
	}
	dir = path.Clean(dir)
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, dir)
		b.WriteString(before)
		rest, inside := strings.CutPrefix(after, "/")
		switch {
		case !found:
			return b.String()
		case nameBefore.MatchString(before) || !inside && nameAfter.MatchString(after):
			b.WriteString(dir)
		case inside:
			after = rest
		default:
			b.WriteString(".")
		}
		text = after
	}
}

// What stands before or after a path if that is a part of a longer one, or of a
// word. A dot behind it may end a sentence.
var (
	nameBefore = regexp.MustCompile(`[\pL\pN_/.-]$`)
	nameAfter  = regexp.MustCompile(`^(?:[\pL\pN_-]|\.[\pL\pN_-])`)
)
