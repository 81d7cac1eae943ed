package knowledge

import (
	"slices"
	"strings"
)

// Waits returns the parts of a container's scripts that wait for other objects:
// retry loops, and the arguments of waiting tools. If the container is restarted
// without limit, a script that tests once also waits. byVariables means that a tool
// is configured by variables.
func (b *Base) Waits(image string, scripts []string, restarted bool) (parts []string, byVariables bool) {
	w := names().Waits
	name := Repository(image)
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, script := range scripts {
		words := commandWords(script)
		for _, tool := range w.Tools {
			if isTool(tool, name) {
				return scripts, true
			}
			if at := findTool(words, tool); at >= 0 {
				parts = append(parts, statement(script[words[at].at:]))
				byVariables = byVariables || strings.HasSuffix(tool, "*")
			}
		}
		if restarted && slices.ContainsFunc(w.Tests, func(test string) bool { return findTool(words, test) >= 0 }) {
			parts = append(parts, script)
			continue
		}
		parts = append(parts, loops(script, words)...)
	}
	return parts, byVariables
}

// NamesWait reports whether a variable of a waiting tool names what it waits for.
func (b *Base) NamesWait(variable string) bool {
	return b.IsAddress(variable) || slices.Contains(names().Waits.Variables, variable)
}

// loops returns the loops of a script that retry until something responds.
func loops(script string, words []commandWord) []string {
	w := names().Waits
	var parts []string
	for i := 0; i < len(words); i++ {
		if !slices.Contains(w.Loops, words[i].text) {
			continue
		}
		end := i + 1
		for end < len(words) && !slices.Contains(w.Ends, words[end].text) {
			end++
		}
		part := script[words[i].at:]
		if end < len(words) {
			part = script[words[i].at:words[end].at]
		}
		if !slices.Contains(w.Tries, words[i].text) && !strings.Contains(part, w.Pause) && !strings.HasPrefix(part, "while !") {
			continue
		}
		if strings.Contains(part, "$1") || strings.Contains(part, "$@") || strings.Contains(part, "${1") {
			return []string{script} // the loop is in a shell function, whose arguments are in the rest of the script
		}
		parts = append(parts, part)
		i = end
	}
	return parts
}

// statement returns a script up to the end of its first command.
func statement(script string) string {
	end := len(script)
	for _, separator := range []string{"\n", ";", "&&", "||"} {
		if at := strings.Index(script, separator); at >= 0 && !strings.HasSuffix(script[:at], "\\") {
			end = min(end, at)
		}
	}
	return script[:end]
}

type commandWord struct {
	text string
	at   int
}

// commandWords returns the words of a script, with programs without their
// directories.
func commandWords(script string) []commandWord {
	var words []commandWord
	start := -1
	for i := 0; i <= len(script); i++ {
		if i < len(script) && !strings.ContainsRune(" \t\n;\"'()&|`!{}", rune(script[i])) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			word := script[start:i]
			words = append(words, commandWord{word[strings.LastIndexByte(word, '/')+1:], start})
			start = -1
		}
	}
	return words
}

// findTool returns the position of a call of a tool with its required words;
// negative if there is none. A one-letter flag may be combined with others, as in
// "nc -vz".
func findTool(words []commandWord, tool string) int {
	parts := strings.Fields(tool)
	for i, word := range words {
		if !isTool(parts[0], word.text) {
			continue
		}
		rest := words[i+1:]
		if !slices.ContainsFunc(parts[1:], func(part string) bool {
			return !slices.ContainsFunc(rest, func(w commandWord) bool {
				return w.text == part || len(part) == 2 && part[0] == '-' && strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, part[1:])
			})
		}) {
			return i
		}
	}
	return -1
}

func isTool(tool, word string) bool {
	if begin, ok := strings.CutSuffix(tool, "*"); ok {
		return strings.HasPrefix(word, begin)
	}
	return tool == word
}

// RefersToKind reports whether a word before a name refers to a kind.
func (b *Base) RefersToKind(word, kind string) bool {
	return strings.EqualFold(word, kind) || strings.EqualFold(word, kind+"s") || FullKind(word) == kind
}

// FullKind resolves kubectl's short names of kinds, such as deploy for Deployment;
// other words are returned unchanged.
func FullKind(word string) string {
	if kind, short := names().ShortNames[strings.ToLower(word)]; short {
		return kind
	}
	return word
}
