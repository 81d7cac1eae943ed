package fetch

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entry, address string
		want           bool
	}{
		{"https://charts.example.com", "https://charts.example.com", true},
		{"https://charts.example.com", "https://charts.example.com/stable/index.yaml?x=y", true},
		{"https://charts.example.com/", "https://CHARTS.example.com.:443/stable", true},
		{"https://charts.example.com", "https://charts.example.com.evil.io", false},
		{"https://charts.example.com", "https://charts.example.com@evil.io/", false},
		{"https://charts.example.com", "https://evil.io/https://charts.example.com", false},
		{"https://charts.example.com", "https://xcharts.example.com", false},
		{"https://charts.example.com", "https://sub.charts.example.com", false},
		{"https://charts.example.com", "http://charts.example.com", false},
		{"https://charts.example.com", "oci://charts.example.com/a", false},
		{"https://charts.example.com", "https://charts.example.com:8443", false},
		{"https://charts.example.com:8443", "https://charts.example.com:8443/a", true},
		{"https://charts.example.com/stable", "https://charts.example.com/stable", true},
		{"https://charts.example.com/stable", "https://charts.example.com/stable/a.tgz", true},
		{"https://charts.example.com/stable", "https://charts.example.com/stable-evil", false},
		{"https://charts.example.com/stable", "https://charts.example.com/stable/../secret", false},
		{"https://charts.example.com/stable", "https://charts.example.com/stable/%2e%2e/secret", false},
		{"https://charts.example.com/stable", "https://charts.example.com/stable/..%2fsecret", false},
		{"https://charts.example.com/stable", `https://charts.example.com/stable/..%5csecret`, false},
		{"https://charts.example.com/stable", "https://charts.example.com/", false},
		{"oci://ghcr.io/org/*", "oci://ghcr.io/org/charts/app", true},
		{"oci://ghcr.io/org/*", "oci://ghcr.io/org", false},
		{"oci://ghcr.io/org/*", "oci://ghcr.io/organisation/app", false},
		{"oci://ghcr.io/org-*/app", "oci://ghcr.io/org-a/app", true},
		{"oci://ghcr.io/org-*/app", "oci://ghcr.io/org-a/b/app", false},
		{"oci://docker.io/org", "oci://registry-1.docker.io/org/app", true},
		{"oci://docker.io/org", "oci://docker.io/org/app", true},
		{"https://github.com/org", "https://github.com/org/repo.git", true},
		{"https://github.com/org/repo", "https://github.com/org/repo.git", true},
		{"https://github.com/org/repo.git", "https://github.com/org/repo/a", true},
		{"https://github.com/org/repo", "https://github.com/org/repository", false},
		{"https://*.example.com", "https://a.b.example.com/x", true},
		{"https://*.example.com", "https://example.com", false},
		{"https://*.example.com", "https://evil-example.com", false},
		{"https://*.example.com", "https://a.example.com.evil.io", false},
		{"https://*", "https://anything.at.all/x", true},
		{"https://*", "oci://anything.at.all/x", false},
		{"https://*", "https://anything.at.all:8443/x", false},
	} {
		list, wrong := parseAllow([]string{c.entry})
		if wrong != nil {
			t.Errorf("%s: %v", c.entry, wrong)
			continue
		}
		u, err := url.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := list.allows(u); got != c.want {
			t.Errorf("%s allows %s: %v, want %v", c.entry, c.address, got, c.want)
		}
	}
}

