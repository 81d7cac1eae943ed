// Package text recognizes names and addresses in what has no schema: variables,
// arguments, files and scripts. It hides what a host, an address or a connection string
// looks like; which objects they lead to is for others to say (package facts).
//
// The package is pure: texts in, positions and names out.
package text

import (
	"iter"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
)

// Hosts iterates over the start and end of each possible host name in a text.
func Hosts(text string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for at := 0; at < len(text); {
			if !IsHostByte(text[at]) {
				at++
				continue
			}
			end := at
			for end < len(text) && IsHostByte(text[end]) {
				end++
			}
			if !yield(at, end) {
				return
			}
			at = end
		}
	}
}

// IsHostByte reports whether a byte may be part of the name of a host or an object.
func IsHostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.'
}

// Tokens splits a text at the bytes that cannot be part of the name of an object.
func Tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r > 127 || !IsHostByte(byte(r)) })
}

// Names returns the words of a text that may be names of objects: not users, addresses
// that are handed on, what URLs without a server name, images, e-mail addresses and owners of
// files.
func Names(base *knowledge.Base, w Word) (all []string) {
	if !w.IsFile && (base.NamesImage(w.Name) || base.NamesUser(w.Name) || base.IsRegistered(w.Name)) {
		return nil
	}
	for at, end := range Hosts(w.Value) {
		at += Glued(base, w.Value[at:end])
		if !isOther(base, w.Value[:at], w.Value[end:]) {
			all = append(all, strings.Trim(w.Value[at:end], "-."))
		}
	}
	return all
}

// Glued returns the length of the flag for an address with which a word of a command line
// begins, as in "mysql -hdb"; 0 if it does not.
func Glued(base *knowledge.Base, word string) int {
	const length = 2
	if len(word) > length && word[0] == '-' && word[1] != '-' && base.IsAddressFlag(word[:length]) {
		return length
	}
	return 0
}

// Arguments returns the words of a command line or script that a program may take for names:
// not the programs themselves, nor the parts of paths. isFirst says that the text is the first
// word of a command line.
func Arguments(base *knowledge.Base, w Word, isFirst bool) (all []string) {
	if base.NamesNoObject(w.Name) {
		return nil
	}
	isOne := !strings.ContainsAny(w.Value, " \t\n") && !isFirst && w.Name != "-c"
	for at, end := range Hosts(w.Value) {
		at += Glued(base, w.Value[at:end])
		before := w.Value[:at]
		isPath := strings.HasSuffix(before, "/") && !strings.HasSuffix(before, "://")
		if !isPath && (isOne || !isProgram(base, before)) && !isOther(base, before, w.Value[end:]) {
			all = append(all, strings.Trim(w.Value[at:end], "-."))
		}
	}
	return all
}

// isProgram reports whether the word after a text is that of a program in a script: the first
// one of a command, or the one after a program that runs others.
func isProgram(base *knowledge.Base, before string) bool {
	for _, word := range strings.Fields(before[strings.LastIndexAny(before, "\n;&|()`")+1:]) {
		if word = strings.Trim(word, "\"'"); word != "" && !base.RunsProgram(word) && !assignment.MatchString(word) {
			return false
		}
	}
	return true
}

// isOther reports whether a word between two texts is certainly no name of an object.
func isOther(base *knowledge.Base, before, after string) bool {
	if endsWithPort(after) && isOwner(base, before) {
		return true
	}
	before = before[strings.LastIndexAny(before, " \t\n\"'<>")+1:]
	if end := strings.IndexAny(after, " \t\n\"'<>"); end >= 0 {
		after = after[:end]
	}
	scheme := strings.LastIndex(before, "://")
	switch {
	case scheme >= 0 && !strings.Contains(before[scheme+3:], "/"):
		return isUser(after) || !base.NamesServers(schemeBefore(before[:scheme+3])) && !endsWithPort(after)
	case scheme >= 0:
		return base.IsDatabaseScheme(schemeBefore(before[:scheme+3])) // its path is a database
	case strings.HasSuffix(before, "@"):
		return !isAfterUser(base, before, after)
	case strings.HasPrefix(after, "@"):
		return strings.Trim(before, "abcdefghijklmnopqrstuvwxyz0123456789._+-") == "" && !isAfterUser(base, before+"u@", "")
	case strings.HasSuffix(before, "/"): // an image
		return strings.HasPrefix(after, ":") && !endsWithPort(after)
	}
	return false
}

// KindBefore returns the word before a slash at the end of a text, such as the kind in
// "kubectl wait deployment/"; false if the text does not end with a single slash.
func KindBefore(text string) (kind string, ok bool) {
	kind, ok = strings.CutSuffix(text, "/")
	if !ok || strings.HasSuffix(kind, "/") { // a path, not kind/name
		return "", false
	}
	return kind[strings.LastIndexFunc(kind, func(r rune) bool { return r > 127 || !IsHostByte(byte(r)) })+1:], true
}

// Word is the text of a variable, an argument or a file, with what it is called.
type Word struct {
	// Name is the variable, flag or file.
	Name, Value string
	// IsFile marks a whole file, in which only addresses are recognized.
	IsFile bool
}

// lastWord returns the last word of a line, if it is short enough for a flag.
func lastWord(text string) string {
	const longest = 64
	text = strings.TrimRight(text[max(0, len(text)-longest):], " \t")
	start := strings.LastIndexAny(text, " \t\n") + 1
	if start == 0 && len(text) == longest {
		return ""
	}
	return text[start:]
}

// blank reports whether a byte separates the words of a script.
func blank(c byte) bool { return strings.IndexByte(" \t\n;\"')", c) >= 0 }

// firstNumber returns the number at the start of a text, after white space.
func firstNumber(text string) string {
	text = strings.TrimLeft(text, " \t")
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}

// longestWord is the maximum size of an expanded word in bytes. Each variable may
// contain another one twice, and so on.
const longestWord = 64 << 10

// Expand replaces $(NAME) as Kubernetes does: once, from left to right, where
// "$$" stands for "$" and unknown names are kept. It returns nothing if the result
// is too long.
func Expand(text string, vars map[string]string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := vars[name]
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed && known:
			out.WriteString(value)
			text = rest
		default:
			out.WriteByte('$')
			text = after
		}
		if out.Len() > longestWord {
			return ""
		}
	}
}
