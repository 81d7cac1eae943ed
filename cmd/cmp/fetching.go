package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/fetch"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/remote"
)

// fetching are the flags that say what may be fetched, and how.
type fetching struct {
	config    fetch.Config
	onFailure string
	// verify is the file of the policy.
	verify string
	// anything is what may be fetched if nobody says.
	anything []string
	// projects is the directory of what single AppProjects may fetch; a server has one.
	projects string
	// made is the Fetcher of the command, which all its components share.
	made *fetch.Fetcher
}

// remoteFlags puts the flags on a command. cache is where what was fetched is
// kept if nobody says.
func remoteFlags(f *pflag.FlagSet, cache string) *fetching {
	in := &fetching{}
	c := &in.config
	f.StringSliceVar(&c.Allow, "allow-remote", nil, "Addresses that may be fetched from, and all below them, such as https://charts.example.com or oci://ghcr.io/org/*; nothing if empty")
	f.StringSliceVar(&c.AllowPrivate, "allow-private", nil, "Hosts that may resolve to private addresses, such as charts.corp.example or *.corp.example, or networks such as 10.20.0.0/16; a host without a wildcard may resolve to loopback, too")
	f.StringVar(&c.Cache.Dir, "remote-cache", cache, "Directory for what was fetched, which may be shared; empty keeps nothing")
	f.BoolVar(&c.Offline, "offline", false, "Take what is to be fetched from --remote-cache alone, however old")
	f.DurationVar(&c.Fresh, "remote-fresh", fetch.DefaultFresh, "How long a range of versions, a branch or a file is taken from --remote-cache before it is asked for again; 0 is not at all")
	f.DurationVar(&c.Limits.Time, "remote-timeout", fetch.DefaultTime, "How long one fetch may take, with its retries")
	f.Int64Var(&c.Limits.Rate, "remote-min-rate", fetch.DefaultRate, "Minimum transfer rate in bytes per second, averaged over ten seconds; 0 disables it")
	f.Int64Var(&c.Limits.Bytes, "remote-max-bytes", fetch.DefaultBytes, fmt.Sprintf("How much one fetch may download, in bytes; the files of a git repository may have %d times as much", fetch.UnpackedRatio))
	f.StringVar(&in.onFailure, "remote-on-failure", string(fetch.Fail), "What becomes of a source that is down or broken: error, or cached, which takes what --remote-cache has and warns")
	f.StringVar(&c.Credentials.Dir, "remote-credentials", "", "Directory with a directory for each host and its username, password, token, ca.crt, tls.crt, tls.key, as Secrets are mounted")
	f.StringVar(&in.verify, "remote-verify", "", "Policy file that says which charts must be signed and by which keys (Helm provenance or cosign)")
	f.StringVar(&c.CAFile, "remote-ca", "", "File with certificates of authorities (PEM) to trust beside the system's")
	f.StringSliceVar(&c.PlainHTTP, "remote-plain-http", nil, "Hosts, with their port, that are spoken to without TLS")
	return in
}

// fetcher returns who may fetch; nil if nothing may be. metrics and log may be
// nil.
func (in *fetching) fetcher(log *slog.Logger, metrics prometheus.Registerer) (*fetch.Fetcher, error) {
	if in == nil {
		return nil, nil
	}
	if in.made != nil {
		return in.made, nil
	}
	config := in.config
	config.OnFailure = fetch.OnFailure(in.onFailure)
	err := config.Check()
	if config.Fresh < 0 {
		err = errors.Join(err, fmt.Errorf("--remote-fresh is %s; give it a duration such as 5m, or 0 for not at all", config.Fresh))
	}
	if config.Limits.Time <= 0 {
		err = errors.Join(err, fmt.Errorf("--remote-timeout is %s; give it a duration above 0, such as 5m", config.Limits.Time))
	}
	if most := config.Limits.Bytes; most <= 0 || most > math.MaxInt64/fetch.UnpackedRatio {
		err = errors.Join(err, fmt.Errorf("--remote-max-bytes is %d; give it a number of bytes such as %d (64 MiB)", most, fetch.DefaultBytes))
	}
	if in.verify != "" {
		policy, faults := fetch.ReadPolicy(in.verify)
		config.Verify, err = policy, errors.Join(err, faults)
	}
	if err != nil {
		return nil, usageError{err}
	}
	if len(config.Allow) == 0 && len(in.anything) > 0 {
		// Whoever vendors does it for themselves, and may reach what they can reach.
		config.Allow, config.AllowPrivate = in.anything, append([]string{"*"}, config.AllowPrivate...)
	}
	if len(config.Allow) == 0 && in.projects == "" {
		return nil, nil
	}
	if config.Fresh == 0 {
		config.Fresh = -1 // which is not at all
	}
	if config.Limits.Rate == 0 {
		config.Limits.Rate = -1 // which is any
	}
	helm := helmConfig()
	config.Credentials.HelmRepositories, config.Credentials.HelmRegistry, config.Credentials.DockerConfig = helm.repositories, helm.registry, dockerConfig()
	if log == nil {
		log = slog.Default()
	}
	config.Log, config.Metrics = log, metrics
	if in.made, err = fetch.New(config); err != nil {
		return nil, usageError{err}
	}
	return in.made, nil
}

// serverFlags puts the flags on a command that fetches for others, beside those of
// remoteFlags.
func (in *fetching) serverFlags(f *pflag.FlagSet) {
	l := &in.config.Limits
	f.Int64Var(&l.Memory, "remote-memory", fetch.DefaultMemory, "Memory limit of a fetch in bytes, at least 64 MiB; each fetch is a separate process")
	f.IntVar(&l.Concurrent, "remote-parallel", fetch.DefaultConcurrent, "Maximum number of concurrent fetches; one host or one AppProject gets at most half of them")
	f.StringVar(&in.projects, "remote-projects", "", "Directory with a subdirectory for each AppProject that may fetch more than --allow-remote allows: a file named allow with one address per line, and credentials as in --remote-credentials")
}

