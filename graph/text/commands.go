package text

import (
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Commands returns the commands of a script, each as its words in lower case: the program,
// flags as they are, and otherwise words between all but letters and hyphens, so that
// "npm run db:migrate" says npm, run, db, migrate. Files are left out unless they are
// programs. The program alone is also split at hyphens: "kubectl delete job shop-migrate"
// names a Job.
func Commands(base *knowledge.Base, script string) (all [][]string) {
	script = comments.ReplaceAllString(strings.ReplaceAll(script, "\\\n", " "), "")
	for _, command := range strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune("\n;&|()`", r) }) {
		var words []string
		begins := true // the next word is the program
		for _, token := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\"'", r) }) {
			switch {
			case strings.HasPrefix(token, "-"):
				flag, value, _ := strings.Cut(token, "=")
				if words = append(words, strings.ToLower(flag)); base.IsMode(flag) {
					words = append(words, strings.FieldsFunc(strings.ToLower(value), isNoLetter)...)
				}
			case begins && assignment.MatchString(token):
			case !begins && strings.Contains(token, "/") && path.Ext(token) != "" && !base.IsProgramFile(token):
			default:
				token = strings.ToLower(wordStarts.ReplaceAllString(token, "$1 $2"))
				words = append(words, strings.FieldsFunc(token, func(r rune) bool {
					return (r < 'a' || r > 'z') && (r != '-' || begins || base.IsProgramFile(token))
				})...)
				begins = begins && base.RunsProgram(token)
			}
		}
		if words = slices.DeleteFunc(words, func(word string) bool { return strings.Trim(word, "-") == "" }); len(words) > 0 {
			all = append(all, words)
		}
	}
	return all
}

func isNoLetter(r rune) bool { return r < 'a' || r > 'z' }

// WithoutData returns a script without the JSON objects in it, which are what its commands send
// and not commands.
func WithoutData(script string) string {
	depth, from := 0, 0
	for at := 0; at < len(script); at++ {
		switch {
		case script[at] == '{':
			if depth++; depth == 1 {
				from = at
			}
		case script[at] == '}' && depth > 0:
			if depth--; depth == 0 && jsonKey.MatchString(script[from:at]) {
				script = script[:from] + script[at+1:]
				at = from - 1
			}
		}
	}
	return script
}

var (
	comments   = lazyregexp.New(`(?m)^\s*#.*$`)
	assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)
	// jsonKey finds the key of a JSON object, also quoted for a shell.
	jsonKey = lazyregexp.New(`\\?"\s*:`)
	// wordStarts are the places between the words of a name in camel case.
	wordStarts = lazyregexp.New(`([a-z0-9])([A-Z])`)
)
