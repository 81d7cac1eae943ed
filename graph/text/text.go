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

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
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

// IsAddress reports whether a host without dots at w.Value[at:end] is in a position for
// an address: in a URL, before a port, in a connection string, after a flag for an
// address, or as the whole value of a variable for one. hasPort reports whether the
// host, as a Service, has a port. Elsewhere a bare word is usually the name of the
// application itself.
func IsAddress(base *knowledge.Base, w Word, at, end int, hasPort func(host, port string) bool) bool {
	return isHost(base, w, at, end, hasPort) && !IsRegistered(base, w, w.Value[:at])
}

// IsHostField reports whether w.Value[at:end] is the whole value of a field of a file whose key
// says that it is an address, such as "host: db".
func IsHostField(base *knowledge.Base, w Word, at, end int) bool {
	before, after := w.Value[:at], w.Value[end:]
	return w.IsFile && (after == "" || strings.ContainsAny(after[:1], "\"'\r\n ,;}")) && base.IsAddress(keyBefore(before)) &&
		!IsRegistered(base, w, before)
}

// IsRegistered reports whether the key of the value in which a text ends, or else the word's
// name, says that the program hands the address on.
func IsRegistered(base *knowledge.Base, w Word, before string) bool {
	key := keyBefore(before)
	if key == "" && !w.IsFile {
		key = w.Name
	}
	return base.IsRegistered(key)
}

func isHost(base *knowledge.Base, w Word, at, end int, hasPort func(host, port string) bool) bool {
	before, after := w.Value[:at], w.Value[end:]
	switch {
	case strings.HasSuffix(before, "://"):
		return !isUser(after) && (base.NamesServers(schemeBefore(before)) || endsWithPort(after))
	case strings.HasSuffix(before, "@"):
		return !strings.HasPrefix(after, "(") && isAfterUser(base, before, after) // "(" follows a protocol
	case endsWithPort(after):
		return !isOwner(base, before) && !base.NamesImage(w.Name) &&
			(before == "" || strings.HasSuffix(before, "//") || strings.ContainsAny(before[len(before)-1:], " ,;=\"'\n@("))
	}
	if isConnectionHost(base, w.Value, at, end) || isListed(base, before, after) ||
		driverBefore.MatchString(before) && strings.HasPrefix(after, ")") {
		return true
	}
	isFirst, isLast := strings.TrimLeft(before, " ") == "", strings.TrimRight(after, " ") == ""
	if (isFirst || strings.HasSuffix(strings.TrimRight(before, " "), ",")) &&
		(isLast || strings.HasPrefix(strings.TrimLeft(after, " "), ",")) {
		return !w.IsFile && base.IsAddress(w.Name)
	}
	ends := after == "" || blank(after[0])
	if flag := lastWord(before); ends && flag != "" && strings.HasSuffix(before, flag) && Glued(base, flag+w.Value[at:end]) == len(flag) {
		return true
	}
	if before != "" && blank(before[len(before)-1]) && ends {
		return base.IsAddressFlag(lastWord(before)) || hasPort(w.Value[at:end], firstNumber(after))
	}
	if flag, ok := strings.CutSuffix(before, "="); ok && ends {
		return base.IsAddressFlag(lastWord(flag))
	}
	return false
}

// isListed reports whether a host between two texts is one of several in a URL, such as
// postgres://a,b/shop.
func isListed(base *knowledge.Base, before, after string) bool {
	m := listBefore.FindStringSubmatch(before)
	return m != nil && !isUser(after) && base.NamesServers(schemeBefore(m[1]+"://"))
}

var (
	// listBefore matches the start of a URL up to one of its hosts but the first.
	listBefore = lazyregexp.New(`([a-zA-Z][\w+.:-]*)://(?:[^\s/"'@]*@)?(?:[a-zA-Z0-9.-]+(?::\d+)?,)+$`)
	// driverBefore matches the start of an address of Go's MySQL driver, as in user@tcp(db)/shop.
	driverBefore = lazyregexp.New(`@(?:tcp|udp)?\($`)
)

