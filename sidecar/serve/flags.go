package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/ladder-cmp/ladder/internal/finding"

	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/argocd/doctor"
	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/internal/cli/flags"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/wave"
)

// socketDir is where the repo-server looks for the sockets of plugins; it reads
// the same variable (cmpserver of Argo CD, common.GetPluginSockFilePath).
const (
	socketDir         = "/home/argocd/cmp-server/plugins"
	SocketDirVariable = "ARGOCD_PLUGINSOCKFILEPATH"
)

// Limits that nobody has a reason to change.
const (
	// stallTimeout ends a request whose repo-server stops in the middle of sending a repository
	// while others wait for memory.
	stallTimeout = 15 * time.Second
	// maxDepth and maxRatio bound the directories of a repository, and the compression of one of
	// more than 64 MiB: only malicious archives exceed them.
	maxDepth, maxRatio = 128, 200
)

// AddFlags adds the flags of serve to a command.
func (opt *Options) AddFlags(f *pflag.FlagSet) {
	c := &opt.Config
	dir := cmp.Or(os.Getenv(SocketDirVariable), socketDir)
	c.Stall, c.Limits.Depth, c.Limits.Ratio = stallTimeout, maxDepth, maxRatio
	opt.Ladder = flags.LadderFlag(f)
	opt.Seed = flags.SeedFlag(f)
	f.StringVar(&opt.Dir, "plugin-dir", dir,
		"Directory of the plugin sockets, shared with the repo-server; "+SocketDirVariable+" sets the default")
	f.BoolVar(&opt.CheckOnly, "check", false, "Check the health of the server on the socket, and exit; for probes")
	f.BoolVar(&c.Discovery, "discovery", false, "Also serve Applications that name no plugin; each request then sends the repository twice")
	f.IntVar(&c.Parallel, "parallel", runtime.GOMAXPROCS(0),
		"Maximum number of concurrent renderings, each in its own process; 0 means no limit")
	f.DurationVar(&c.Timeout, "timeout", 5*time.Minute,
		"Timeout of a request, unless its own deadline is earlier; 0 leaves only that deadline")
	f.DurationVar(&c.Render, "render-timeout", 20*time.Second,
		"Timeout of one rendering, from its start; longer for a rendering that was preempted; 0 leaves only the deadline of the request")
	f.Int64Var(&opt.WorkerMemory, "worker-memory", 512<<20, "Memory limit of one rendering in bytes, at least 64 MiB; 0 means no limit")
	f.Int64Var(&c.Limits.Bytes, "max-repository-bytes", 256<<20,
		"Maximum size of a repository, unpacked and without .git; 0 leaves only --repository-memory")
	f.IntVar(&c.Limits.Files, "max-repository-files", 200_000, "Maximum number of files in a repository; 0 means no limit")
	f.Int64Var(&c.Memory, "repository-memory", 512<<20,
		"Maximum total size of the repositories in memory, unpacked; further requests wait; 0 means no limit")
	f.Int64Var(&c.Responses, "answer-memory", 256<<20,
		"Memory limit for responses (answers) that are being sent to the repo-server; a response counts as twice its size; "+
			"further requests wait; 0 means no limit")
	f.Int64Var(&c.Cache, "cache-bytes", 128<<20, "Maximum size of the cached responses; 0 disables all caching")
	f.DurationVar(&c.CacheAge, "cache-age", time.Hour, "How long a response, with the Secrets in it, stays cached; 0 means no limit")
	opt.Remote = flags.AddFetching(f, "")
	opt.Remote.AddForServer(f)
	f.StringVar(&opt.Address, "operations-address", "",
		"Address such as :9402 for metrics (/metrics), health (/healthz, /readyz) and the gRPC health service; empty disables it")
	f.BoolVar(&c.Profiles, "profiles", false,
		"Also serve Go profiles on --operations-address, at /debug/pprof/, to clients within the Pod only")
	_ = f.MarkHidden("profiles") // few need it: docs/operations.md
	f.DurationVar(&c.Drain, "drain-timeout", 25*time.Second, "How long running requests may take to finish after SIGTERM")
	f.StringVar(&opt.Explain, "explain", string(wave.ExplainOff),
		`Default of the "explain" parameter: off, or annotations, which writes the reason for each wave as an annotation on the object`)
	f.StringVar(&opt.LogFormat, "log-format", "text", "Log format: text or json")
	f.StringVar(&opt.LogLevel, "log-level", "info", "Minimum log level: debug, info, warn or error")
}

// Complete sets flags from the environment variables of serve, and checks them.
func Complete(flags *pflag.FlagSet, env map[string]string) error {
	if err := cli.FromVariables(flags, env); err != nil {
		return err
	}
	if err := cli.NoneNegative(flags); err != nil {
		return err
	}
	if err := cli.OneOf("explain", flags.Lookup("explain").Value.String(), string(wave.ExplainOff),
		string(wave.InAnnotations)); err != nil {
		return err
	}
	if m, err := flags.GetInt64("worker-memory"); err == nil && m > 0 && m < LeastWorkerMemory {
		return finding.Usagef("--worker-memory is %d bytes, too little for a worker; use %d (64 MiB) or more, or 0 for no limit",
			m, LeastWorkerMemory)
	}
	return nil
}

// FlagsOf reads the command line and the variables of a container that runs "cmp serve",
// as cmp serve does. It reads neither the flags nor the environment of this process.
func FlagsOf(args []string, env map[string]string) (doctor.Flags, error) {
	var opt Options
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	opt.AddFlags(set)
	for flag, fallback := range map[string]string{"plugin-dir": cmp.Or(env[SocketDirVariable], socketDir),
		"ladder": env[flags.LadderVariable]} {
		if err := set.Set(flag, fallback); err != nil {
			return doctor.Flags{}, err
		}
		set.Lookup(flag).Changed = false
	}
	if err := set.Parse(args); err != nil {
		return doctor.Flags{}, errors.New(cli.Fault(err))
	}
	if rest := set.Args(); len(rest) > 0 {
		return doctor.Flags{}, fmt.Errorf("unexpected argument %q", rest[0])
	}
	if err := Complete(set, env); err != nil {
		return doctor.Flags{}, err
	}
	if _, err := NewLogger(io.Discard, opt.LogFormat, opt.LogLevel); err != nil {
		return doctor.Flags{}, err
	}
	c := opt.Config
	f := doctor.Flags{Plugin: plugin.Name, PluginDir: opt.Dir, Ladder: *opt.Ladder, Operations: opt.Address, Discovery: c.Discovery,
		Parallel: c.Parallel, ParallelSet: set.Changed("parallel"), RenderTimeout: c.Render.Seconds(),
		ShutdownTimeout: (c.Drain + TimeToFlush).Seconds(),
		Worker:          opt.WorkerMemory, Server: OwnMemory + c.Memory + c.Cache + c.Responses,
		Remote: opt.Remote.Config.Allow, CA: opt.Remote.Config.CAFile, Credentials: opt.Remote.Config.Credentials.Dir != ""}
	for _, name := range []string{"repository-memory", "answer-memory", "worker-memory"} {
		if set.Lookup(name).Value.String() == "0" {
			f.Unlimited = append(f.Unlimited, "--"+name)
		}
	}
	return f, nil
}
