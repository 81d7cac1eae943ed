package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/internal/fetchers"
)

// remoteFlags puts the flags on a command. cache is where what was fetched is
// kept if nobody says.
func remoteFlags(f *pflag.FlagSet, cache string) *fetchers.Options {
	in := &fetchers.Options{}
	c := &in.Config
	f.StringSliceVar(&c.Allow, "allow-remote", nil, "Addresses that may be fetched from, and all below them, such as https://charts.example.com or oci://ghcr.io/org/*; nothing if empty")
	f.StringSliceVar(&c.AllowPrivate, "allow-private", nil, "Hosts that may resolve to private addresses, such as charts.corp.example or *.corp.example, or networks such as 10.20.0.0/16; a host without a wildcard may resolve to loopback, too")
	f.StringVar(&c.Cache.Dir, "remote-cache", cache, "Directory for what was fetched, which may be shared; empty keeps nothing")
	f.BoolVar(&c.Offline, "offline", false, "Take what is to be fetched from --remote-cache alone, however old")
	f.DurationVar(&c.Fresh, "remote-fresh", fetch.DefaultFresh, "How long a range of versions, a branch or a file is taken from --remote-cache before it is asked for again; 0 is not at all")
	f.DurationVar(&c.Limits.Time, "remote-timeout", fetch.DefaultTime, "How long one fetch may take, with its retries")
	f.Int64Var(&c.Limits.Rate, "remote-min-rate", fetch.DefaultRate, "Minimum transfer rate in bytes per second, averaged over ten seconds; 0 disables it")
	f.Int64Var(&c.Limits.Bytes, "remote-max-bytes", fetch.DefaultBytes, fmt.Sprintf("How much one fetch may download, in bytes; the files of a git repository may have %d times as much", fetch.UnpackedRatio))
	f.StringVar(&in.OnFailure, "remote-on-failure", string(fetch.Fail), "What becomes of a source that is down or broken: error, or cached, which takes what --remote-cache has and warns")
	f.StringVar(&c.Credentials.Dir, "remote-credentials", "", "Directory with a directory for each host and its username, password, token, ca.crt, tls.crt, tls.key, as Secrets are mounted")
	f.StringVar(&in.Verify, "remote-verify", "", "Policy file that says which charts must be signed and by which keys (Helm provenance or cosign)")
	f.StringVar(&c.CAFile, "remote-ca", "", "File with certificates of authorities (PEM) to trust beside the system's")
	f.StringSliceVar(&c.PlainHTTP, "remote-plain-http", nil, "Hosts, with their port, that are spoken to without TLS")
	return in
}

// serverFlags puts the flags on a command that fetches for others, beside those of
// remoteFlags.
func serverFlags(in *fetchers.Options, f *pflag.FlagSet) {
	l := &in.Config.Limits
	f.Int64Var(&l.Memory, "remote-memory", fetch.DefaultMemory, "Memory limit of a fetch in bytes, at least 64 MiB; each fetch is a separate process")
	f.IntVar(&l.Concurrent, "remote-parallel", fetch.DefaultConcurrent, "Maximum number of concurrent fetches; one host or one AppProject gets at most half of them")
	f.StringVar(&in.Projects, "remote-projects", "", "Directory with a subdirectory for each AppProject that may fetch more than --allow-remote allows: a file named allow with one address per line, and credentials as in --remote-credentials")
}
