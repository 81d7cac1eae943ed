package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// pattern is a parsed entry of Config.Allow.
type pattern struct {
	scheme   string
	host     string // in lower case; may be "*" or start with "*."
	port     string
	segments []string // of the path; each may contain "*"
}

// allowList lists what may be fetched.
type allowList []pattern

// parseAllow parses entries. The errors are findings, one for each invalid entry.
func parseAllow(entries []string) (allowList, []error) {
	var list allowList
	var wrong []error
	for _, entry := range entries {
		p, fault := parsePattern(entry)
		if fault != "" {
			wrong = append(wrong, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Object: "allow-list",
				Field: finding.WithoutCredentials(entry), Message: fault,
				Remedy: "write an address such as https://charts.example.com, oci://ghcr.io/org/* or https://github.com/org"})
			continue
		}
		list = append(list, p)
	}
	return list, wrong
}

func parsePattern(entry string) (pattern, string) {
	u, fault := parseAddress(entry)
	if fault != "" {
		return pattern{}, fault
	}
	if u.RawQuery != "" {
		return pattern{}, "contains a query, which is not compared"
	}
	p := pattern{scheme: u.Scheme, host: hostOf(u), port: portOf(u), segments: segmentsOf(u)}
	if star := strings.TrimPrefix(p.host, "*."); p.host != "*" && strings.Contains(star, "*") {
		return pattern{}, "has a * in the middle of its host"
	}
	for _, s := range p.segments {
		if _, err := path.Match(s, ""); err != nil {
			return pattern{}, "has a pattern in its path that cannot be read"
		}
	}
	return p, ""
}

// hasUser is the fault of an address with credentials.
const hasUser = "contains a user or a password"

// parseAddress parses a URL written by a user, and says what is wrong with it. A
// URL that two programs could read differently is invalid.
func parseAddress(address string) (*url.URL, string) {
	u, err := url.Parse(address)
	switch {
	case scpForm.MatchString(address), err == nil && u.Scheme == "ssh":
		return nil, "uses ssh, but only https:// and oci:// are supported"
	case err != nil || strings.ContainsAny(address, "\\\t\r\n "):
		return nil, "is not a URL that can be parsed"
	case u.Scheme == "" || u.Host == "":
		return nil, "is not a URL with a scheme and a host"
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return nil, "is neither https:// nor oci://"
	case u.User != nil:
		return nil, hasUser
	case strings.Trim(u.Host, hostCharacters) != "":
		return nil, "has a host that is not written in ASCII"
	case u.Fragment != "":
		return nil, "contains a fragment (#)"
	}
	return u, pathFault(u)
}

// scpForm matches git repositories in the form of scp: git@host:org/repo.
var scpForm = lazyregexp.New(`^[\w.-]+@[\w.-]+:[^/]`)

// hostCharacters are the characters of a host with port.
const hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]*"

// pathFault says why a server, or a proxy in front of it, could read a path
// differently: servers resolve escapes once or more often, parameters of a segment
// (;), or characters that resemble a dot or a slash.
func pathFault(u *url.URL) string {
	text := u.EscapedPath()
	for range maxEscapes {
		if fault := segmentFault(text); fault != "" {
			return fault
		}
		plain, err := url.PathUnescape(text)
		if err != nil && text != u.EscapedPath() {
			return "" // the percent sign is part of the name
		}
		if err != nil {
			return "has an escape in its path that cannot be read"
		}
		if plain == text {
			return ""
		}
		if strings.Count(plain, "/") != strings.Count(text, "/") {
			return "contains escaped slashes in its path"
		}
		text = plain
	}
	return fmt.Sprintf("has a path that is escaped %d times or more", maxEscapes)
}

// maxEscapes limits how often a path is unescaped for checking.
const maxEscapes = 5