// keyBefore returns the key in whose value a text ends, such as "redirectUris" in
// {"redirectUris": ["http://; empty if the text shows none. In a list, the items before it
// belong to the same key.
func keyBefore(before string) string {
	const longest = 1000
	before = before[max(0, len(before)-longest):]
	if m := keyAtEnd.FindStringSubmatch(before); m != nil {
		return m[1]
	}
	return ""
}

var keyAtEnd = lazyregexp.New(
	`([A-Za-z][\w.-]*)["']?\s*[:=]\s*[\[{]?\s*(?:["'][^"'\n]*["']\s*,\s*|-\s+[^\n]*\n\s*)*(?:-\s+)?[\["'\s]*(?:[a-z][a-z0-9+.-]*:/*)?$`)

// isUser reports whether the text after a host in a URL shows that it is the user:
// everything between "//" and the last "@" before the path is user information
// (RFC 3986, section 3.2).
func isUser(after string) bool {
	authority := after
	if end := strings.IndexAny(after, "/?# \t\n\"'"); end >= 0 {
		authority = after[:end]
	}
	return strings.Contains(authority, "@")
}

// schemeBefore returns the scheme of a URL, without the parts of a compound one such as
// "jdbc:postgresql" or "mysql+pymysql".
func schemeBefore(before string) string {
	scheme := strings.TrimSuffix(before, "://")
	start := strings.LastIndexFunc(scheme, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	})
	return strings.ToLower(scheme[start+1:])
}

// isAfterUser reports whether an "@" separates a user from a host, as in a URL or in
// "user:password@host", and not the two parts of an e-mail address.
func isAfterUser(base *knowledge.Base, before, after string) bool {
	text := before[strings.LastIndexAny(before, " \t\n\"'")+1:]
	if scheme := strings.LastIndex(text, "://"); scheme >= 0 && !strings.ContainsAny(text[scheme+3:], "/,;") {
		return !isUser(after) && base.NamesServers(schemeBefore(text[:scheme+3]))
	}
	user := strings.TrimSuffix(text[strings.LastIndexAny(text, "=,;(")+1:], "@")
	return strings.Contains(user, ":") || endsWithPort(after) || strings.HasPrefix(after, "/")
}

// endsWithPort reports whether a text begins with a port, and not with the tag of an image
// such as ":1.0" or ":8-alpine", or with a password such as ":1234@".
func endsWithPort(after string) bool {
	digits, ok := strings.CutPrefix(after, ":")
	if !ok {
		return false
	}
	rest := strings.TrimLeft(digits, "0123456789")
	const longest, longestPassword = 5, 256
	if n := len(digits) - len(rest); n == 0 || n > longest || passwordAfter.MatchString(digits[:min(len(digits), longestPassword)]) {
		return false
	}
	return rest == "" || !isTagByte(rest[0]) || rest[0] == '.' && (len(rest) == 1 || blank(rest[1]))
}

// passwordAfter matches a password before a host.
var passwordAfter = lazyregexp.New(`^[^\s/"',;()<>?&#]*@`)

// isTagByte reports whether a byte may be part of the tag of an image.
func isTagByte(c byte) bool { return IsHostByte(c) || c == '_' || c >= 'A' && c <= 'Z' }

// isOwner reports whether "name:number" after a text is the owner of a file, such as that
// of "chown web:1000 /data".
func isOwner(base *knowledge.Base, before string) bool {
	for {
		word := lastWord(before)
		if word == "" {
			return false
		}
		if !strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			word = strings.TrimSuffix(word, "=")
			if !strings.HasPrefix(word, "-") {
				word = word[strings.LastIndexAny(word, "=\"'`([{;&|")+1:]
			}
			return base.SetsOwner(word)
		}
		before = strings.TrimRight(before, " \t")
		before = before[:len(before)-len(word)]
	}
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
