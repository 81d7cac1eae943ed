package finding

import (
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

var (
	urlText = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://\S+`)
	// A git URL without a scheme: user:token@host/path.
	namedHost = lazyregexp.New(`[\w.+-]+:[^\s/@:"'` + "`" + `]+@[\w.-]+`)
	digest    = lazyregexp.New(`@sha\d+$`)
	queryText = lazyregexp.New(`([?&;#][^\s=&;?#]+=)([^\s&;#]*)`)
	question  = lazyregexp.New(`\?\S*`)
	anchor    = lazyregexp.New(`#\S*=\S*`)
)

// hidden replaces removed parts of a URL.
const hidden = "***"

// WithoutCredentials removes credentials from all URLs in a text: user and
// password, and the values of queries, except for git's ref and submodules.
func WithoutCredentials(text string) string {
	for _, kind := range []struct {
		sign    string // without which the pattern matches nothing; to look for it costs little
		pattern *lazyregexp.Regexp
		without func(match string) string
	}{
		{"://", urlText, withoutUser},
		{"@", namedHost, withoutName},
		{"?", question, withoutValues},
		{"#", anchor, withoutValues},
	} {
		if strings.Contains(text, kind.sign) {
			text = kind.pattern.ReplaceAllStringFunc(text, kind.without)
		}
	}
	return text
}

// withoutName removes the user from an address without a scheme.
func withoutName(address string) string {
	if digest.MatchString(address) {
		return address // the digest of an image
	}
	return address[strings.LastIndexByte(address, '@')+1:]
}

// withoutUser removes the user from a URL. An unescaped password may contain
// slashes, and then looks like an invalid port.
func withoutUser(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	at := strings.LastIndexByte(host, '@')
	if _, port, found := strings.Cut(host, ":"); at < 0 && found && strings.Trim(port, "0123456789") != "" && len(host) < len(rest) {
		at = strings.LastIndexByte(rest, '@')
	}
	rest = rest[at+1:]
	if path, query, found := strings.Cut(rest, "?"); found && query != "" && !strings.Contains(query, "=") {
		end := len(strings.TrimRight(query, quotes))
		rest = path + "?" + hidden + query[end:]
	}
	return scheme + "://" + rest
}

// quotes are characters that may follow a URL in a sentence.
const quotes = "\"'`),.;:]}>"

// harmlessValues are query values that are not secret, by key.
var harmlessValues = map[string]*regexp.Regexp{
	"ref":        regexp.MustCompile(``),
	"submodules": regexp.MustCompile(`^(true|false)$`),
}

func withoutValues(query string) string {
	return queryText.ReplaceAllStringFunc(query, func(pair string) string {
		m := queryText.FindStringSubmatch(pair)
		value := strings.TrimRight(m[2], quotes)
		if harmless := harmlessValues[strings.Trim(m[1], "?&=")]; value == "" || harmless != nil && harmless.MatchString(value) {
			return pair
		}
		return m[1] + hidden + m[2][len(value):]
	})
}