// server makes the source of a server, whose fetches are in processes of their own; nil
// if nothing may be fetched. end removes what is left of it.
func (in *fetching) server(log *slog.Logger, metrics prometheus.Registerer) (from *source, end func(), err error) {
	end = func() {}
	l := in.config.Limits
	switch {
	case len(in.config.Allow) == 0 && in.projects == "":
		f, err := in.fetcher(log, metrics) // for the faults of the other flags
		if f == nil {
			return nil, end, err
		}
	case l.Memory < leastWorkerMemory:
		return nil, end, usageError{fmt.Errorf("--remote-memory is %d bytes, which is too little to fetch anything; set it to %d (64 MiB) or more", l.Memory, leastWorkerMemory)}
	case l.Concurrent < 1:
		return nil, end, usageError{fmt.Errorf("--remote-parallel is %d; set it to 1 or more", l.Concurrent)}
	}
	if in.config.Cache.Dir == "" {
		if in.config.Cache.Dir, err = os.MkdirTemp("", "ladder-"); err != nil {
			return nil, end, fmt.Errorf("no writable directory for fetched files: %w; mount a volume, such as an emptyDir, and name it with --remote-cache", err)
		}
		end = func() { os.RemoveAll(in.config.Cache.Dir) }
	} else if err := writable(in.config.Cache.Dir); err != nil {
		return nil, end, fmt.Errorf("--remote-cache %s is not writable: %w; mount a writable volume there, such as an emptyDir", in.config.Cache.Dir, err)
	}
	in.config.Process = fetchCommand
	f, err := in.fetcher(log, metrics)
	if err != nil {
		end()
		return nil, func() {}, err
	}
	of := func(project string) (keeper, string, error) {
		own, scope, err := f.For(in.projects, project)
		return own, scope, err
	}
	return newSource(of, namedRepositories{file: helmConfig().repositories}, in.config.Fresh), end, nil
}

// writable makes a directory if need be, and says whether files can be written there.
func writable(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// remote returns a Fetcher that knows the names of Helm's repositories; nil if
// nothing may be fetched.
func (in *fetching) remote(log *slog.Logger, metrics prometheus.Registerer) (remote.Fetcher, error) {
	f, err := in.fetcher(log, metrics)
	if f == nil || err != nil {
		return nil, err
	}
	return namedRepositories{f, helmConfig().repositories}, nil
}

// userCache is where a user's programs keep what they can get again.
func userCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "ladder")
}

// helmFiles are where Helm keeps what it knows of repositories and registries
// (helmpath and cli.New of Helm).
type helmFiles struct{ repositories, registry string }

func helmConfig() helmFiles {
	dir := os.Getenv("HELM_CONFIG_HOME")
	if dir == "" {
		if base, err := os.UserConfigDir(); err == nil {
			dir = filepath.Join(base, "helm")
		}
	}
	files := helmFiles{os.Getenv("HELM_REPOSITORY_CONFIG"), os.Getenv("HELM_REGISTRY_CONFIG")}
	if dir != "" && files.repositories == "" {
		files.repositories = filepath.Join(dir, "repositories.yaml")
	}
	if dir != "" && files.registry == "" {
		files.registry = filepath.Join(dir, "registry", "config.json")
	}
	return helmFiles{ifThere(files.repositories), ifThere(files.registry)}
}

func dockerConfig() string {
	dir := os.Getenv("DOCKER_CONFIG")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".docker")
	}
	return ifThere(filepath.Join(dir, "config.json"))
}

// ifThere is a file that is there, or empty.
func ifThere(file string) string {
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		return ""
	}
	return file
}

// namedRepositories puts addresses in for the names that "helm repo add" gave to
// chart repositories: @name and alias:name.
type namedRepositories struct {
	remote.Fetcher
	file string
}

func (n namedRepositories) Fetch(ctx context.Context, ref remote.Ref) (remote.Content, error) {
	ref, err := n.resolve(ref)
	if err != nil {
		return remote.Content{}, err
	}
	return n.Fetcher.Fetch(ctx, ref)
}

// resolve puts the address in for the name of a repository.
func (n namedRepositories) resolve(ref remote.Ref) (remote.Ref, error) {
	name, named := strings.CutPrefix(ref.URL, "@")
	if !named {
		name, named = strings.CutPrefix(ref.URL, "alias:")
	}
	if named {
		url, err := n.address(name)
		if err != nil {
			return ref, err
		}
		ref.URL = url
	}
	return ref, nil
}

func (n namedRepositories) address(name string) (string, error) {
	unknown := finding.Finding{Severity: finding.Error, Rule: "unknown-repository", Message: "the repository is called " + name + " there, and Helm knows none of that name",
		Remedy: "write its address, or run helm repo add " + name + " ADDRESS"}
	var list struct {
		Repositories []struct{ Name, URL string }
	}
	text, err := os.ReadFile(n.file)
	if errors.Is(err, fs.ErrNotExist) || n.file == "" {
		return "", unknown
	}
	if err == nil {
		err = yaml.Unmarshal(text, &list)
	}
	if err != nil {
		return "", finding.Finding{Severity: finding.Error, Rule: "bad-helm-repositories", File: n.file, Message: "cannot be read", Remedy: "correct the file, or write the address of " + name}
	}
	for _, r := range list.Repositories {
		if r.Name == name {
			return r.URL, nil
		}
	}
	return "", unknown
}
