package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ladder-cmp/ladder/internal/build"
	"github.com/ladder-cmp/ladder/internal/ladderfile"
	"github.com/ladder-cmp/ladder/internal/option"
	"github.com/ladder-cmp/ladder/internal/server"
	"github.com/ladder-cmp/ladder/internal/usage"
	"github.com/ladder-cmp/ladder/plugin"
)

// socketDir is where the repo-server looks for the sockets of plugins; it reads
// the same variable (cmpserver of Argo CD, common.GetPluginSockFilePath).
const (
	socketDir    = "/home/argocd/cmp-server/plugins"
	socketDirEnv = "ARGOCD_PLUGINSOCKFILEPATH"
)

func newServe(s streams) *cobra.Command {
	var (
		check bool
		opt   server.Options
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plugin server for Argo CD's repo-server",
		Long: `Run the plugin server for Argo CD's repo-server, as the sidecar does. It listens on the
socket ` + plugin.Name + `.sock in the directory in which the repo-server looks for plugins.

Components are rendered in separate processes, which are killed when they exceed their
time or memory limit. Each flag has an environment variable: --worker-memory is
` + option.Variable("worker-memory") + `. A changed ` + ladderfile.Variable + ` file is reloaded while the server runs.`,
		Example: `  cmp serve --operations-address :9402 --parallel 2
  cmp serve --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := readServing(cmd.Flags(), option.Environment()); err != nil {
				return err
			}
			if check {
				return opt.Check(cmd.Context())
			}
			return opt.Serve(cmd.Context(), s.Err)
		},
	}
	defaultDir := socketDir
	if d := os.Getenv(socketDirEnv); d != "" {
		defaultDir = d
	}
	f, c := cmd.Flags(), &opt.Config
	opt.WorkerCommand, opt.Release, opt.Version = workerCommand, release, build.Version(release)
	opt.Ladder = ladderFlag(f)
	opt.Seed = seedFlag(f)
	f.StringVar(&opt.Dir, "plugin-dir", defaultDir, "Directory of the plugin sockets, shared with the repo-server; "+socketDirEnv+" sets the default")
	f.BoolVar(&check, "check", false, "Check the health of the server on the socket, and exit; for probes")
	f.BoolVar(&c.Discovery, "discovery", false, "Also serve Applications that name no plugin; each request then sends the repository twice")
	f.IntVar(&c.Parallel, "parallel", runtime.GOMAXPROCS(0), "Maximum number of concurrent renderings, each in a process of its own; 0 means no limit")
	f.DurationVar(&c.Stall, "stall-timeout", 15*time.Second, "Timeout for a repo-server that stops in the middle of sending a repository while other requests wait for memory; 0 disables it")
	f.DurationVar(&c.Timeout, "timeout", 5*time.Minute, "Timeout of a request whose own deadline is later; 0 means no limit")
	f.DurationVar(&c.Render, "render-timeout", 20*time.Second, "Timeout of one rendering, from its start; longer for a rendering that was preempted; 0 leaves only the deadline of the request")
	f.Int64Var(&opt.WorkerMemory, "worker-memory", 512<<20, "Memory limit of one rendering in bytes, at least 64 MiB; 0 means no limit")
	f.Int64Var(&c.Limits.Bytes, "max-repository-bytes", 256<<20, "Maximum size of a repository, unpacked and without .git; 0 leaves only --repository-memory")
	f.IntVar(&c.Limits.Files, "max-repository-files", 200_000, "Maximum number of files in a repository; 0 means no limit")
	f.IntVar(&c.Limits.Depth, "max-repository-depth", 128, "Maximum depth of directories in a repository; 0 means no limit")
	f.IntVar(&c.Limits.Ratio, "max-repository-ratio", 200, "Maximum compression ratio of a repository of more than 64 MiB; 0 means no limit")
	f.Int64Var(&c.Memory, "repository-memory", 512<<20, "Maximum total size of the repositories in memory, unpacked; further requests wait; 0 means no limit")
	f.Int64Var(&c.Answers, "answer-memory", 256<<20, "Maximum memory of answers being sent to the repo-server, twice the size of each; further requests wait; 0 means no limit")
	f.IntVar(&c.AnswerBytes, "max-answer-bytes", 90<<20, "Maximum size of the manifests in an answer, with YAML aliases expanded; 0 leaves only Argo CD's own limit of 90 MiB")
	f.Int64Var(&c.Cache, "cache-bytes", 128<<20, "Maximum size of the cached answers; 0 disables all caching")
	f.DurationVar(&c.CacheAge, "cache-age", time.Hour, "How long an answer, with the Secrets in it, stays cached; 0 means no limit")
	opt.Remote = remoteFlags(f, "")
	serverFlags(opt.Remote, f)
	opt.Remote.Config.Process = fetchCommand
	f.StringVar(&opt.Address, "operations-address", "", "Address such as :9402 for metrics (/metrics), health (/healthz, /readyz) and the gRPC health service; empty disables it")
	f.BoolVar(&c.Profiles, "profiles", false, "Also serve Go profiles on --operations-address, at /debug/pprof/, to clients within the Pod only")
	f.DurationVar(&c.Drain, "drain-timeout", 25*time.Second, "How long running requests may take to finish after SIGTERM")
	f.StringVar(&opt.LogFormat, "log-format", "text", "Log format: text or json")
	f.StringVar(&opt.LogLevel, "log-level", "info", "Minimum log level: debug, info, warn or error")
	return cmd
}

// readServing completes the flags of serve by their variables, and says what is
// wrong with both.
func readServing(flags *pflag.FlagSet, env map[string]string) error {
	if err := option.FromVariables(flags, env); err != nil {
		return err
	}
	if err := option.NoneNegative(flags); err != nil {
		return err
	}
	if m, err := flags.GetInt64("worker-memory"); err == nil && m > 0 && m < server.LeastWorkerMemory {
		return usage.Errorf("--worker-memory is %d bytes, too little for a worker; use %d (64 MiB) or more, or 0 for no limit", m, server.LeastWorkerMemory)
	}
	return nil
}

// workerCommand is this program as a worker. It sees nothing of the server's
// environment.
func workerCommand(remember bool) *exec.Cmd {
	return thisProgram(workerName, fmt.Sprintf("--%s=%v", rememberFlag, remember))
}
