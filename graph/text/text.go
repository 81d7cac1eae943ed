// Package text recognizes names and addresses in what has no schema: variables,
// arguments, files and scripts. It hides what a host, an address or a connection string
// looks like; which objects they lead to is for others to say (package facts).
//
// The package is pure: texts in, positions and names out.
package text

import (
	"iter"
	"net/url"
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

// IsAddress reports whether a host without dots at w.Value[at:end] is in a position for
// an address: in a URL, before a port, in a connection string, after a flag for an
// address, or as the whole value of a variable for one. hasPort reports whether the
// host, as a Service, has a port. Elsewhere a bare word is usually the name of the
// application itself.
func IsAddress(base *knowledge.Base, w Word, at, end int, hasPort func(host, port string) bool) bool {
	before, after := w.Value[:at], w.Value[end:]
	if strings.HasSuffix(before, "://") || strings.HasSuffix(before, "@") {
		return true
	}
	if len(after) > 1 && after[0] == ':' && after[1] >= '0' && after[1] <= '9' {
		return before == "" || strings.ContainsAny(before[len(before)-1:], " ,;=\"'\n@/(")
	}
	if isConnectionHost(base, w.Value, at, end) {
		return true
	}
	ends := after == "" || blank(after[0])
	if before != "" && blank(before[len(before)-1]) && ends {
		return base.IsAddressFlag(lastWord(before)) || hasPort(w.Value[at:end], firstNumber(after))
	}
	if flag, ok := strings.CutSuffix(before, "="); ok && ends {
		return base.IsAddressFlag(lastWord(flag))
	}
	alone := (before == "" || before[len(before)-1] == ',') && (after == "" || after[0] == ',')
	return alone && !w.IsFile && base.IsAddress(w.Name)
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

// ServiceAt returns the Service in an address such as
// http://web.shop.svc:8080/health; empty if there is none.
func ServiceAt(address string) (name, namespace string) {
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	parts := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
	switch {
	case len(parts) == 1:
		return parts[0], ""
	case len(parts) == 2 || parts[2] == "svc":
		return parts[0], parts[1]
	}
	return "", ""
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