// TestBadAllowList has all that is wrong said at once.
func TestBadAllowList(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"ghcr.io/org":                      "is not a URL with a scheme",
		"git@github.com:org/repo":          "uses ssh",
		"ftp://files.example.com/org":      "neither https:// nor oci://",
		"https://user:hunter2@host":        "a user or a password",
		"https://char*s.example.com":       "in the middle of its host",
		"https://host/a?token=hunter2":     "a query",
		"https://host/a/../b":              ". or ..",
		"https://host/[":                   "pattern",
		"https://\u212Abernetes.io":        "ASCII",
		"https://host/a b":                 "cannot be read",
		"https://":                         "is not a URL with a scheme",
		"https://charts.example.com/a%2fb": "contains escaped slashes in its path",
	}
	var entries []string
	for entry := range wrong {
		entries = append(entries, entry)
	}
	_, err := New(Config{Allow: append(entries, "https://good.example.com"), OnFailure: "perhaps"})
	if err == nil {
		t.Fatal("it is taken")
	}
	text := err.Error()
	for entry, want := range wrong {
		if !strings.Contains(text, want) {
			t.Errorf("%s: %q is not in\n%s", entry, want, text)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "good.example.com") || !strings.Contains(text, "neither error nor cached") {
		t.Error(text)
	}
	if n := strings.Count(text, "\n") + 1; n != len(wrong)+1 {
		t.Errorf("%d lines for %d faults:\n%s", n, len(wrong)+1, text)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]reach{
		"93.184.216.34":          public,
		"2606:2800:220:1::1":     public,
		"10.1.2.3":               private,
		"172.31.0.1":             private,
		"172.32.0.1":             public,
		"192.168.1.1":            private,
		"100.64.0.1":             private,
		"fd12:3456::1":           private,
		"127.0.0.1":              anywhere,
		"127.255.0.1":            anywhere,
		"::1":                    anywhere,
		"0.0.0.0":                anywhere,
		"::":                     anywhere,
		"169.254.169.254":        anywhere,
		"fe80::1":                anywhere,
		"fe80::1%eth0":           anywhere,
		"fd00:ec2::254":          anywhere,
		"100.100.100.200":        anywhere,
		"168.63.129.16":          anywhere,
		"::ffff:127.0.0.1":       anywhere,
		"::ffff:169.254.169.254": anywhere,
		"64:ff9b::a9fe:a9fe":     anywhere, // NAT64 of 169.254.169.254
		"64:ff9b::5db8:d822":     public,
		"2002:7f00:1::":          anywhere, // 6to4 of 127.0.0.1
		"224.0.0.1":              anywhere,
		"255.255.255.255":        anywhere,
	} {
		for _, may := range []reach{public, private, anywhere} {
			why := forbiddenReason(netip.MustParseAddr(address), may)
			if (why == "") != (may >= want) {
				t.Errorf("%s for reach %d: %q", address, may, why)
			}
		}
	}
	list, _ := parsePrivate([]string{"*"})
	for _, host := range []string{"2130706433", "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.1"} {
		if list.forbiddenHostReason(host) == "" {
			t.Errorf("%s is let through", host)
		}
	}
	if why := list.forbiddenHostReason("charts.example.com"); why != "" {
		t.Error(why)
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	list, wrong := parsePrivate([]string{"charts.corp.example", "*.inner.example", "localhost", "10.20.0.0/16", "192.168.7.7", "[fd12::7]"})
	if wrong != nil {
		t.Fatal(wrong)
	}
	for host, want := range map[string]reach{
		"charts.corp.example": anywhere,
		"CHARTS.corp.example": anywhere,
		"a.inner.example":     private,
		"localhost":           anywhere,
		"elsewhere.example":   public,
	} {
		if got := list.reach(host); got != want {
			t.Errorf("%s: %d, want %d", host, got, want)
		}
	}
	for address, want := range map[string]bool{"10.20.3.4": true, "::ffff:10.20.3.4": true, "64:ff9b::10.20.3.4": true, "10.21.0.1": false,
		"192.168.7.7": true, "192.168.7.8": false,
		"fd12::7": true, "fd12::8": false, "169.254.169.254": false} {
		if why := list.forbiddenReason("elsewhere.example", netip.MustParseAddr(address)); (why == "") != want {
			t.Errorf("%s: %q", address, why)
		}
	}
	if _, wrong := parsePrivate([]string{"https://charts.corp.example", "a*b", "", "host:8443", "10.20.0.0/40"}); len(wrong) != 5 {
		t.Errorf("%d faults: %v", len(wrong), wrong)
	}
}
