package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// attempt is one try to fetch a Ref. All of its requests, from whichever library,
// go through its RoundTrip method, which controls where they go, which credentials
// they carry and how much they may transfer.
type attempt struct {
	f   *Fetcher
	ctx context.Context
	ref remote.Ref
	// at is the URL of the credential. Requests to its origin carry it, unless
	// another origin redirected to them.
	at         *url.URL
	credential credential
	// verified means that the content is compared with a digest from an allowed
	// URL, so its sender matters less.
	verified bool
	// ignoreCache means that the cache is ignored.
	ignoreCache bool
	backend     backend

	mu         sync.Mutex
	left       int64    // bytes that may still be transferred
	lastStatus int      // the status of the last response
	first      *failure // the first problem found by the attempt itself
}

// begin starts an attempt for a URL that was found to be allowed.
func (f *Fetcher) begin(ctx context.Context, ref remote.Ref, at *url.URL) (*attempt, error) {
	e := &attempt{f: f, ctx: ctx, ref: ref, left: f.limits.Bytes, backend: f.backend}
	return e, e.visit(at)
}

// visit switches the attempt to another URL and its credential.
func (e *attempt) visit(at *url.URL) error {
	found, err := e.backend.credential(at)
	if err != nil {
		return err
	}
	e.at, e.credential = at, found
	return nil
}

// client returns the HTTP client for libraries.
func (e *attempt) client() *http.Client {
	return &http.Client{Transport: e, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return e.note(failed(broken, "check the URL", "%s redirects in a loop", e.host()))
		}
		return nil // RoundTrip checks the target
	}}
}

// host returns the host as users know it.
func (e *attempt) host() string { return e.at.Host }

func (e *attempt) note(f *failure) *failure {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first == nil {
		e.first = f
	}
	return f
}

func (e *attempt) fault() *failure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.first
}

func (e *attempt) status() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastStatus
}

// RoundTrip sends a request if its target is allowed.
func (e *attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := e.admit(req); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	own := !e.wasRedirected(req) && sameOrigin(req.URL, e.origin()) && e.credential.covers(e.addressOf(req.URL))
	redirected := previousRequest(req) != nil
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", "ladder-cmp")
	req.Header.Del("Referer") // it contains the query of the previous URL
	if redirected && !own {
		req.Header.Del("Authorization")
		req.Header.Del("Cookie")
	}
	if own && e.at.Scheme != "oci" { // registries have their own protocol
		e.credential.sign(req)
	}
	transport, err := e.f.transport(e.credential.Identity, own)
	if err != nil {
		return nil, e.note(failed(denied, "correct the credentials for "+e.host()+" in "+e.credential.Source, "%s", err))
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, e.note(e.failureToSend(req.URL.Host, err))
	}
	e.mu.Lock()
	e.lastStatus = res.StatusCode
	e.mu.Unlock()
	if f := e.failureOfStatus(res.StatusCode); f != nil && retryable[f.outcome] {
		f.after = retryAfter(res.Header.Get("Retry-After"), e.f.now())
		res.Body.Close()
		return nil, e.note(f)
	}
	res.Body = &countedBody{newMinRateBody(res.Body, e.f.window, e.f.minBytes()), e}
	return res, nil
}

// minBytes returns the minimum number of bytes per window.
func (f *Fetcher) minBytes() int64 { return int64(float64(f.limits.Rate) * f.window.Seconds()) }

// addressOf returns the URL of a request's subject: in requests to registries the
// name is in the middle of the path.
func (e *attempt) addressOf(u *url.URL) *url.URL {
	if e.at.Scheme != "oci" {
		return u
	}
	name := strings.TrimPrefix(u.Path, "/v2/")
	for _, part := range []string{"/blobs/", "/manifests/", "/tags/", "/referrers/"} {
		if i := strings.LastIndex(name, part); i >= 0 {
			name = name[:i]
		}
	}
	return &url.URL{Scheme: "oci", Host: u.Host, Path: "/" + strings.TrimPrefix(name, "/")}
}

// maxRetryAfter is the maximum of Retry-After: longer than any fetch may take.
const maxRetryAfter = 24 * time.Hour

// retryAfter parses the Retry-After header, which contains seconds or a date (RFC
// 9110, 10.2.3). Invalid and past values are 0.
func retryAfter(header string, now time.Time) time.Duration {
	seconds, err := strconv.ParseUint(header, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // on overflow, it is the maximum
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, min(date.Sub(now), maxRetryAfter))
	}
	return 0
}

