package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/remote"
)

func fileRef(url string) remote.Ref { return remote.Ref{Kind: remote.File, URL: url} }

func TestNothingIsAllowed(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/a": "x"}))
	for _, ref := range []remote.Ref{
		fileRef("https://files.example.com/a"),
		chartRef("https://files.example.com", ""),
		chartRef("oci://files.example.com/charts", ""),
		{Kind: remote.Repository, URL: "https://files.example.com/a"},
	} {
		refuse(t, n.fetcher(Config{}), ref, "not-allowed", "the allow-list is empty; fix: add that address")
	}
	if len(n.asked("files.example.com")) > 0 {
		t.Error("it was asked all the same")
	}
}

func TestRefusedRefs(t *testing.T) {
	t.Parallel()
	f := newInternet(t).fetcher(Config{Allow: []string{"https://files.example.com/pub", "https://*", "oci://*"}})
	for _, c := range []struct {
		ref           remote.Ref
		outcome, text string
	}{
		{fileRef("http://files.example.com/pub/a"), "not-allowed", "not on the allow-list"},
		{fileRef("https://user:hunter2@files.example.com/pub/a"), "bad-ref", "contains a user or a password"},
		{fileRef("https://files.example.com/pub/../a"), "bad-ref", ". or .. in its path"},
		{fileRef("https://files.example.com:444/pub/a"), "not-allowed", "not on the allow-list"},
		{fileRef("file:///etc/passwd"), "bad-ref", "not a URL with a scheme and a host"},
		{fileRef("oci://files.example.com/pub/a"), "bad-ref", "is neither https"},
		{fileRef("https://127.0.0.1/pub"), "not-allowed", "the loopback of this machine"},
		{fileRef("https://2130706433/pub"), "not-allowed", "an IP address in an ambiguous notation"},
		{fileRef("https://localhost/pub"), "not-allowed", "localhost leads to"},
		{fileRef("https://[::ffff:169.254.169.254]/latest"), "not-allowed", "metadata"},
		{fileRef("https://nowhere.example.com/"), "unreachable", "its name does not resolve"},
		{remote.Ref{Kind: remote.Repository, URL: "ssh://git@github.com/a/b"}, "bad-ref", "uses ssh"},
		{remote.Ref{Kind: remote.Repository, URL: "git@github.com:a/b.git"}, "bad-ref", "uses ssh"},
		{remote.Ref{Kind: "image", URL: "https://files.example.com"}, "bad-ref", `unknown source kind "image"`},
		{remote.Ref{Kind: remote.Chart, URL: "https://files.example.com", Chart: "../x"}, "bad-ref", "not a valid name of a chart"},
		{remote.Ref{Kind: remote.Chart, URL: "oci://files.example.com/x", Chart: "app:1.0.0"}, "bad-ref", "not a valid name of a chart"},
		{remote.Ref{Kind: remote.Chart, URL: "oci://files.example.com/UPPER", Chart: "app"}, "bad-ref", "not a URL of a registry"},
		{remote.Ref{Kind: remote.Chart, URL: "oci://files.example.com/x", Chart: "app", Version: "1.0.0@sha256:12"}, "bad-ref", "not a digest"},
		{remote.Ref{Kind: remote.Chart, URL: "oci://files.example.com/x", Chart: "app", Version: "one"}, "bad-ref",
			"neither a version nor a range"},
	} {
		refuse(t, f, c.ref, c.outcome, c.text)
		if _, err := f.Fetch(t.Context(), c.ref); strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Error(err)
		}
	}
}

