package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/fetch"
	"github.com/ladder-cmp/ladder/internal/sandbox"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/sidecar"
)

// socketDir is where the repo-server looks for the sockets of plugins; it reads
// the same variable (cmpserver of Argo CD, common.GetPluginSockFilePath).
const (
	socketDir    = "/home/argocd/cmp-server/plugins"
	socketDirEnv = "ARGOCD_PLUGINSOCKFILEPATH"
)

// serving is what the flags of serve say.
type serving struct {
	dir          string
	ladder       *string
	logFormat    string
	logLevel     string
	workerMemory int64
	remote       *fetching
	address      string // of metrics and health
	config       sidecar.Config
}

func newServe(s streams) *cobra.Command {
	var (
		check bool
		opt   serving
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve Argo CD's repo-server as the plugin ladder",
		Long: `Serve Argo CD's repo-server on the socket ` + plugin.Name + `.sock in the directory where it looks
for plugins. This is what the sidecar runs.

Components are rendered in processes of their own, which are ended when they take too
long or too much. Each flag has a variable: --worker-memory is ` + serveVariable("worker-memory") + `.
A changed ` + ladderEnv + ` file is read again while the server runs.`,
		Example: `  cmp serve --operations-address :9402 --parallel 2
  cmp serve --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := readServing(cmd.Flags(), environment()); err != nil {
				return err
			}
			if check {
				return opt.check(cmd.Context())
			}
			return opt.serve(cmd.Context(), s)
		},
	}
	defaultDir := socketDir
	if d := os.Getenv(socketDirEnv); d != "" {
		defaultDir = d
	}
	f, c := cmd.Flags(), &opt.config
	opt.ladder = ladderFlag(f)
	f.StringVar(&opt.dir, "plugin-dir", defaultDir, "Directory of the plugin sockets, shared with the repo-server; "+socketDirEnv+" sets the default")
	f.BoolVar(&check, "check", false, "Ask the server that runs on the socket whether it is well, and exit; for probes")
	f.BoolVar(&c.Discovery, "discovery", false, "Answer for Applications that name no plugin, if there is something to render; each request then sends the repository twice")
	f.IntVar(&c.Parallel, "parallel", runtime.GOMAXPROCS(0), "Renderings at the same time, each in a process of its own; 0 is no limit")
	f.DurationVar(&c.Stall, "stall-timeout", 15*time.Second, "Timeout for a repo-server that stops in the middle of sending a repository while other requests wait for memory; 0 disables it")
	f.DurationVar(&c.Timeout, "timeout", 5*time.Minute, "How long a request may take whose own deadline is later; 0 is no limit")
	f.DurationVar(&c.Render, "render-timeout", 20*time.Second, "Timeout of one rendering, from the moment it starts; longer for a rendering that has stepped aside for others; 0 leaves only the deadline of the request")
	f.Int64Var(&opt.workerMemory, "worker-memory", 512<<20, "Memory that one rendering may take, in bytes, 64 MiB or more; 0 is no limit")
	f.Int64Var(&c.Limits.Bytes, "max-repository-bytes", 256<<20, "Size of a repository, unpacked and without .git, above which it is refused; 0 is no limit but --repository-memory")
	f.IntVar(&c.Limits.Files, "max-repository-files", 200_000, "Number of files in a repository above which it is refused; 0 is no limit")
	f.IntVar(&c.Limits.Depth, "max-repository-depth", 128, "How many directories stand in each other in a repository above which it is refused; 0 is no limit")
	f.IntVar(&c.Limits.Ratio, "max-repository-ratio", 200, "How many times its compressed size a repository may be above which it is refused, if that is more than 64 MiB; 0 is no limit")
	f.Int64Var(&c.Memory, "repository-memory", 512<<20, "Size of all repositories that are held at the same time, unpacked; others wait before they arrive or while they do; 0 is no limit")
	f.Int64Var(&c.Answers, "answer-memory", 256<<20, "Memory of answers on their way to the repo-server, twice the size of each; others wait; 0 is no limit")
	f.IntVar(&c.AnswerBytes, "max-answer-bytes", 90<<20, "Maximum size of the manifests in an answer, with YAML aliases expanded; 0 leaves only Argo CD's own limit of 90 MiB")
	f.Int64Var(&c.Cache, "cache-bytes", 128<<20, "Size of the answers that are remembered; 0 remembers none, and nothing else of a request either")
	f.DurationVar(&c.CacheAge, "cache-age", time.Hour, "How long an answer is remembered, and so the Secrets in it; 0 is no limit")
	opt.remote = remoteFlags(f, "")
	opt.remote.serverFlags(f)
	f.StringVar(&opt.address, "operations-address", "", "Address such as :9402 for metrics (/metrics), health (/healthz, /readyz) and the gRPC health service; empty serves none")
	f.BoolVar(&c.Profiles, "profiles", false, "Also serve Go profiles on --operations-address, at /debug/pprof/, to clients within the Pod only")
	f.DurationVar(&c.Drain, "drain", 25*time.Second, "How long requests may go on after SIGTERM")
	f.StringVar(&opt.logFormat, "log-format", "text", "Form of the log: text or json")
	f.StringVar(&opt.logLevel, "log-level", "info", "Least important lines of the log: debug, info, warn or error")
	return cmd
}

func (opt *serving) socket() string { return filepath.Join(opt.dir, plugin.Name+".sock") }

func (opt *serving) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := sidecar.Probe(ctx, opt.socket()); err != nil {
		return fmt.Errorf("%w; look at the log of cmp serve, or name its directory with --plugin-dir", err)
	}
	return nil
}

// serve runs the server until it is told to end.
func (opt *serving) serve(ctx context.Context, s streams) error {
	log, err := newLogger(s, opt.logFormat, opt.logLevel)
	if err != nil {
		return err
	}
	text, err := readLadder(*opt.ladder)
	if err != nil {
		return err
	}
	if _, err := withLadder(text); err != nil {
		return err
	}
	opt.limitMemory()
	if err := sandbox.Seclude(); err != nil {
		log.Warn("other processes of this user may read the memory of the server", "error", err.Error())
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	lis, err := sidecar.Listen(opt.socket())
	if err != nil {
		return fmt.Errorf("%w, or name another directory with --plugin-dir", err)
	}
	config := thisPlugin(opt.config, log)
	config.WorkerMemory = opt.workerMemory
	config.Metrics = registry()
	from, end, err := opt.remote.server(log, config.Metrics)
	if err != nil {
		lis.Close()
		return err
	}
	defer end()
	if from != nil {
		config.Source, config.Fetched = from, fetch.DefaultCacheBytes/2
	}
	traces := newTraces(ctx, log)
	defer traces.flush()
	config.Traces = traces.provider
	operations := "none"
	if opt.address != "" {
		if config.Operations, err = net.Listen("tcp", opt.address); err != nil {
			lis.Close()
			return addressFault(opt.address, err)
		}
		operations = config.Operations.Addr().String()
	}
	counted := newReloads(config.Metrics)
	opt.showLimits(config.Metrics)
	workers, err := sidecar.NewWorkers(sidecar.WorkersConfig{Command: opt.workerCommand, Setup: text, Warm: max(config.Parallel, 1), Memory: opt.workerMemory, Log: log, Metrics: config.Metrics})
	if err != nil {
		lis.Close()
		return err
	}
	defer workers.Close()
	changed := make(chan struct{})
	go followLadder(ctx, *opt.ladder, text, log, counted, func(text []byte) error {
		if err := workers.Renew(text); err != nil {
			return err
		}
		changed <- struct{}{}
		return nil
	})
	config.Tasks, config.Forget = workers.Tasks(), changed
	log.Info("serving", "socket", lis.Addr().String(), "discovery", config.Discovery, "parallel", config.Parallel, "operations", operations, "traces", traces.protocol, "version", version())
	defer log.Info("stopped")
	return sidecar.Serve(ctx, lis, config)
}

// addressFault says why metrics cannot be served on an address.
func addressFault(address string, err error) error {
	if _, number := strconv.ParseUint(address, 10, 16); number == nil {
		return fmt.Errorf("--operations-address: %s is a port and no address; write :%s", address, address)
	}
	var bad *net.AddrError
	if errors.As(err, &bad) {
		return fmt.Errorf("--operations-address: %w; write it as :9402 or 127.0.0.1:9402", err)
	}
	return fmt.Errorf("--operations-address: %w; name a free one", err)
}

// leastWorkerMemory is what a worker needs for a small chart.
const leastWorkerMemory = 64 << 20

// ownMemory is what the server takes besides repositories, remembered answers and
// answers on their way.
const ownMemory = 128 << 20

// limitMemory has the garbage collector keep the server near what it holds,
// which would take twice as much otherwise. GOMEMLIMIT wins.
func (opt *serving) limitMemory() {
	if c := opt.config; c.Memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(c.Memory + c.Cache + c.Answers + ownMemory)
		debug.SetGCPercent(400) // requests are short, and far from the limit most of the time
	}
}

// thisPlugin completes what makes a plugin server this plugin, all but its tasks.
func thisPlugin(config sidecar.Config, log *slog.Logger) sidecar.Config {
	config.Variables, config.Parameters, config.Log = plugin.Reads, announcements(), log
	return config
}

// registry holds what is known of the process and the program; the server adds
// its own.
func registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_build_info", Help: "Always 1; the labels say which program runs.",
		ConstLabels: prometheus.Labels{"version": version(), "goversion": runtime.Version()}})
	info.Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// showLimits makes metrics of the flags that others are to be compared with.
func (opt *serving) showLimits(to prometheus.Registerer) {
	limits := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ladder_limit",
		Help: "Configured limit of each cmp serve flag, in the unit of the flag: bytes, seconds, renderings, fetches or bytes per second. 0 is no limit."}, []string{"flag"})
	for flag, value := range map[string]float64{
		"answer-memory":        float64(opt.config.Answers),
		"cache-bytes":          float64(opt.config.Cache),
		"max-repository-bytes": float64(opt.config.Limits.Bytes),
		"parallel":             float64(opt.config.Parallel),
		"remote-memory":        float64(opt.remote.config.Limits.Memory),
		"remote-min-rate":      float64(opt.remote.config.Limits.Rate),
		"remote-parallel":      float64(opt.remote.config.Limits.Concurrent),
		"render-timeout":       opt.config.Render.Seconds(),
		"repository-memory":    float64(opt.config.Memory),
		"timeout":              opt.config.Timeout.Seconds(),
		"worker-memory":        float64(opt.workerMemory),
	} {
		limits.WithLabelValues(flag).Set(value)
	}
	to.MustRegister(limits)
}

// reloads count the changes of ladder.yaml, by whether they are in use.
type reloads struct {
	changes *prometheus.CounterVec
	refused prometheus.Gauge // 1 while the file is wrong
}

func newReloads(to prometheus.Registerer) reloads {
	r := reloads{
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ladder_reloads_total",
			Help: "Changes of the server's ladder.yaml, by result: used, or refused because it is wrong."}, []string{"result"}),
		prometheus.NewGauge(prometheus.GaugeOpts{Name: "ladder_config_refused",
			Help: "1 while the server's ladder.yaml is wrong or missing and the one before holds; else 0."}),
	}
	for _, result := range []string{reloadUsed, reloadRefused} {
		r.changes.WithLabelValues(result)
	}
	to.MustRegister(r.changes, r.refused)
	return r
}

const (
	reloadUsed    = "used"
	reloadRefused = "refused"
)

// workerCommand is this program as a worker. It sees nothing of the server's
// environment.
func (opt *serving) workerCommand() *exec.Cmd {
	return thisProgram(workerName, fmt.Sprintf("--%s=%v", rememberFlag, opt.config.Cache > 0))
}

// serveVariable names the variable that stands for a flag.
func serveVariable(flag string) string {
	return servePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

const servePrefix = "LADDER_SERVE_"

// readServing completes the flags of serve by their variables, and says what is
// wrong with both.
func readServing(flags *pflag.FlagSet, env map[string]string) error {
	if err := fromVariables(flags, env); err != nil {
		return err
	}
	if err := noneNegative(flags); err != nil {
		return err
	}
	if m, err := flags.GetInt64("worker-memory"); err == nil && m > 0 && m < leastWorkerMemory {
		return usageError{fmt.Errorf("--worker-memory is %d bytes, with which no worker renders anything; give it %d (64 MiB) or more, or 0 for no limit", m, leastWorkerMemory)}
	}
	return nil
}

// fromVariables sets the flags that were not given and whose variables are.
func fromVariables(flags *pflag.FlagSet, env map[string]string) error {
	var faults []error
	known := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := serveVariable(f.Name)
		known[name] = true
		value, set := env[name]
		if !set || f.Changed {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			faults = append(faults, usageError{fmt.Errorf("%s: %s", name, flagFault(err))})
		}
	})
	for name := range env {
		if strings.HasPrefix(name, servePrefix) && !known[name] {
			faults = append(faults, usageError{fmt.Errorf("%s stands for no flag; see cmp serve --help, and write a flag in capitals", name)})
		}
	}
	return errors.Join(faults...)
}

// noneNegative checks the flags that count something.
func noneNegative(flags *pflag.FlagSet) error {
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		if value := f.Value.String(); f.Value.Type() != "string" && strings.HasPrefix(value, "-") {
			faults = append(faults, usageError{fmt.Errorf("--%s is %s; give it a number from 0 up", f.Name, value)})
		}
	})
	return errors.Join(faults...)
}

func newLogger(s streams, format, level string) (*slog.Logger, error) {
	opt := &slog.HandlerOptions{}
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError{fmt.Errorf("there is no log level %q; use debug, info, warn or error", level)}
	}
	opt.Level = least
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(s.Err, opt)), nil
	case "json":
		opt.ReplaceAttr = inSeconds
		return slog.New(slog.NewJSONHandler(s.Err, opt)), nil
	}
	return nil, usageError{fmt.Errorf("there is no log format %q; use text or json", format)}
}

// inSeconds makes seconds of durations, which JSON has no form for.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}
