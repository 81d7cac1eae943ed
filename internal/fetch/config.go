package fetch

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// Config configures a Fetcher. The zero Config allows nothing.
type Config struct {
	// Allow lists the URLs that may be fetched: "https://charts.example.com",
	// "oci://ghcr.io/org/*", "https://github.com/org". A URL includes everything
	// below it. "*" matches any part of a path between two slashes; "*." at the
	// start of a host matches any subdomain; the host "*" matches any.
	// docs/sources.md describes redirects.
	Allow []string
	// AllowPrivate lists hosts that may resolve to non-public addresses: those of
	// private networks and, for a host without "*", also loopback, link-local and
	// cloud metadata addresses; and networks (10.20.0.0/16) to which every allowed
	// host may resolve.
	AllowPrivate []string
	// PlainHTTP lists hosts, with their port if it is not 80, to use without TLS:
	// those of http:// URLs, and registries without TLS.
	PlainHTTP []string

	// Credentials configures user names, passwords and certificates.
	Credentials Credentials
	// CAFile contains CA certificates (PEM) to trust for all hosts, in addition to
	// the system's.
	CAFile string

	// Cache configures the cache.
	Cache Cache
	// TTL is the TTL of cached content that can change: version ranges, branches,
	// git tags, files. 0 means DefaultTTL; negative means no caching. Exact chart
	// versions and commits do not expire.
	TTL time.Duration
	// Offline uses only the cache, regardless of age.
	Offline bool
	// OnFailure says what to do when an allowed source is unavailable.
	OnFailure OnFailure

	// Limits are the limits of a fetch.
	Limits Limits

	// Process returns the command of a process for one fetch, which must call Work
	// with its standard input and output. Remote content is then parsed only in
	// that process, and stays in files: see Fetcher.Open. It requires Cache.Dir.
	// nil fetches in this process.
	Process func() *exec.Cmd

	// Fetching is called before each download, and the function it returns when the
	// download ends; nil disables it.
	Fetching func(remote.Ref) (done func())

	// Log is for errors of the cache; nil disables them.
	Log *slog.Logger
	// Metrics registers the ladder_fetch_* metrics; nil disables them.
	Metrics prometheus.Registerer
}

// Credentials lists the sources of credentials, which are read for each fetch,
// since mounted Secrets change. Empty fields are ignored. The first source with a
// match is used, in this order.
type Credentials struct {
	// Dir contains a directory for each Secret, named after the host, or with any
	// name and a file "url" with the URL it applies to. Its files: username,
	// password, token, ca.crt, tls.crt, tls.key, insecure.
	Dir string
	// HelmRepositories is Helm's repositories.yaml.
	HelmRepositories string
	// HelmRegistry is Helm's registry/config.json.
	HelmRegistry string
	// DockerConfig is Docker's config.json. Its credential helpers are not run.
	DockerConfig string
}

// Cache configures the cache.
type Cache struct {
	// Dir is created if it does not exist, and may be shared by any number of
	// processes. Empty disables the cache.
	Dir string
	// MaxBytes limits the total size of Dir; the least recently used files are
	// removed first. 0 means DefaultCacheBytes.
	MaxBytes int64
}

// OnFailure says what a Fetcher does when a source is unavailable, slow, or returns
// invalid content.
type OnFailure string

const (
	// Fail returns an error. It is the default.
	Fail OnFailure = "error"
	// UseCached uses cached content of the same Ref, regardless of age, with a
	// Warning. Refusals remain errors: sources that are not allowed, require other
	// credentials or do not exist (401, 403, 404).
	UseCached OnFailure = "cached"
)

// Limits are the limits of a fetch. Zero fields mean the defaults.
type Limits struct {
	// Bytes limits the download of a fetch, and its Data. 0 means DefaultBytes.
	Bytes int64
	// Unpacked limits the files of a git repository. 0 means UnpackedRatio times
	// Bytes.
	Unpacked int64
	// Time limits a fetch, including retries and waiting in the queue. 0 means
	// DefaultTime.
	Time time.Duration
	// Concurrent limits concurrent fetches over the network; at most half of them,
	// rounded up, may be for one host or tenant. 0 means DefaultConcurrent.
	Concurrent int
	// Rate is the minimum transfer rate in bytes per second, averaged over some
	// seconds. 0 means DefaultRate; negative means no minimum.
	Rate int64
	// Memory limits the memory of a fetch process. 0 means DefaultMemory.
	Memory int64
	// Retries limits retries of a request after a broken connection, 429 or 5xx. 0
	// means DefaultRetries; negative means none.
	Retries int
	// Backoff is the wait before the first retry; it doubles each time. A
	// Retry-After header overrides it. 0 means DefaultBackoff.
	Backoff time.Duration
}

// The defaults of a Config.
const (
	DefaultTTL        = 5 * time.Minute
	DefaultCacheBytes = 2 << 30
	DefaultBytes      = 64 << 20
	DefaultTime       = 90 * time.Second
	DefaultConcurrent = 4
	DefaultRate       = 1 << 10
	DefaultMemory     = 256 << 20
	DefaultRetries    = 3
	DefaultBackoff    = 500 * time.Millisecond

	UnpackedRatio = 4
)

// Check validates a Config completely, like New, even if nothing may be fetched.
func (config Config) Check() error {
	_, err := config.check(x509.NewCertPool())
	return err
}

// check parses the allow-list, and adds the certificates of CAFile to a pool.
func (config Config) check(authorities *x509.CertPool) (allowList, error) {
	allow, wrong := parseAllow(config.Allow)
	_, bads := parsePrivate(config.AllowPrivate)
	wrong = append(wrong, bads...)
	bad := func(field, message, remedy string) {
		wrong = append(wrong, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: field, Message: message, Remedy: remedy})
	}
	if l := config.Limits; l.Bytes < 0 || l.Unpacked < 0 || l.Time < 0 || l.Concurrent < 0 || l.Backoff < 0 {
		bad("limits", "a limit is less than 0", "leave it out for the default")
	}
	if config.OnFailure != "" && config.OnFailure != Fail && config.OnFailure != UseCached {
		bad("--remote-on-failure", fmt.Sprintf("%q is neither %s nor %s", config.OnFailure, Fail, UseCached), "write one of the two")
	}
	for _, host := range config.PlainHTTP {
		if u, err := url.Parse("http://" + host); err != nil || u.Host != host || host == "" {
			bad("--remote-plain-http", fmt.Sprintf("%q is not a host", finding.WithoutCredentials(host)),
				"write a host alone, or with its port, such as registry.example.com:5000")
		}
	}
	if config.CAFile != "" {
		if data, err := os.ReadFile(config.CAFile); err != nil {
			bad("--remote-ca", config.CAFile+" cannot be read: "+errors.Unwrap(err).Error(), "name a file of certificates")
		} else if !authorities.AppendCertsFromPEM(data) {
			bad("--remote-ca", config.CAFile+" contains no certificate (PEM)", "name a file of certificates")
		}
	}
	return allow, errors.Join(wrong...)
}
