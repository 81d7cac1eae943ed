// Package fetch gets over the network what package remote names: charts of
// chart repositories and OCI registries, files, and git repositories.
//
// Nothing is fetched that the operator does not allow. What was fetched is kept
// in a cache on disk under its digest, which replicas can share. No process is
// ever started: neither git or helm, nor the helpers that a Docker configuration
// may name.
package fetch

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/remote"
)

// Config says what a Fetcher may fetch, and how. The zero Config allows nothing.
type Config struct {
	// Allow lists what may be fetched, as addresses: "https://charts.example.com",
	// "oci://ghcr.io/org/*", "https://github.com/org". An address stands for all
	// that is below it. "*" stands for any part of a path between two slashes, and
	// "*." at the start of a host for any names below it; a host that is only "*"
	// is any. Loopback and link-local addresses are refused unless an entry names
	// the host itself. docs/sources.md says what redirects may lead to.
	Allow []string
	// PlainHTTP lists the hosts, with their port if it is not 80, that are spoken
	// to without TLS: those of http:// addresses, and registries that have none.
	PlainHTTP []string

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
	// Unpacked bounds the files of one git repository. 0 is DefaultUnpacked.
	Unpacked int64
	// Time bounds one fetch, with its retries. 0 is DefaultTime.
	Time time.Duration
	// Concurrent is how many fetches use the network at once; others wait. 0 is
	// DefaultConcurrent.
	Concurrent int
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
	DefaultBytes      = 128 << 20
	DefaultUnpacked   = 512 << 20
	DefaultTime       = 90 * time.Second
	DefaultConcurrent = 8
	DefaultRetries    = 3
	DefaultBackoff    = 500 * time.Millisecond
)

// Fetcher fetches over the network. It can be used by several goroutines.
//
// A repository of git comes with its submodules, as far as they are at https
// addresses that are allowed too; "?submodules=false" at the end of the Ref's URL
// leaves them out.
type Fetcher struct {
	config Config
}

// New returns a Fetcher. The error holds a finding for each part of the Config
// that is wrong. It does not use the network.
func New(config Config) (*Fetcher, error) {
	return &Fetcher{config: config}, nil
}

// Fetch gets what ref names. The Data of the Content is shared between callers
// and must not be changed. Errors are findings, but for those of ctx.
func (f *Fetcher) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	return f.Expecting(nil).Fetch(ctx, ref)
}

// Expecting returns a remote.Fetcher that knows what Refs came to earlier, such as
// a lock file records it: recorded gives the digest that the Data of a Ref must
// have, or "". What has another is an error, and what the cache has under that
// digest is taken from there without asking anyone.
func (f *Fetcher) Expecting(recorded func(remote.Ref) string) remote.Fetcher {
	return nil
}
