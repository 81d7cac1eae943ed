// Package serve runs the plugin server for cmp serve: package sidecar configured
// with the rendering tasks, fetching, the server's ladder.yaml, metrics, traces and
// the log.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/internal/confine"
	"github.com/ladder-cmp/ladder/internal/fetch"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar"
	"github.com/ladder-cmp/ladder/sidecar/worker"
)

// Options are the flags of serve.
type Options struct {
	Dir          string
	Ladder       *string
	Seed         *string // the file
	LogFormat    string
	LogLevel     string
	Explain      string // the default of the explain parameter
	WorkerMemory int64
	Remote       *flags.Fetching
	Address      string // of metrics and health
	Config       sidecar.Config
	CheckOnly    bool // checks a running server
	// WorkerCommand returns the command that runs this program as a worker, with or
	// without caches.
	WorkerCommand func(cache bool) *exec.Cmd
	// Release and Version identify the program, Version including its libraries.
	Release, Version string
}

func (opt *Options) socket() string { return filepath.Join(opt.Dir, plugin.Name+".sock") }

// Check checks the health of the server at the socket.
func (opt *Options) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := sidecar.Probe(ctx, opt.socket()); err != nil {
		return fmt.Errorf("%w; check the log of cmp serve, or name its directory with --plugin-dir", err)
	}
	return nil
}

// Serve runs the server until it is terminated.
func (opt *Options) Serve(ctx context.Context, out io.Writer) error {
	log, err := NewLogger(out, opt.LogFormat, opt.LogLevel)
	if err != nil {
		return err
	}
	text, err := flags.ReadLadder(*opt.Ladder)
	if err != nil {
		return err
	}
	if _, err := flags.KnowledgeWith(text); err != nil {
		return err
	}
	secret, fingerprint, err := secretOf(*opt.Seed)
	if err != nil {
		return err
	}
	opt.limitMemory()
	if err := confine.Seclude(); err != nil {
		log.Warn("other processes of this user may read the memory of the server", "error", err.Error())
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	lis, err := sidecar.Listen(opt.socket())
	if err != nil {
		return fmt.Errorf("%w, or name another directory with --plugin-dir", err)
	}
	config := opt.config(log)
	config.Secret = secret
	config.Metrics = registry(opt.Version)
	from, end, err := sourceOf(opt.Remote, log, config.Metrics)
	if err != nil {
		lis.Close()
		return err
	}
	defer end()
	if from != nil {
		config.Source, config.Fetched = from, fetch.DefaultCacheBytes/2
	}
	traces := newTraces(ctx, log, opt.Release)
	defer traces.flush()
	config.Traces = traces.provider
	operations := "none"
	if opt.Address != "" {
		if config.Operations, err = net.Listen("tcp", opt.Address); err != nil {
			lis.Close()
			return addressFault(opt.Address, err)
		}
		operations = config.Operations.Addr().String()
	}
	counted := newReloads(config.Metrics)
	opt.showLimits(config.Metrics)
	workers, err := worker.NewPool(worker.Config{Command: func() *exec.Cmd { return opt.WorkerCommand(opt.Config.Cache > 0) },
		Setup: text, Warm: max(config.Parallel, 1), Memory: opt.WorkerMemory, Log: log, Metrics: config.Metrics})
	if err != nil {
		lis.Close()
		return err
	}
	defer workers.Close()
	clearCache := make(chan chan<- struct{})
	go followLadder(ctx, *opt.Ladder, text, log, counted, func(text []byte) error {
		return renew(ctx, workers, text, clearCache)
	})
	config.Tasks, config.ClearCache = workers, clearCache
	log.Info("serving", "socket", lis.Addr().String(), "discovery", config.Discovery, "parallel", config.Parallel, "operations",
		operations, "traces", traces.protocol, "seed", fingerprint, "version", opt.Version)
	defer log.Info("stopped")
	return sidecar.Serve(ctx, lis, config)
}

// config returns the configuration that follows from the flags alone.
func (opt *Options) config(log *slog.Logger) sidecar.Config {
	config := CompleteConfig(opt.Config, log)
	config.WorkerMemory, config.Defaults = opt.WorkerMemory, map[string]string{plugin.DefaultExplain: opt.Explain}
	return config
}

// renew gives the workers another ladder.yaml, and returns when the server no longer
// sends responses that depend on the previous one.
func renew(ctx context.Context, workers *worker.Pool, text []byte, clearCache chan<- chan<- struct{}) error {
	if err := workers.Renew(text); err != nil {
		return err
	}
	cleared := make(chan struct{})
	select {
	case clearCache <- cleared:
		<-cleared
	case <-ctx.Done():
	}
	return nil
}

// secretOf returns the function that derives the key of a request's Application from
// the seed in a file. A worker gets only this key, not the seed, because it processes
// untrusted content. Without the AppProject of an Application there is no key, because
// two tenants could then get the same values.
func secretOf(file string) (secret func(env map[string]string) []byte, fingerprint string, err error) {
	s, err := flags.ReadSeed(file)
	if err != nil || s == nil {
		return nil, "none", err
	}
	return func(env map[string]string) []byte {
		of, ok := plugin.SeedApplication(env)
		if !ok {
			return nil
		}
		return s.Key(of).Bytes()
	}, s.Fingerprint(), nil
}

// limitMemory makes the garbage collector keep the heap close to the data in use;
// otherwise it would need twice as much. GOMEMLIMIT takes precedence.
func (opt *Options) limitMemory() {
	if c := opt.Config; c.Memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(c.Memory + c.Cache + c.Responses + OwnMemory)
		debug.SetGCPercent(400) // requests are short, and usually far from the limit
	}
}

