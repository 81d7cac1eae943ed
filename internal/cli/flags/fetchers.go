package flags

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/internal/fetch"
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