func segmentFault(text string) string {
	if strings.Contains(text, `\`) || !utf8.ValidString(text) || strings.ContainsAny(text, likeDotsAndSlashes) ||
		strings.Contains(strings.ToLower(text), "%u") {
		return "contains characters in its path that some servers read as dots or slashes"
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "has control characters in its path"
	}
	for _, s := range strings.Split(text, "/") {
		name, _, parameters := strings.Cut(s, ";")
		if name = strings.TrimSpace(name); name == "." || name == ".." || name == "" && parameters {
			return "has . or .. in its path"
		}
	}
	return ""
}

// likeDotsAndSlashes are characters that some servers convert to dots and slashes:
// those whose Unicode compatibility form is one.
const likeDotsAndSlashes = "\u2024\u2025\u2026\uff0e\ufe52\uff61\u2044\u2215\uff0f\uff3c\u29f5\u29f8\ufe68"

// aliases maps other names of registries.
var aliases = map[string]string{
	// Docker Hub's API has a different host from the name that users write.
	"docker.io":       "registry-1.docker.io",
	"index.docker.io": "registry-1.docker.io",
}

func hostOf(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if alias, found := aliases[host]; found && u.Scheme == "oci" {
		return alias
	}
	return host
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

func segmentsOf(u *url.URL) []string {
	return strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
}

// allows reports whether a URL is at or below an entry of the list.
func (l allowList) allows(u *url.URL) bool {
	if u.User != nil || pathFault(u) != "" {
		return false
	}
	for _, p := range l {
		if p.matches(u) {
			return true
		}
	}
	return false
}

func (p pattern) matches(u *url.URL) bool {
	if p.scheme != u.Scheme || p.port != portOf(u) || !p.matchesHost(hostOf(u)) {
		return false
	}
	segments := segmentsOf(u)
	if len(segments) < len(p.segments) {
		return false
	}
	for i, want := range p.segments {
		if ok, _ := path.Match(want, segments[i]); !ok && withoutGit(want) != withoutGit(segments[i]) {
			return false
		}
	}
	return true
}

// withoutGit removes the optional suffix of a repository's name.
func withoutGit(segment string) string { return strings.TrimSuffix(segment, ".git") }

func (p pattern) matchesHost(host string) bool {
	if below, wild := strings.CutPrefix(p.host, "*"); wild {
		return strings.HasSuffix(host, below) && host != below
	}
	return p.host == host
}

// containsHost reports whether an entry contains the host and port of a URL, with any
// path.
func (l allowList) containsHost(u *url.URL) bool {
	for _, p := range l {
		if p.host == hostOf(u) && p.port == portOf(u) {
			return true
		}
	}
	return false
}

// reach orders addresses by how much harm a request can do.
type reach int

const (
	public   reach = iota // the internet
	private               // private networks, a cluster
	anywhere              // also the machine itself and its link
)

// nonPublicRanges lists ranges of non-public addresses, with the reach they require.
var nonPublicRanges = []struct {
	prefix netip.Prefix
	needs  reach
	why    string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), anywhere, "the loopback of this machine"},
	{netip.MustParsePrefix("::1/128"), anywhere, "the loopback of this machine"},
	{netip.MustParsePrefix("0.0.0.0/8"), anywhere, "this machine"},
	{netip.MustParsePrefix("::/128"), anywhere, "this machine"},
	{netip.MustParsePrefix("169.254.0.0/16"), anywhere, "a link-local address, such as that of a cloud's metadata service"},
	{netip.MustParsePrefix("fe80::/10"), anywhere, "a link-local address"},
	{netip.MustParsePrefix("fd00:ec2::/32"), anywhere, "the metadata of a machine at AWS"},
	{netip.MustParsePrefix("100.100.100.200/32"), anywhere, "the metadata of a machine at Alibaba Cloud"},
	{netip.MustParsePrefix("168.63.129.16/32"), anywhere, "the host of a machine at Azure"},
	{netip.MustParsePrefix("224.0.0.0/4"), anywhere, "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), anywhere, "a reserved address"},
	{netip.MustParsePrefix("ff00::/8"), anywhere, "a multicast address"},
	{netip.MustParsePrefix("10.0.0.0/8"), private, "a private address"},
	{netip.MustParsePrefix("172.16.0.0/12"), private, "a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), private, "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), private, "an address in a provider's network"},
	{netip.MustParsePrefix("192.0.0.0/24"), private, "an address in a provider's network"},
	{netip.MustParsePrefix("198.18.0.0/15"), private, "an address for tests of networks"},
	{netip.MustParsePrefix("fc00::/7"), private, "a private address"},
	{netip.MustParsePrefix("fec0::/10"), private, "a private address"},
	// Ranges of IANA's special-purpose registry that are not globally reachable.
	{netip.MustParsePrefix("64:ff9b:1::/48"), anywhere, "an address that a network translates to one of its own (RFC 8215)"},
	{netip.MustParsePrefix("100::/64"), anywhere, "a reserved address"},
	{netip.MustParsePrefix("2001::/23"), anywhere, "a reserved address, or one of a tunnel"},
	{netip.MustParsePrefix("2001:db8::/32"), anywhere, "an address for documentation"},
	{netip.MustParsePrefix("3fff::/20"), anywhere, "an address for documentation"},
	{netip.MustParsePrefix("5f00::/16"), anywhere, "an address for segment routing within a network (SRv6)"},
}

// embeddingRanges lists ranges of IPv6 that contain an IPv4 address, at the given byte.
var embeddingRanges = []struct {
	prefix netip.Prefix
	from   int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4, RFC 3056
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // SIIT, RFC 2765
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, RFC 4291; :: and ::1 become 0.0.0.0 and 0.0.0.1
}

// embeddedIPv4 returns the IPv4 address that an IPv6 address leads to, or the address
// itself.
func embeddedIPv4(to netip.Addr) netip.Addr {
	to = to.Unmap().WithZone("")
	if !to.Is6() {
		return to
	}
	bytes := to.As16()
	for _, e := range embeddingRanges {
		if e.prefix.Contains(to) {
			return netip.AddrFrom4([4]byte(bytes[e.from : e.from+4]))
		}
	}
	// ISATAP embeds it at the end of any prefix (RFC 5214).
	if bytes[8]&^2 == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe {
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return to
}

// forbiddenReason returns why connecting to an address is not allowed, or "".
func forbiddenReason(to netip.Addr, allowed reach) string {
	to = to.Unmap().WithZone("")
	for _, a := range []netip.Addr{to, embeddedIPv4(to)} {
		for _, g := range nonPublicRanges {
			if g.prefix.Contains(a) && allowed < g.needs {
				return fmt.Sprintf("%s, %s", a, g.why)
			}
		}
	}
	return ""
}