// origin returns the URL of the attempt in the form of requests.
func (e *attempt) origin() *url.URL {
	if e.at.Scheme != "oci" {
		return e.at
	}
	scheme := "https"
	if e.f.usesPlainHTTP(e.at.Host) {
		scheme = "http"
	}
	host := hostOf(e.at)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := e.at.Port(); port != "" {
		host += ":" + port
	}
	return &url.URL{Scheme: scheme, Host: host}
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && hostOf(a) == hostOf(b) && portOf(a) == portOf(b)
}

// previousRequest returns the request whose response redirected to req.
func previousRequest(req *http.Request) *http.Request {
	if req.Response == nil {
		return nil
	}
	return req.Response.Request
}

// wasRedirected reports whether another origin redirected to the request, directly or
// earlier. A redirect back to the first origin could have been forged.
func (e *attempt) wasRedirected(req *http.Request) bool {
	for last := previousRequest(req); last != nil; req, last = last, previousRequest(last) {
		if !sameOrigin(last.URL, req.URL) {
			return true
		}
	}
	return false
}

// contentHosts lists hosts to which a service redirects for its content, so that
// allow-lists need not contain them.
var contentHosts = []struct{ from, to, why string }{
	{"github.com", "*.githubusercontent.com", "assets of releases, and raw files"},
	{"github.com", "codeload.github.com", "archives of repositories"},
	{"ghcr.io", "*.githubusercontent.com", "layers"},
	{"registry.k8s.io", "*.pkg.dev", "the registries that it is a front of"},
}

// tokenServices maps registries to the hosts of their token services, which use the
// same credentials.
var tokenServices = map[string]string{
	"registry-1.docker.io": "auth.docker.io",
	"registry.gitlab.com":  "gitlab.com",
}

// admit returns an error if a request may not be sent.
func (e *attempt) admit(req *http.Request) error {
	u := req.URL
	host := hostOf(u)
	refuse := func(remedy, format string, args ...any) error {
		return e.note(failed(notAllowed, remedy, format, args...))
	}
	last := previousRequest(req)
	if why := e.f.private.forbiddenHostReason(host); why != "" {
		if last == nil && sameOrigin(u, e.origin()) {
			return refuse(allowPrivateRemedy, "%s is %s", u.Host, why)
		}
		return refuse("contact its administrator", "%s leads to %s, which is %s", e.host(), u.Host, why)
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && e.f.usesPlainHTTP(u.Host)) {
		return refuse("use https, or list the host as one without TLS (--remote-plain-http)", "%s would be contacted without TLS", u.Host)
	}
	if u.User != nil {
		return refuse("remove the credentials from the address", "%s redirects to an address with credentials", e.host())
	}
	secret := req.Header.Get("Authorization") != "" || req.Method == http.MethodPost
	switch {
	case secret && req.Method == http.MethodPost && e.wasRedirected(req):
		return refuse("contact its administrator", "%s redirects credentials to %s", e.host(), u.Host)
	case last == nil && sameOrigin(u, e.origin()):
		return nil // the source of the Ref
	case last != nil && e.at.Scheme == "oci" && sameOrigin(u, e.origin()) && sameOrigin(last.URL, u):
		return nil // within a registry, paths differ from those of the allow-list
	case e.f.allow.allows(u), e.at.Scheme == "oci" && last != nil && e.f.allow.containsHost(u):
		return nil
	case last == nil && e.at.Scheme == "oci":
		// Besides the registry and its redirects, the registry's client only
		// requests the token service that the registry names.
		if !secret || tokenServices[hostOf(e.at)] == host || e.f.allow.containsHost(u) {
			return nil
		}
		return refuse("add that address to the allow-list if it issues the tokens of this registry",
			"%s requests that the credentials be sent to %s", e.host(), u.Host)
	case last != nil && (e.verified || e.at.Scheme == "oci" && hasDigest(firstRequest(req).URL.Path)):
		return nil
	case last == nil && e.verified:
		return nil
	}
	if last == nil {
		return refuse(toAllow, "%s names %s://%s%s, which is not allowed", e.host(), u.Scheme, u.Host, u.Path)
	}
	for _, d := range contentHosts {
		if hostOf(last.URL) == d.from && (pattern{host: d.to}).matchesHost(host) {
			return nil
		}
	}
	return refuse(toAllow, "%s redirects to %s://%s%s, which is not allowed", last.URL.Host, u.Scheme, u.Host, u.Path)
}

// firstRequest returns the first request of a chain of redirects.
func firstRequest(req *http.Request) *http.Request {
	for last := previousRequest(req); last != nil; last = previousRequest(req) {
		req = last
	}
	return req
}

