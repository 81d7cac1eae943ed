package fetch

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// privateList is the parsed Config.AllowPrivate.
type privateList struct {
	hosts    []pattern // only the host is used
	networks []netip.Prefix
}

// parsePrivate parses entries. The errors are findings.
func parsePrivate(entries []string) (list privateList, wrong []error) {
	for _, entry := range entries {
		host := strings.TrimSuffix(strings.ToLower(entry), ".")
		if to, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
			list.networks = append(list.networks, netip.PrefixFrom(to, to.BitLen()))
			continue
		}
		if network, err := netip.ParsePrefix(host); err == nil {
			list.networks = append(list.networks, network.Masked())
			continue
		}
		star := strings.TrimPrefix(host, "*.")
		if host != "*" && (star == "" || strings.Trim(star, hostCharacters) != "" || strings.ContainsAny(star, "*:")) {
			wrong = append(wrong, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: "--allow-private",
				Message: "\"" + finding.WithoutCredentials(entry) + "\" is neither a host nor a network",
				Remedy:  "write a host alone, such as charts.corp.example or *.corp.example, or a network such as 10.20.0.0/16"})
			continue
		}
		list.hosts = append(list.hosts, pattern{host: host})
	}
	return list, wrong
}

// reach returns how far connections to a host may reach into private networks.
func (l privateList) reach(host string) reach {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	far := public
	for _, p := range l.hosts {
		switch {
		case p.host == host:
			return anywhere
		case p.matchesHost(host):
			far = private
		}
	}
	return far
}

// forbiddenReason returns why a connection to a host at an address is forbidden, or
// "".
func (l privateList) forbiddenReason(host string, to netip.Addr) string {
	plain := to.Unmap().WithZone("")
	if slices.ContainsFunc(l.networks, func(n netip.Prefix) bool { return n.Contains(plain) || n.Contains(embeddedIPv4(plain)) }) {
		return ""
	}
	return forbiddenReason(to, l.reach(host))
}

// forbiddenHostReason returns why a host that is an IP address, in any notation, is
// forbidden, or "". Names are checked when they are resolved.
func (l privateList) forbiddenHostReason(host string) string {
	if to, err := netip.ParseAddr(host); err == nil {
		return l.forbiddenReason(host, to)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")) {
		return "an IP address in an ambiguous notation"
	}
	return ""
}

// allowPrivateRemedy is the remedy for forbidden addresses.
const allowPrivateRemedy = "add the host to --allow-private if this is intended"