// showLimits exports limits as metrics, for comparison with usage.
func (opt *Options) showLimits(to prometheus.Registerer) {
	limits := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ladder_limit",
		Help: "Configured limit of each cmp serve flag, in the unit of the flag: bytes, seconds, renderings or fetches. 0 means no limit."},
		[]string{"flag"})
	for flag, value := range map[string]float64{
		"answer-memory":        float64(opt.Config.Responses),
		"cache-bytes":          float64(opt.Config.Cache),
		"max-repository-bytes": float64(opt.Config.Limits.Bytes),
		"parallel":             float64(opt.Config.Parallel),
		"remote-memory":        float64(opt.Remote.Config.Limits.Memory),
		"remote-parallel":      float64(opt.Remote.Config.Limits.Concurrent),
		"render-timeout":       opt.Config.Render.Seconds(),
		"repository-memory":    float64(opt.Config.Memory),
		"timeout":              opt.Config.Timeout.Seconds(),
		"worker-memory":        float64(opt.WorkerMemory),
	} {
		limits.WithLabelValues(flag).Set(value)
	}
	to.MustRegister(limits)
}

// addressFault explains why metrics cannot be served on an address.
func addressFault(address string, err error) error {
	if _, number := strconv.ParseUint(address, 10, 16); number == nil {
		return fmt.Errorf("--operations-address: %s is a port, not an address; use :%s", address, address)
	}
	var bad *net.AddrError
	if errors.As(err, &bad) {
		return fmt.Errorf("--operations-address: %w; write it as :9402 or 127.0.0.1:9402", err)
	}
	return fmt.Errorf("--operations-address: %w; use an address that is not in use", err)
}

// LeastWorkerMemory is the memory that a worker needs for a small chart.
const LeastWorkerMemory = 64 << 20

// OwnMemory is the memory of the server besides repositories, cached responses and
// responses in transit.
const OwnMemory = 128 << 20

// CompleteConfig completes the configuration of a plugin server for Ladder, except for
// its tasks.
func CompleteConfig(config sidecar.Config, log *slog.Logger) sidecar.Config {
	config.Variables, config.Parameters, config.Log = plugin.Reads, Announcements(), log
	return config
}
