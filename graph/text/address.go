package text

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

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

// isConnectionHost reports whether a host at text[at:end] is the value of a keyword for
// a server in a connection string: beside another keyword in the same line, or before a
// semicolon.
func isConnectionHost(base *knowledge.Base, text string, at, end int) bool {
	const longest = 64 // of a keyword with the servers before this one
	before, after := text[max(0, at-longest):at], text[end:]
	equals := strings.LastIndexByte(before, '=')
	if equals < 0 || after != "" && !endsValue(after[0]) || protocolAfter.MatchString(after) {
		return false
	}
	if servers := before[equals+1:]; servers != "" &&
		(strings.Trim(servers, "abcdefghijklmnopqrstuvwxyz0123456789-.,:'\"") != "" || IsHostByte(servers[len(servers)-1])) {
		return false
	}
	if !slices.ContainsFunc(base.ConnectionHosts(), func(key string) bool { return endsWithKey(before[:equals], key) }) {
		return false
	}
	if strings.HasPrefix(after, ";") && !strings.Contains(text, "\n") { // Host=db;
		return true
	}
	const widest = 1 << 10 // of a connection string, before and after the host
	from, to := max(0, at-widest), min(len(text), end+widest)
	line := text[from+strings.LastIndexByte(text[from:at], '\n')+1 : to]
	line, _, _ = strings.Cut(line, "\n")
	return hasConnectionKey(base, line)
}

// protocolAfter matches what follows a protocol, as in "Server=tcp:db,1433".
var protocolAfter = lazyregexp.New(`^:[a-z]`)

// IsConnection reports whether an argument is a connection string, and not the
// assignment of a value to a name.
func IsConnection(base *knowledge.Base, arg string) bool {
	key, rest, _ := strings.Cut(arg, "=")
	is := func(known string) bool { return strings.EqualFold(key, known) }
	switch {
	case slices.ContainsFunc(base.ConnectionHosts(), is):
		return hasConnectionKey(base, rest)
	case slices.ContainsFunc(base.ConnectionKeys(), is):
		return slices.ContainsFunc(base.ConnectionHosts(), func(host string) bool { return hasKey(rest, host) })
	}
	return false
}

// hasConnectionKey reports whether a text assigns a value to a keyword of connection
// strings other than those for servers.
func hasConnectionKey(base *knowledge.Base, text string) bool {
	return slices.ContainsFunc(base.ConnectionKeys(), func(key string) bool { return hasKey(text, key) })
}

// hasKey reports whether a text assigns a value to a keyword.
func hasKey(text, key string) bool {
	for rest := text; ; {
		at := strings.IndexByte(rest, '=')
		if at < 0 {
			return false
		}
		if endsWithKey(rest[:at], key) {
			return true
		}
		rest = rest[at+1:]
	}
}

// endsWithKey reports whether a text ends with a keyword, in upper or lower case, which
// is not part of a longer word.
func endsWithKey(text, key string) bool {
	at := len(text) - len(key)
	return at >= 0 && strings.EqualFold(text[at:], key) && (at == 0 || blank(text[at-1]) || strings.IndexByte("&?(=", text[at-1]) >= 0)
}

// endsValue reports whether a byte ends a host in a connection string.
func endsValue(c byte) bool { return blank(c) || strings.IndexByte(",:\\&", c) >= 0 }

var (
	// listBefore matches the start of a URL up to one of its hosts but the first.
	listBefore = lazyregexp.New(`([a-zA-Z][\w+.:-]*)://(?:[^\s/"'@]*@)?(?:[a-zA-Z0-9.-]+(?::\d+)?,)+$`)
	// driverBefore matches the start of an address of Go's MySQL driver, as in user@tcp(db)/shop.
	driverBefore = lazyregexp.New(`@(?:tcp|udp)?\($`)
)