// hasDigest reports whether a path of a registry contains the digest of its content,
// which the registry's client verifies.
func hasDigest(path string) bool {
	return strings.Contains(path, "/blobs/sha256:") || strings.Contains(path, "/manifests/sha256:")
}

// failureToSend converts the error of a request without a response.
func (e *attempt) failureToSend(host string, err error) *failure {
	var known *failure
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &known):
		return known
	case e.ctx.Err() != nil && errors.Is(e.ctx.Err(), context.DeadlineExceeded):
		return e.tookTooLong()
	case e.ctx.Err() != nil:
		return &failure{outcome: canceled, message: "was canceled"}
	case errors.As(err, &header), strings.Contains(err.Error(), http.ErrSchemeMismatch.Error()):
		return failed(untrusted, "correct the port, or list the host as one without TLS (--remote-plain-http)", "%s does not speak TLS", host)
	case errors.As(err, &authority):
		return failed(untrusted, "add the authority's certificate as ca.crt to the host's credentials (--remote-credentials), "+
			"or for all hosts (--remote-ca)", "the certificate of %s is signed by an unknown authority", host)
	case errors.As(err, &name), errors.As(err, &invalid), errors.As(err, &verification):
		return failed(untrusted, "contact its administrator", "the certificate of %s is invalid: %s", host, short(err.Error()))
	}
	return failed(unreachable, "check that it runs and can be reached from here, or try again later", "%s cannot be reached: %s",
		host, short(reason(err)))
}

// reason returns the innermost text of a connection error; outer texts repeat
// addresses, and a proxy's may contain a password.
func reason(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "its name does not resolve: " + dns.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// countedBody is a response body whose bytes count toward the attempt's limit.
type countedBody struct {
	*minRateBody
	of *attempt
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.minRateBody.Read(p)
	e := c.of
	e.f.metrics.bytes.WithLabelValues(string(e.ref.Kind)).Add(float64(n))
	e.f.downloaded.Add(int64(n))
	e.mu.Lock()
	e.left -= int64(n)
	over := e.left < 0
	e.mu.Unlock()
	switch {
	case over:
		return 0, e.note(failed(tooLarge, moreBytes, "%s sends more than %d bytes", e.host(), e.f.limits.Bytes))
	case err != nil && c.slow.Load():
		return n, e.note(failed(slow, "try again later", "%s sends less than %d bytes a second", e.host(), e.f.limits.Rate))
	case err != nil && e.ctx.Err() != nil:
		// A server that closes regularly after we hang up has sent a complete
		// response, too.
		return n, e.note(e.failureToSend(e.host(), err))
	//lint:ignore errorlint a reader returns io.EOF itself; wrapped it is a failure
	case err != nil && err != io.EOF:
		return n, e.note(failed(unreachable, "try again later", "the response of %s was cut off: %s", e.host(), short(reason(err))))
	}
	return n, err
}

// get reads a URL.
func (e *attempt) get(address string) ([]byte, error) { return e.getAtMost(address, e.f.limits.Bytes) }

// getAtMost reads a URL with a limit in bytes.
func (e *attempt) getAtMost(address string, maxBytes int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(e.ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, failed(badRef, "correct the address", "%s is not a URL", address)
	}
	res, err := e.client().Do(req)
	if err != nil {
		return nil, e.failureOf(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		if f := e.failureOfStatus(res.StatusCode); f != nil {
			return nil, f
		}
		return nil, failed(broken, "check the URL", "%s returned status %d", e.host(), res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	if err != nil {
		return nil, e.failureOf(err)
	}
	if int64(len(data)) > maxBytes {
		return nil, failed(tooLarge, "check the URL", "%s sends more than %d bytes for %s", e.host(), maxBytes, path.Base(address))
	}
	if e.ref.Kind == remote.File && isPage(res.Header, data) && !htmlPath.MatchString(e.at.Path) {
		return nil, failed(broken, "check the URL: it may need a login (--remote-credentials), or be a page about the file",
			"%s returned an HTML page", e.host())
	}
	return data, nil
}

// htmlPath matches paths that clearly are HTML pages.
var htmlPath = lazyregexp.New(`(?i)\.x?html?$`)

// isPage reports whether a response is HTML, by its header or its content.
func isPage(header http.Header, data []byte) bool {
	const page = "text/html"
	return strings.HasPrefix(header.Get("Content-Type"), page) && strings.HasPrefix(http.DetectContentType(data), page)
}
