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

// Config says what a Fetcher may fetch, and how. The zero Config allows nothing.
type Config struct {
	// Allow lists what may be fetched, as addresses: "https://charts.example.com",
	// "oci://ghcr.io/org/*", "https://github.com/org". An address stands for all
	// that is below it. "*" stands for any part of a path between two slashes, and
	// "*." at the start of a host for any names below it; a host that is only "*"
	// is any. docs/sources.md says what redirects may lead to.
	Allow []string
	// AllowPrivate lists the hosts that may lead to addresses that are not public: those
	// of private networks, and, for a host that is named without "*", loopback,
	// link-local addresses and the metadata of clouds; and networks (10.20.0.0/16) that
	// any host may lead to that is allowed.
	AllowPrivate []string
	// PlainHTTP lists the hosts, with their port if it is not 80, that are spoken
	// to without TLS: those of http:// addresses, and registries that have none.
	PlainHTTP []string

	// Verify says which charts must be signed. It binds what is fetched, also for
	// those that a Fetcher is For.
	Verify Policy

	// Credentials says where names, passwords and certificates are read.
	Credentials Credentials
	// CAFile holds certificates of authorities, PEM, that are trusted for all
	// hosts beside the system's.
	CAFile string

	// Cache says where what was fetched is kept.
	Cache Cache
	// Fresh is how long the answer to what can change is taken from the cache: a
	// range of versions, a branch, a tag of git, a file. 0 is DefaultFresh; less is
	// not at all. An exact version of a chart and a commit are kept for ever.
	Fresh time.Duration
	// Offline takes everything from the cache, however old.
	Offline bool
	// OnFailure says what to do when something that is allowed cannot be had.
	OnFailure OnFailure

	// Limits bound what a fetch takes.
	Limits Limits

	// Process makes the command of a process that does one fetch: it is to call Work
	// with its standard input and output. What comes is then read there and nowhere
	// else, and its data stays in files: see Fetcher.Open. It needs Cache.Dir. nil
	// fetches in this process.
	Process func() *exec.Cmd

	// Fetching, if not nil, is called before something is downloaded; what it returns is
	// called after that.
	Fetching func(remote.Ref) (done func())

	// Log gets a line when the cache cannot be written; nil is none.
	Log *slog.Logger
	// Metrics is where the ladder_fetch_* metrics are registered; nil is nowhere.
	Metrics prometheus.Registerer
}

// Credentials names the files that credentials are read from, each time anew,
// since mounted Secrets change. Empty fields are not read. Where several know an
// address, the first of them in this order counts.
type Credentials struct {
	// Dir has a directory for each Secret, named like the host, or like anything
	// with a file "url" that says for which addresses it is. Its files: username,
	// password, token, ca.crt, tls.crt, tls.key, insecure.
	Dir string
	// HelmRepositories is Helm's repositories.yaml.
	HelmRepositories string
	// HelmRegistry is Helm's registry/config.json.
	HelmRegistry string
	// DockerConfig is Docker's config.json. The helpers it may name are not run.
	DockerConfig string
}

// Cache says where what was fetched is kept.
type Cache struct {
	// Dir is made if it is missing, and may be shared by any number of processes.
	// Empty is no cache.
	Dir string
	// MaxBytes bounds the files in Dir; what was used longest ago goes first.
	// 0 is DefaultCacheBytes.
	MaxBytes int64
}

// OnFailure says what a Fetcher does when a source is down, slow, or answers
// what cannot be right.
type OnFailure string

const (
	// Fail makes it an error, the default.
	Fail OnFailure = "error"
	// UseCached takes what the cache has for the same Ref, however old, with a
	// Warning. It is no way past a refusal: what is not allowed, what needs other
	// credentials and what is not there (401, 403, 404) stay errors.
	UseCached OnFailure = "cached"
)

// Limits bound what a fetch takes. Zero fields are the defaults.
type Limits struct {
	// Bytes bounds what one fetch downloads, and its Data. 0 is DefaultBytes.
	Bytes int64
	// Unpacked bounds the files of one git repository. 0 is UnpackedRatio times Bytes.
	Unpacked int64
	// Time bounds one fetch, with its retries and the wait for its turn. 0 is
	// DefaultTime.
	Time time.Duration
	// Concurrent is how many fetches use the network at once, half of them with one host
	// or for one tenant; others wait. 0 is DefaultConcurrent.
	Concurrent int
	// Rate is how many bytes a second must come, on average over some seconds. 0 is
	// DefaultRate; less is any.
	Rate int64
	// Memory bounds what a fetch in a process of its own takes. 0 is DefaultMemory.
	Memory int64
	// Retries is how often a request is sent again after a broken connection, 429
	// or 5xx. 0 is DefaultRetries; less is never.
	Retries int
	// Backoff is the wait before the first retry; each further is twice as long.
	// A Retry-After of the server counts instead. 0 is DefaultBackoff.
	Backoff time.Duration
}

// The defaults of a Config.
const (
	DefaultFresh      = 5 * time.Minute
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

// Check finds what is wrong with a Config, as New does: with all of it, and also if
// nothing may be fetched.
func (config Config) Check() error {
	_, err := config.check(x509.NewCertPool())
	return err
}

// check reads the allow-list, and adds the certificates of CAFile to a pool.
func (config Config) check(authorities *x509.CertPool) (allowList, error) {
	allow, wrong := parseAllow(config.Allow)
	_, bads := parsePrivate(config.AllowPrivate)
	wrong = append(wrong, bads...)
	bad := func(field, message, remedy string) {
		wrong = append(wrong, finding.Finding{Severity: finding.Error, Rule: "bad-fetching", Field: field, Message: message, Remedy: remedy})
	}
	if l := config.Limits; l.Bytes < 0 || l.Unpacked < 0 || l.Time < 0 || l.Concurrent < 0 || l.Backoff < 0 {
		bad("limits", "a limit is less than 0", "leave it out for the default")
	}
	for _, s := range config.Verify {
		if _, fault := parsePattern(s.Address); fault != "" || (s.Keyring == nil) == (s.Key == nil) {
			bad("--remote-verify", fmt.Sprintf("the entry %q has no address, or not one of a keyring and a key", finding.WithoutCredentials(s.Address)), "correct it")
		}
	}
	if config.OnFailure != "" && config.OnFailure != Fail && config.OnFailure != UseCached {
		bad("--remote-on-failure", fmt.Sprintf("%q is neither %s nor %s", config.OnFailure, Fail, UseCached), "write one of the two")
	}
	for _, host := range config.PlainHTTP {
		if u, err := url.Parse("http://" + host); err != nil || u.Host != host || host == "" {
			bad("--remote-plain-http", fmt.Sprintf("%q is not a host", finding.WithoutCredentials(host)), "write a host alone, or with its port, such as registry.example.com:5000")
		}
	}
	if config.CAFile != "" {
		if data, err := os.ReadFile(config.CAFile); err != nil {
			bad("--remote-ca", config.CAFile+" cannot be read: "+errors.Unwrap(err).Error(), "name a file of certificates")
		} else if !authorities.AppendCertsFromPEM(data) {
			bad("--remote-ca", config.CAFile+" holds no certificate (PEM)", "name a file of certificates")
		}
	}
	return allow, errors.Join(wrong...)
}
