package text

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Connection strings of keywords, such as "host=db port=5432" and
// "Server=db;Database=shop", contain addresses like URLs do.

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
