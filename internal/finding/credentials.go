package finding

import (
	"regexp"
	"strings"
)

var (
	urlText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://\S+`)
	// An address without a scheme, as git takes one: user:token@host/path.
	namedHost = regexp.MustCompile(`[\w.+-]+:[^\s/@:"'` + "`" + `]+@[\w.-]+`)
	digest    = regexp.MustCompile(`@sha\d+$`)
	queryText = regexp.MustCompile(`([?&;#][^\s=&;?#]+=)([^\s&;#]*)`)
	question  = regexp.MustCompile(`\?\S*`)
	anchor    = regexp.MustCompile(`#\S*=\S*`)
)

// hidden stands where something was left out of an address.
const hidden = "***"

// WithoutCredentials leaves out of all addresses in a text what opens them: the
// user and the password before the host, and the values of queries, but for the
// ref of a git repository and whether its submodules are wanted.
func WithoutCredentials(text string) string {
	if !strings.ContainsAny(text, "@?#") {
		return text
	}
	text = urlText.ReplaceAllStringFunc(text, withoutUser)
	text = namedHost.ReplaceAllStringFunc(text, func(address string) string {
		if digest.MatchString(address) {
			return address // of an image
		}
		return address[strings.LastIndexByte(address, '@')+1:]
	})
	text = question.ReplaceAllStringFunc(text, withoutValues)
	return anchor.ReplaceAllStringFunc(text, withoutValues)
}

// withoutUser takes the user out of a URL. A password that nobody escaped may
// hold slashes, and then looks like a port that is no number.
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

// quotes are what may stand around an address in a sentence.
const quotes = "\"'`),.;:]}>"

// harmlessValues are those of queries that open nothing, by key.
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
