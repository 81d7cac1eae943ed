package flags

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
)

// Fetching are the flags about fetching.
type Fetching struct {
	Config    fetch.Config
	OnFailure string
	// Anything is the default allow-list.
	Anything []string
	// Projects is the directory with the allow-lists of AppProjects; only for
	// servers.
	Projects string
	// made is the Fetcher shared by all components of the command.
	made *fetch.Fetcher
}

// Fetcher returns the Fetcher; nil if nothing may be fetched. metrics and log may
// be nil.
func (in *Fetching) Fetcher(log *slog.Logger, metrics prometheus.Registerer) (*fetch.Fetcher, error) {
	if in == nil {
		return nil, nil
	}
	if in.made != nil {
		return in.made, nil
	}
	config := in.Config
	config.OnFailure = fetch.OnFailure(in.OnFailure)
	err := config.Check()
	if config.TTL < 0 {
		err = errors.Join(err, fmt.Errorf("--remote-ttl is %s; use a duration such as 5m, or 0 to fetch every time", config.TTL))
	}
	if config.Limits.Time <= 0 {
		err = errors.Join(err, fmt.Errorf("--remote-timeout is %s; use a duration above 0, such as 5m", config.Limits.Time))
	}
	if most := config.Limits.Bytes; most <= 0 || most > math.MaxInt64/fetch.UnpackedRatio {
		err = errors.Join(err, fmt.Errorf("--remote-max-bytes is %d; use a number of bytes such as %d (64 MiB)", most, fetch.DefaultBytes))
	}
	if err != nil {
		return nil, finding.UsageError{Err: err}
	}
	if len(config.Allow) == 0 && len(in.Anything) > 0 {
		// A user who vendors may fetch anything they can reach.
		config.Allow, config.AllowPrivate = in.Anything, append([]string{"*"}, config.AllowPrivate...)
	}
	if len(config.Allow) == 0 && in.Projects == "" {
		return nil, nil
	}
	if config.TTL == 0 {
		config.TTL = -1 // no caching
	}
	if config.Limits.Rate == 0 {
		config.Limits.Rate = -1 // no minimum
	}
	helm := helmConfig()
	config.Credentials.HelmRepositories, config.Credentials.HelmRegistry, config.Credentials.DockerConfig = helm.repositories,
		helm.registry, dockerConfig()
	if log == nil {
		log = slog.Default()
	}
	config.Log, config.Metrics = log, metrics
	if in.made, err = fetch.New(config); err != nil {
		return nil, finding.UsageError{Err: err}
	}
	return in.made, nil
}

// Remote returns a Fetcher that resolves the names of Helm's repositories; nil if
// nothing may be fetched.
func (in *Fetching) Remote() (remote.Fetcher, error) {
	f, err := in.Fetcher(nil, nil)
	if f == nil || err != nil {
		return nil, err
	}
	return WithNames(f), nil
}

// UserCache returns the user's cache directory.
func UserCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "ladder")
}

// AddFetching adds the flags to a command. cache is the default of --remote-cache.
func AddFetching(flags *pflag.FlagSet, cache string) *Fetching {
	in := &Fetching{}
	cli.DefineFlags(flags, cli.FetchingFlags, func(f *pflag.FlagSet) { in.define(f, cache) })
	return in
}

func (in *Fetching) define(f *pflag.FlagSet, cache string) {
	c := &in.Config
	f.StringSliceVar(&c.Allow, "allow-remote", nil,
		"URLs to fetch from, with everything below them, such as https://charts.example.com or oci://ghcr.io/org/*; if empty, nothing is fetched")
	f.StringSliceVar(&c.AllowPrivate, "allow-private", nil,
		"Hosts that may resolve to private addresses, such as charts.corp.example or *.corp.example, or networks such as 10.20.0.0/16; "+
			"a host without a wildcard may resolve to loopback, too")
	f.StringVar(&c.Cache.Dir, "remote-cache", cache,
		"Cache directory for fetched sources, which several processes may share; if empty, nothing is cached")
	f.BoolVar(&c.Offline, "offline", false, "Use only --remote-cache, however old its entries are")
	f.DurationVar(&c.TTL, "remote-ttl", fetch.DefaultTTL,
		"TTL of version ranges, branches and files in --remote-cache; 0 requests them every time")
	f.DurationVar(&c.Limits.Time, "remote-timeout", fetch.DefaultTime, "Timeout of one fetch, with its retries")
	f.Int64Var(&c.Limits.Bytes, "remote-max-bytes", fetch.DefaultBytes,
		fmt.Sprintf("Maximum download of one fetch in bytes; the files of a git repository may take %d times as much", fetch.UnpackedRatio))
	f.StringVar(&in.OnFailure, "remote-on-failure", string(fetch.Fail),
		"What to do if a source is down or broken: error, or cached, which uses --remote-cache and warns")
	f.StringVar(&c.Credentials.Dir, "remote-credentials", "",
		"Directory with one subdirectory per host, in the layout of a mounted Secret: username, password, token, ca.crt, tls.crt, tls.key")
	f.StringVar(&c.CAFile, "remote-ca", "", "PEM file of CA certificates to trust in addition to those of the system")
	f.StringSliceVar(&c.PlainHTTP, "remote-plain-http", nil, "Hosts, with their port, to connect to without TLS")
}

// AddForServer adds the flags of a command that fetches for others.
func (in *Fetching) AddForServer(flags *pflag.FlagSet) {
	cli.DefineFlags(flags, cli.FetchingFlags, in.defineForServer)
	flags.Lookup("remote-cache").Usage = "Cache directory for fetched sources, which several replicas may share; " +
		"if empty, the server uses a temporary directory"
}

func (in *Fetching) defineForServer(f *pflag.FlagSet) {
	l := &in.Config.Limits
	f.Int64Var(&l.Memory, "remote-memory", fetch.DefaultMemory,
		"Memory limit of a fetch in bytes, at least 64 MiB; each fetch is a separate process")
	f.IntVar(&l.Concurrent, "remote-parallel", fetch.DefaultConcurrent,
		"Maximum number of concurrent fetches; "+
			"one host or one AppProject gets at most half of them, and one AppProject at most half of those of a host")
	f.StringVar(&in.Projects, "remote-projects", "",
		"Directory with a subdirectory for each AppProject that may fetch more than --allow-remote allows: "+
			"a file named allow with one address per line, and credentials as in --remote-credentials")
}