// TestRedirects has where a file may lead.
func TestRedirects(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	to := ""
	redirecting := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pub/content" {
			_, _ = io.WriteString(w, "content")
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	}
	for _, host := range []string{"files.example.com", "other.example.com", "evil.example.net", "github.com",
		"objects.githubusercontent.com"} {
		n.host(host, redirecting)
	}
	n.plainHost("files.example.com", redirecting)
	dir := t.TempDir()
	for _, host := range []string{"files.example.com", "other.example.com", "github.com", "objects.githubusercontent.com"} {
		write(t, dir+"/"+host+"/token", "hunter2")
	}
	f := n.fetcher(Config{Allow: []string{"https://files.example.com/pub", "https://other.example.com", "https://github.com/org"},
		Credentials: Credentials{Dir: dir}, TTL: -1})
	for _, c := range []struct{ from, to, outcome, text string }{
		{"https://files.example.com/pub/a", "/pub/content", "", ""},
		{"https://files.example.com/pub/a", "https://other.example.com/pub/content", "", ""},
		{"https://github.com/org/repo/releases/download/v1/a", "https://objects.githubusercontent.com/pub/content", "", ""},
		{"https://files.example.com/pub/a", "/secret", "not-allowed", "redirects to https://files.example.com/secret, which is not allowed"},
		{"https://files.example.com/pub/a", "https://files.example.com.evil.example.net/pub/content", "not-allowed", "which is not allowed"},
		{"https://files.example.com/pub/a", "https://evil.example.net/pub/content", "not-allowed", "evil.example.net"},
		{"https://files.example.com/pub/a", "https://objects.githubusercontent.com/pub/content", "not-allowed", "which is not allowed"},
		{"https://files.example.com/pub/a", "http://files.example.com/pub/content", "not-allowed", "without TLS"},
		{"https://files.example.com/pub/a", "https://user:hunter2@other.example.com/pub/content", "not-allowed", "with credentials"},
		{"https://files.example.com/pub/a", "https://169.254.169.254/latest/meta-data", "not-allowed", "metadata"},
		{"https://files.example.com/pub/a", "https://127.0.0.1/", "not-allowed", "loopback"},
		{"https://files.example.com/pub/a", "http://169.254.169.254/latest/meta-data",
			"not-allowed", "files.example.com leads to 169.254.169.254, which is 169.254.169.254, a link-local address, " +
				"such as that of a cloud's metadata service; fix: contact its administrator"},
		{"https://169.254.169.254/latest", "", "not-allowed", "metadata service; fix: use a source with a public address"},
		{"https://files.example.com/pub/a", "ftp://files.example.com/pub/content", "not-allowed", "without TLS"},
		{"https://files.example.com/pub/a", "/pub/a", "broken", "redirects in a loop"},
	} {
		to = c.to
		if c.outcome == "" {
			if got := get(t, f, fileRef(c.from)); string(got.Data) != "content" {
				t.Errorf("%s to %s: %q", c.from, c.to, got.Data)
			}
			continue
		}
		refuse(t, f, fileRef(c.from), c.outcome, c.text)
	}
	for _, host := range []string{"other.example.com", "objects.githubusercontent.com", "evil.example.net"} {
		for _, r := range n.asked(host) {
			if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
				t.Errorf("after a redirect %s got %v", host, r.Header)
			}
		}
	}
	if len(n.asked("other.example.com")) == 0 || len(n.asked("evil.example.net")) > 0 {
		t.Error("other.example.com was not asked, or evil.example.net was")
	}
	for _, r := range n.asked("files.example.com") {
		if r.Header.Get("Authorization") != "Bearer hunter2" {
			t.Errorf("%s without its token", r.URL)
		}
	}
}

// TestThereAndBack has a redirect away from a host and back to it: what comes back
// may ask for anything.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.host("files.example.com", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "https://other.example.com/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	})
	n.host("other.example.com", http.RedirectHandler("https://files.example.com/private", http.StatusFound).ServeHTTP)
	dir := t.TempDir()
	write(t, dir+"/files.example.com/token", "hunter2")
	f := n.fetcher(Config{Allow: []string{"https://*"}, Credentials: Credentials{Dir: dir}})
	if got := get(t, f, fileRef("https://files.example.com/a")); len(got.Data) != 0 {
		t.Errorf("it takes %q along", got.Data)
	}
}

