package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/ladder-cmp/ladder/finding"
)

// pattern is an entry of Config.Allow, taken apart.
type pattern struct {
	text     string
	scheme   string
	host     string // in lower case; may be "*" or begin with "*."
	port     string
	segments []string // of the path; each may hold "*"
}

// allowList is what may be fetched.
type allowList []pattern

// parseAllow reads entries. The error joins a finding for each that is wrong.
func parseAllow(entries []string) (allowList, []error) {
	var list allowList
	var wrong []error
	for _, entry := range entries {
		p, fault := parsePattern(entry)
		if fault != "" {
			wrong = append(wrong, finding.Finding{Severity: finding.Error, Rule: "bad-allow-list", Object: "allow-list",
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
		return pattern{}, "holds a query, which is not compared"
	}
	p := pattern{text: entry, scheme: u.Scheme, host: hostOf(u), port: portOf(u), segments: segmentsOf(u)}
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

// parseAddress reads an address that people write, and says what is wrong with
// it. What two programs could read in two ways is wrong.
func parseAddress(address string) (*url.URL, string) {
	u, err := url.Parse(address)
	switch {
	case byScp.MatchString(address), err == nil && u.Scheme == "ssh":
		return nil, "is fetched by ssh, and here nothing is but by https:// and oci://"
	case err != nil || strings.ContainsAny(address, "\\\t\r\n "):
		return nil, "is no address that can be read"
	case u.Scheme == "" || u.Host == "":
		return nil, "is no address with a scheme and a host"
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return nil, "is neither https:// nor oci://"
	case u.User != nil:
		return nil, "holds a user or a password"
	case strings.Trim(u.Host, asciiOfHosts) != "":
		return nil, "has a host that is not written in ASCII"
	case u.Fragment != "":
		return nil, "holds a fragment (#)"
	}
	return u, faultOfPath(u)
}

// byScp are addresses of git repositories as scp has them: git@host:org/repo.
var byScp = regexp.MustCompile(`^[\w.-]+@[\w.-]+:[^/]`)

// asciiOfHosts are the bytes of a host and its port.
const asciiOfHosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]*"

// faultOfPath says why a path may be another one to its server than to us.
func faultOfPath(u *url.URL) string {
	if strings.Contains(u.Path, "\\") || strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") {
		return "has slashes in disguise in its path"
	}
	for _, s := range strings.Split(u.Path, "/") {
		if s == "." || s == ".." {
			return "has . or .. in its path"
		}
	}
	return ""
}

// aliases are other names of one registry.
var aliases = map[string]string{
	// Docker Hub's API is at none of the names that people write.
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

// allows says whether an address is at or below one of the list.
func (l allowList) allows(u *url.URL) bool {
	if u.User != nil || faultOfPath(u) != "" {
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

// withoutGit cuts the ending off that a repository may be written with or not.
func withoutGit(segment string) string { return strings.TrimSuffix(segment, ".git") }

func (p pattern) matchesHost(host string) bool {
	if below, wild := strings.CutPrefix(p.host, "*"); wild {
		return strings.HasSuffix(host, below) && host != below
	}
	return p.host == host
}

// reach says how far into our own networks a connection to a host may lead.
func (l allowList) reach(host string) reach {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	far := public
	for _, p := range l {
		switch {
		case p.host == host:
			return anywhere
		case p.matchesHost(host):
			far = private
		}
	}
	return far
}

// names says whether an entry names the host and port of an address, with whatever
// path.
func (l allowList) names(u *url.URL) bool {
	for _, p := range l {
		if p.host == hostOf(u) && p.port == portOf(u) {
			return true
		}
	}
	return false
}

// reach orders addresses by the harm that a request can do there.
type reach int

const (
	public   reach = iota // what everyone can ask
	private               // the networks of a company, a cluster
	anywhere              // the machine itself and its neighbours too
)

// guarded are ranges of addresses that are not public, with what it takes to be
// sent there.
var guarded = []struct {
	prefix netip.Prefix
	needs  reach
	why    string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), anywhere, "the loopback of this machine"},
	{netip.MustParsePrefix("::1/128"), anywhere, "the loopback of this machine"},
	{netip.MustParsePrefix("0.0.0.0/8"), anywhere, "this machine"},
	{netip.MustParsePrefix("::/128"), anywhere, "this machine"},
	{netip.MustParsePrefix("169.254.0.0/16"), anywhere, "a link-local address, as clouds have their metadata at"},
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
	{netip.MustParsePrefix("100.64.0.0/10"), private, "an address inside of a provider's network"},
	{netip.MustParsePrefix("192.0.0.0/24"), private, "an address inside of a provider's network"},
	{netip.MustParsePrefix("198.18.0.0/15"), private, "an address for tests of networks"},
	{netip.MustParsePrefix("fc00::/7"), private, "a private address"},
	{netip.MustParsePrefix("fec0::/10"), private, "a private address"},
}

// embedding are ranges of IPv6 that hold an address of IPv4, from a byte on.
var embedding = []struct {
	prefix netip.Prefix
	from   int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4, RFC 3056
}

// guard says why a connection may not lead to an address, or "".
func guard(to netip.Addr, may reach) string {
	to = to.Unmap().WithZone("")
	for _, e := range embedding {
		if e.prefix.Contains(to) {
			bytes := to.As16()
			to = netip.AddrFrom4([4]byte(bytes[e.from : e.from+4]))
		}
	}
	for _, g := range guarded {
		if g.prefix.Contains(to) {
			if may >= g.needs {
				return ""
			}
			return fmt.Sprintf("%s, %s", to, g.why)
		}
	}
	return ""
}

// guardHost says why a host that is an address, in whatever spelling, may not be
// asked, or "". Names are looked at when they have become addresses.
func guardHost(host string, may reach) string {
	if to, err := netip.ParseAddr(host); err == nil {
		return guard(to, may)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if may < anywhere && last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")) {
		return "an address in a spelling that programs read in different ways"
	}
	return ""
}