// TestNamesThatLeadInside has names, not addresses, of what is inside.
func TestNamesThatLeadInside(t *testing.T) {
	t.Parallel()
	inside := httptest.NewTLSServer(serving(map[string]string{"/": "inside"}))
	defer inside.Close()
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	address := "https://localhost:" + port
	n := newInternet(t)
	dir := t.TempDir()
	write(t, dir+"/localhost_"+port+"/insecure", "true")
	for _, allow := range []string{"https://*:" + port, address} {
		for _, private := range [][]string{nil, {"*"}, {"*.localhost"}, {"127.0.0.2"}} {
			f := n.fetcher(Config{Allow: []string{allow}, AllowPrivate: private, Credentials: Credentials{Dir: dir}})
			refuse(t, f, fileRef(address), "not-allowed", "add the host to --allow-private")
		}
	}
	get(t, n.fetcher(Config{Allow: []string{address}, AllowPrivate: []string{"localhost"}, Credentials: Credentials{Dir: dir}}),
		fileRef(address+"/"))
	get(t, n.fetcher(Config{Allow: []string{address}, AllowPrivate: []string{"127.0.0.0/8", "::1"}, Credentials: Credentials{Dir: dir}}),
		fileRef(address+"/"))
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	n.plainHost("files.example.com", serving(map[string]string{"/a": "content"}))
	ref := fileRef("http://files.example.com/a")
	refuse(t, n.fetcher(Config{Allow: []string{"https://files.example.com"}}), ref, "not-allowed", "not on the allow-list")
	refuse(t, n.fetcher(Config{Allow: []string{"http://files.example.com"}}), ref, "not-allowed", "list the host as one without TLS")
	get(t, n.fetcher(Config{Allow: []string{"http://files.example.com"}, PlainHTTP: []string{"files.example.com"}}), ref)
}

// TestProxy reaches hosts only through the proxy of the environment.
func TestProxy(t *testing.T) {
	n := newInternet(t)
	n.host("files.example.com", serving(map[string]string{"/a": "content"}))
	n.host("direct.example.com", serving(map[string]string{"/a": "content"}))
	var through []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = append(through, r.Method+" "+r.Host)
		if _, password, ok := strings.Cut(r.Header.Get("Proxy-Authorization"), " "); !ok || password == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", n.hosts[r.Host])
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); to.Close() }()
		_, _ = io.Copy(from, to)
		from.Close()
	}))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", "http://user:hunter2@"+proxy.Listener.Addr().String())
	t.Setenv("NO_PROXY", "direct.example.com")
	f := n.fetcher(Config{Allow: []string{"https://*"}, Limits: Limits{Retries: -1}})
	get(t, f, fileRef("https://files.example.com/a"))
	get(t, f, fileRef("https://direct.example.com/a"))
	refuse(t, f, fileRef("https://169.254.169.254/a"), "not-allowed", "metadata")
	refuse(t, f, fileRef("https://gone.example.com/a"), "unreachable", "gone.example.com cannot be reached")
	// A name that leads inside is not asked for there, either.
	inside := n.fetcher(Config{Allow: []string{"https://*"}, Limits: Limits{Retries: -1}})
	inside.resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("fd00:ec2::254")}, nil
	}
	refuse(t, inside, fileRef("https://files.example.com/a"), "not-allowed", "files.example.com leads to fd00:ec2::254")
	if got := strings.Join(through, ", "); got != "CONNECT files.example.com:443, CONNECT gone.example.com:443" {
		t.Errorf("through the proxy: %s", got)
	}
	t.Setenv("HTTPS_PROXY", "http://user:hunter3@"+strings.Replace(proxy.Listener.Addr().String(), "127.0.0.1", "127.0.0.2", 1))
	_, err := n.fetcher(Config{Allow: []string{"https://*"}, Limits: Limits{Retries: -1}}).Fetch(t.Context(),
		fileRef("https://files.example.com/a"))
	if err == nil || strings.Contains(err.Error(), "hunter3") {
		t.Error(err)
	}
}
